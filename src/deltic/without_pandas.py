"""Keeping pandas out of a process that does not ask for it.

Arrow imports pandas the first time that it makes an array, only to see whether it was given an object of pandas, and
remembers whether that succeeded. Where nobody imported pandas there is no such object, so that Arrow may assume that
it is not there, until someone imports it. That saves a quarter of a second and 45 MB.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pyarrow as pa


class _Absent(MetaPathFinder):
    """Says that there is no pandas."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas was not asked for", name=name)
        return None


class _Awaited(MetaPathFinder):
    """Makes Arrow look for pandas again when somebody imports it."""

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == "pandas":
            sys.meta_path.remove(self)
            self._arrow.__init__()
        return None


@cache
def postpone_pandas() -> None:
    """Let Arrow import pandas no sooner than somebody does, or asks Arrow for something of pandas."""
    arrow = getattr(pa.lib, "_pandas_api", None)
    if "pandas" in sys.modules or arrow is None:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pa.array(())
    finally:
        sys.meta_path.remove(absent)
    sys.meta_path.insert(0, _Awaited(arrow))
