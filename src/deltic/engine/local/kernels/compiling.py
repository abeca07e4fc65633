"""Compiling kernels by numba, in a process of its own: `python -m deltic.engine.local.kernels.compiling settle.known`.

Numba compiles and optimizes every function by itself, then again within each function that calls it. Here functions are
only lowered, and machine code is made once for a kernel, of everything that it calls.
"""

from __future__ import annotations

import fcntl
import importlib
import pickle
import pkgutil
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from deltic import caches
from deltic.engine.local import kernels
from deltic.engine.local.kernels.declaring import Access, Kernel, Part
from deltic.engine.local.kernels.heap import Heap
from deltic.engine.local.kernels.intrinsics import accesses, inner, is_contiguous, outer
from deltic.engine.local.kernels.loading import file_of
from deltic.engine.local.kernels.machine_code import MachineCode
from deltic.engine.local.kernels.thresholds import Thresholds


def _array(element: Any, dimensions: int, layout: Any = "C") -> Any:
    return types.Array(element, dimensions, layout)


_HEAP = [_array(types.int64, 1), _array(types.uint64, 2), _array(types.int64, 1), _array(types.int64, 1)]
# What numba is told of the types of parameters, by their names in `types`.
_TYPES = {
    "Int": types.int64,
    "U64": types.uint64,
    "bool": types.boolean,
    "Words1": _array(types.uint64, 1),
    "Words2": _array(types.uint64, 2),
    "Rows": _array(types.uint64, 2, "A"),
    "Ints": _array(types.int64, 1),
    "Table": _array(types.int64, 2),
    "Times": _array(types.int32, 1),
    "Weights": _array(types.int64, 1),
    "Heap": types.NamedTuple(_HEAP, Heap),
    "Thresholds": types.NamedUniTuple(types.int64, len(Thresholds._fields), Thresholds),
}


class _Library(JITCodeLibrary):
    """The code of a function: what it is made of, linked, but neither optimized nor made machine code by itself."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_specific(self) -> None:
        pass

    def get_pointer_to_function(self, name: str) -> int:
        """An address that nobody calls."""
        return 1

    def machine_code(self, exported: str) -> bytes:
        """The object code of the whole, in which nothing but one function can be called from outside."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        module = self._final_module
        for function in module.functions:
            if not function.is_declaration and function.name != exported:
                function.linkage = "internal"
        super()._optimize_functions(module)  # type: ignore[no-untyped-call]
        super()._optimize_final_module()  # type: ignore[no-untyped-call]
        code: bytes = self._codegen._tm.emit_object(self._final_module)
        return code


class _Codegen(JITCPUCodegen):
    """Makes such libraries, and loads none of them."""

    _library_class = _Library

    def _add_module(self, module: Any) -> None:
        pass

    def set_env(self, env_name: str, env: Any) -> None:
        """Nothing runs here that reads its environment."""


def kernels_by_name() -> dict[str, Kernel]:
    """All kernels."""
    found = (value for module in _modules() for value in vars(module).values())
    return {value.name: value for value in found if isinstance(value, Kernel)}


def compile_kernel(kernel: Kernel) -> MachineCode:
    """The machine code of a kernel."""
    dispatcher = outer(_checked(kernel))
    dispatcher.compile(tuple(_TYPES[kernel.function.__annotations__[name]] for name in _parameters(kernel)))
    (result,) = dispatcher.overloads.values()
    described = result.fndesc
    with global_compiler_lock:
        code = result.library.machine_code(described.llvm_cpython_wrapper_name)
    constants = tuple(result.environment.consts)
    return MachineCode(code, described.llvm_cpython_wrapper_name, described.env_name, constants)


def _parameters(kernel: Kernel) -> tuple[str, ...]:
    code = kernel.function.__code__
    return code.co_varnames[: code.co_argcount]


def _checked(kernel: Kernel) -> Callable[..., Any]:
    """The kernel, which refuses arrays that are not contiguous."""
    given = _parameters(kernel)
    arrays = [name for name in given if getattr(_TYPES[kernel.function.__annotations__[name]], "layout", None) == "C"]
    tests = " and ".join(f"is_contiguous({name})" for name in arrays) or "True"
    refusal = f"{kernel.name}: {', '.join(arrays)} must be contiguous"
    text = f"""
def checked({", ".join(given)}):
    if not ({tests}):
        raise ValueError({refusal!r})
    return function({", ".join(given)})
"""
    scope: dict[str, Any] = {"function": _numba_of(kernel), "is_contiguous": inner()(is_contiguous)}
    exec(text, scope)
    checked: Callable[..., Any] = scope["checked"]
    return checked


_MADE: dict[object, Any] = {}


def _numba_of(declared: object) -> Any:
    """What numba calls for a declaration."""
    if declared not in _MADE:
        match declared:
            case Access():
                _MADE[declared] = accesses(declared)
            case Kernel():
                _MADE[declared] = inner()(declared.function)
            case Part():
                _MADE[declared] = inner(inline="always" if declared.inlined else "never")(declared.function)
    return _MADE[declared]


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(kernels.__path__):
        if found.name not in ("compiling", "intrinsics"):
            yield importlib.import_module(f"{kernels.__name__}.{found.name}")


def _give_to_numba() -> None:
    """Let the declarations in all modules be what numba calls for them."""
    for module in _modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, Access | Kernel | Part):
                setattr(module, name, _numba_of(value))


def main(names: list[str]) -> None:
    """Compile kernels into their files, but for those that are there; one process at a time does each."""
    found = kernels_by_name()
    cpu_target.target_context._internal_codegen = _Codegen("deltic")  # type: ignore[no-untyped-call]
    _give_to_numba()
    for name in names:
        path = file_of(name)
        unfinished = path.with_name(f"{path.name}.unfinished")
        with open(unfinished, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if caches.read(path) is None:
                caches.write(path, pickle.dumps(compile_kernel(found[name])))
            unfinished.unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
