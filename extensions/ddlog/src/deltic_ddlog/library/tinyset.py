"""The functions of `tinyset`, whose sets are as those of `ddlog_std`."""

from __future__ import annotations

from deltic_ddlog.library import collections, groups
from deltic_ddlog.natives import native

_SAME = ("size", "insert", "insert_imm", "is_empty", "nth", "union", "unions", "intersection", "difference", "contains")
for _name in _SAME:
    native(f"tinyset::{_name}")(getattr(collections, _name))
native("tinyset::empty")(collections.set_empty)
native("tinyset::singleton")(collections.set_singleton)
native("tinyset::group_to_set")(groups.to_set)
native("tinyset::group_set_unions")(collections.unions)
native("tinyset::group_setref_unions")(collections.unions)
