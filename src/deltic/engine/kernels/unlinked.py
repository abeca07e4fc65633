"""Kernels on systems without a C compiler to link them: LLVM loads their objects, which call numba's runtime."""

from __future__ import annotations

from ctypes import addressof, c_void_p, pythonapi
from functools import cache

import llvmlite.binding as llvm
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from deltic import caches
from deltic.engine.kernels.files import object_of
from deltic.engine.kernels.machine_code import MachineCode, machine_code_from


class Unlinked:
    """Object code that is loaded on demand."""

    def __init__(self) -> None:
        rtsys.initialize(cpu_target.target_context)
        for name in vars(__import__("builtins")):
            if hasattr(pythonapi, f"PyExc_{name}"):
                llvm.add_symbol(f"PyExc_{name}", _address(f"PyExc_{name}"))

    def address(self, symbol: str, name: str) -> int:
        """Return the address of a symbol of a kernel."""
        engine = _engine(name)
        result: int = engine.get_function_address(symbol) or engine.get_global_value_address(symbol)
        return result

    def elements(self, name: str) -> tuple[str, ...]:
        """Return the element types that a kernel's wrapper reads from its environment."""
        return _machine_code(name).elements


def _address(symbol: str) -> int:
    return addressof(c_void_p.in_dll(pythonapi, symbol))


@cache
def _machine_code(name: str) -> MachineCode:
    kept = caches.read(object_of(name))
    assert kept is not None, name
    return machine_code_from(kept)


@cache
def _engine(name: str) -> llvm.ExecutionEngine:
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(_machine_code(name).code))
    engine.finalize_object()
    return engine
