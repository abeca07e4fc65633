"""The functions of `hashset`, whose sets are as those of `ddlog_std`."""

from __future__ import annotations

from typing import Any

from deltic_ddlog.library import ddlog_std, higher_order
from deltic_ddlog.natives import natives, same_natives
from deltic_ddlog.values import UNIT, Set

same_natives("hashset", "size insert insert_imm is_empty nth union intersection difference contains to_vec")
same_natives("hashset", "hashset_singleton=set_singleton hashset_empty=set_empty to_hashset=to_set")


def _without(items: Set, element: Any) -> Set:
    return Set(each for each in items if each != element)


natives("hashset", {"remove": lambda items, element: (UNIT, _without(items, element)), "remove_imm": _without})

__all__ = ["ddlog_std", "higher_order"]
