"""The functions of `tinyset`, whose sets are as those of `ddlog_std`."""

from __future__ import annotations

from deltic_ddlog.library import ddlog_std
from deltic_ddlog.natives import same_natives

same_natives("tinyset", "size insert insert_imm is_empty nth union unions intersection difference contains")
same_natives("tinyset", "empty=set_empty singleton=set_singleton group_to_set group_set_unions group_setref_unions")

__all__ = ["ddlog_std"]
