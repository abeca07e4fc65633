"""The machine code of a kernel: object code, whose symbols are named for the kernel; the cache's files contain it."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class MachineCode:
    """Object code, and the element types that numba's wrapper reads from its environment, by number."""

    code: bytes
    elements: tuple[str, ...]

    def __bytes__(self) -> bytes:
        return b"\n".join([json.dumps(self.elements).encode(), self.code])


def machine_code_from(kept: bytes) -> MachineCode:
    """Return the machine code that these bytes contain."""
    elements, _, code = kept.partition(b"\n")
    return MachineCode(code, tuple(json.loads(elements)))


def wrapper_of(name: str) -> str:
    """Return the symbol of the function that Python calls, for a kernel such as settle.known."""
    return f"deltic_kernel_{name.replace('.', '__')}"


def environment_of(name: str) -> str:
    """Return the symbol of the address of the environment that numba's wrapper reads."""
    return f"deltic_environment_{name.replace('.', '__')}"
