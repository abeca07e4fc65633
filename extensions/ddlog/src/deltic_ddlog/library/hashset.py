"""The functions of `hashset`, whose sets are as those of `ddlog_std`."""

from __future__ import annotations

from typing import Any

from deltic_ddlog.library import collections, groups, higher_order
from deltic_ddlog.natives import native
from deltic_ddlog.values import UNIT, Set

native("hashset::hashset_singleton")(collections.set_singleton)
native("hashset::hashset_empty")(collections.set_empty)
native("hashset::to_vec", typed=True)(groups.to_vec)
native("hashset::to_hashset")(groups.to_set)
for _name in ("size", "insert", "insert_imm", "is_empty", "nth", "union", "intersection", "difference", "contains"):
    native(f"hashset::{_name}")(getattr(collections, _name))


@native("hashset::remove")
def remove(items: Set, element: Any) -> Any:
    """Take an element out."""
    return UNIT, remove_imm(items, element)


@native("hashset::remove_imm")
def remove_imm(items: Set, element: Any) -> Set:
    """The set without an element."""
    return Set(each for each in items if each != element)


__all__ = ["higher_order"]
