"""What a kernel is compiled to; files of the cache hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MachineCode:
    """Object code, the names of numba's wrapper and of its environment in it, and what that environment holds."""

    code: bytes
    wrapper: str
    environment: str
    constants: tuple[Any, ...]
