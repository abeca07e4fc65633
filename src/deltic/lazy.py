"""Modules that take long to import: `np`, `pa` and `pc` are imported when something in them is first used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["np", "pa", "pc"]


class _Lazy(ModuleType):
    """A module under its name, which has of it what was used."""

    def __getattr__(self, name: str) -> Any:
        result = getattr(import_module(self.__name__), name)
        setattr(self, name, result)
        return result

    def __reduce__(self) -> Any:
        return import_module, (self.__name__,)


if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    np, pa, pc = map(_Lazy, ("numpy", "pyarrow", "pyarrow.compute"))
