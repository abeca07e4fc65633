"""The functions of `internment`; those of strings are those of `ddlog_std`."""

from __future__ import annotations

from typing import Any

from deltic_ddlog.library import strings
from deltic_ddlog.natives import native


@native("internment::intern")
@native("internment::ival")
def same(value: Any) -> Any:
    """Interned values are what they stand for."""
    return value


__all__ = ["strings"]
