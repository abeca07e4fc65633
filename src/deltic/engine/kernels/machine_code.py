"""What a kernel is compiled to: object code, in which its symbols are named for it; files of the cache hold it."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class MachineCode:
    """Object code, and the types of elements that numba's wrapper asks its environment for, by number."""

    code: bytes
    elements: tuple[str, ...]

    def __bytes__(self) -> bytes:
        return b"\n".join([json.dumps(self.elements).encode(), self.code])


def machine_code_from(kept: bytes) -> MachineCode:
    """The machine code that became these bytes."""
    elements, _, code = kept.partition(b"\n")
    return MachineCode(code, tuple(json.loads(elements)))


def wrapper_of(name: str) -> str:
    """The symbol of the function that Python calls, of a kernel such as settle.known."""
    return f"deltic_kernel_{name.replace('.', '__')}"


def environment_of(name: str) -> str:
    """The symbol of the address of the environment that numba's wrapper reads."""
    return f"deltic_environment_{name.replace('.', '__')}"
