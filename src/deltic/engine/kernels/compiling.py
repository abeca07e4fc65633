"""Compiles kernels with numba, in processes of their own, which `building` starts.

Numba compiles and optimizes each function by itself, and then again within every function that calls it. Here functions
are only lowered; machine code is made once for each kernel, together with all functions that it calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from llvmlite.binding import Linkage
from numba import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.pythonapi import PythonAPI
from numba.core.registry import cpu_target

from deltic import caches
from deltic.engine.kernels.building import kernels_by_name, modules
from deltic.engine.kernels.declaring import Access, FieldArrays, Kernel, Part
from deltic.engine.kernels.files import architecture, object_of
from deltic.engine.kernels.heap import Heap
from deltic.engine.kernels.intrinsics import Views, accesses, inner, is_contiguous, outer, viewer
from deltic.engine.kernels.machine_code import MachineCode, environment_of, wrapper_of
from deltic.engine.kernels.thresholds import Thresholds


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
    "Levels": _array(types.int64, 3),
    "Times": _array(types.int32, 1),
    "Bytes": _array(types.uint8, 1),
    "Weights": _array(types.int64, 1),
    "Heap": types.NamedTuple(_HEAP, Heap),
    "Thresholds": types.NamedUniTuple(types.int64, len(Thresholds._fields), Thresholds),
}


class _Library(JITCodeLibrary):
    """The code of one function; its callees are linked when machine code is made, once for each kernel."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Do nothing: all code is added before."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return an address that nobody calls."""
        return 1

    def machine_code(self, exported: Mapping[str, str]) -> bytes:
        """Return the object code of the function and all its callees; only symbols with these names are visible."""
        module = self._final_module
        for library in self._called():
            module.link_in(library._for_linking(), preserve=True)
        for symbol in (*module.functions, *module.global_variables):
            if symbol.name in exported:
                symbol.name = exported[symbol.name]
            elif not symbol.is_declaration:
                symbol.linkage = "internal"
        super()._optimize_functions(module)  # type: ignore[no-untyped-call]
        super()._optimize_final_module()  # type: ignore[no-untyped-call]
        code: bytes = self._codegen._tm.emit_object(self._final_module)
        return code

    def _called(self) -> list[_Library]:
        """Return the libraries of all functions that this one calls, directly or indirectly."""
        waiting, called = list(self._linking_libraries), dict[_Library, None]()
        while waiting:
            if (library := waiting.pop()) not in called:
                called[library] = None
                waiting += library._linking_libraries
        return list(called)

    def _for_linking(self) -> Any:
        """Return the function's own module, whose definitions may occur several times."""
        for function in self._final_module.functions:
            if function.linkage in (Linkage.external, Linkage.linkonce_odr) and not function.is_declaration:
                function.linkage = "weak_odr"
        return self._final_module


class _Codegen(JITCPUCodegen):
    """Makes such libraries for any machine of this architecture, and loads none of them."""

    _library_class = _Library

    def _customize_tm_options(self, options: dict[str, Any]) -> None:
        cpu = architecture() if architecture().startswith("x86") else "generic"
        options.update(cpu=cpu, features="", reloc="pic", codemodel="default")

    def _add_module(self, module: Any) -> None:
        pass

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing: no code that reads the environment runs here."""


def _c_object(api: PythonAPI, name: str) -> Any:
    """Return a Python object by its symbol. The symbol of an exception is a pointer to it, as for any linker."""
    if name.startswith("PyExc_"):
        return api.builder.load(api.context.get_c_value(api.builder, api.pyobj, name, dllimport=True))
    return api.context.get_c_value(api.builder, api.pyobj.pointee, name, dllimport=True)


def compile_kernel(kernel: Kernel) -> MachineCode:
    """Return the machine code of a kernel."""
    dispatcher = outer(_checked(kernel))
    dispatcher.compile(tuple(_TYPES[kernel.function.__annotations__[name]] for name in _parameters(kernel)))
    (result,) = dispatcher.overloads.values()
    described, elements = result.fndesc, result.environment.consts
    assert all(isinstance(element, np.dtype) for element in elements), kernel.name
    symbols = {
        described.llvm_cpython_wrapper_name: wrapper_of(kernel.name),
        described.env_name: environment_of(kernel.name),
    }
    with global_compiler_lock:
        return MachineCode(result.library.machine_code(symbols), tuple(element.name for element in elements))


def _parameters(kernel: Kernel) -> tuple[str, ...]:
    code = kernel.function.__code__
    return code.co_varnames[: code.co_argcount]


def _checked(kernel: Kernel) -> Callable[..., Any]:
    """Return the kernel with a check that refuses arrays that are not contiguous."""
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
    """Return the function that numba calls for a declaration."""
    if declared not in _MADE:
        match declared:
            case Access():
                _MADE[declared] = accesses(declared)
            case FieldArrays():
                fields = {name: _TYPES[kind.__forward_arg__] for name, kind in declared.of.__annotations__.items()}
                _MADE[declared] = viewer(Views(declared.of.__name__, fields))
            case Kernel():
                _MADE[declared] = inner()(declared.function)
            case Part():
                _MADE[declared] = inner(inline="always" if declared.inlined else "never")(declared.function)
    return _MADE[declared]


def _give_to_numba() -> None:
    """Register the declarations of all modules with numba."""
    for module in modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, Access | Kernel | Part | FieldArrays):
                setattr(module, name, _numba_of(value))


def main(names: list[str]) -> None:
    """Compile kernels into their files, and print the name of each; shared functions are lowered once."""
    result = kernels_by_name()
    cpu_target.target_context._internal_codegen = _Codegen("deltic")  # type: ignore[no-untyped-call]
    PythonAPI.get_c_object = _c_object  # type: ignore[method-assign]
    _give_to_numba()
    for name in names:
        caches.write(object_of(name), bytes(compile_kernel(result[name])))
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
