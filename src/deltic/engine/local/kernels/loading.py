"""Machine code of kernels: found on disk, or compiled there first, and loaded without numba.

A file holds the object code of one kernel, with what numba's wrapper around it needs. Object code calls a few functions
of numba's runtime, which are in three extension modules of it; importing those alone takes a millisecond, importing
numba a hundred times as long and more memory than all of Deltic.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from ctypes import PYFUNCTYPE, c_char_p, c_int, c_void_p, py_object
from functools import cache
from hashlib import sha256
from importlib.machinery import PathFinder
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from deltic import caches
from deltic.engine.local.kernels.machine_code import MachineCode

_LOG = logging.getLogger("deltic")
_SOURCES = Path(__file__).parent
_IMPORTS = re.compile(rb"^from deltic\.engine\.local\.kernels(?:\.(\w+) import| import ([\w, ]+))", re.MULTILINE)
_RUNTIME = "numba._helperlib", "numba._dynfunc", "numba.core.runtime._nrt_python"
# Threads may call a kernel for the first time at once, and LLVM is to load it once.
_ONE_AT_A_TIME = RLock()
# What holds the machine code that was loaded.
_ENGINES: list[llvm.ExecutionEngine] = []
_SERIALIZE = "numba.core.serialize"
_PREFIXES = "numba_", "numba_", "NRT_"


def load(name: str) -> Callable[..., Any]:
    """The kernel of this name, as a function of Python; compiled when no process did before."""
    with _ONE_AT_A_TIME:
        return _load(name)


@cache
def _load(name: str) -> Callable[..., Any]:
    found = _machine_code(name)
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(found.code))
    engine.finalize_object()
    dynamic = _runtime()[1]
    environment = dynamic.Environment({})
    environment.consts.extend(found.constants)
    c_void_p.from_address(engine.get_global_value_address(found.environment)).value = id(environment)
    address = engine.get_function_address(found.wrapper)
    _ENGINES.append(engine)
    made: Callable[..., Any] = dynamic.make_function(sys.modules[__name__], name, "", address, environment, ())
    return made


def _machine_code(name: str) -> MachineCode:
    """The machine code of a kernel, compiled first where no process did."""
    if (kept := caches.read(file_of(name))) is None:
        compile_all([name])
        kept = caches.read(file_of(name))
    assert kept is not None
    found: MachineCode = pickle.loads(kept)
    return found


def compile_all(names: Iterable[str]) -> None:
    """Compile kernels that no process compiled before, in parallel; one that another process compiles is waited for."""
    missing = [name for name in names if caches.read(file_of(name)) is None]
    running = [_start(name) for name in missing]
    for name, process in zip(missing, running, strict=True):
        _, output = process.communicate()
        if process.returncode:
            raise RuntimeError(f"the kernel {name} cannot be compiled:\n{output}")


def _start(name: str) -> subprocess.Popen[str]:
    _greet()
    _LOG.warning("compiling %s", name)
    command = [sys.executable, "-m", f"{__name__.rpartition('.')[0]}.compiling", name]
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


@cache
def _greet() -> None:
    _LOG.warning("first use: compiling the local engine, once for this machine, in a minute or less")


@cache
def file_of(name: str) -> Path:
    """Where the machine code of a kernel is that fits this process.

    Its name stands for the sources of the kernel, those of the compiler, the interpreter and the processor.
    """
    host = f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    digest = sha256("\n".join([host, sys.version, np.__version__, llvmlite.__version__]).encode())
    digest.update((_numba() / "_version.py").read_bytes())
    for module in ("compiling", "intrinsics", *sorted(_modules_of(name.partition(".")[0]))):
        digest.update(_source(module))
    return caches.directory() / f"{name}-{digest.hexdigest()[:16]}"


def _modules_of(module: str) -> set[str]:
    """The modules of kernels that one is made of: itself, and what it imports."""
    found, waiting = set[str](), {module}
    while waiting:
        found.add(one := waiting.pop())
        names = (names.decode() for pair in _IMPORTS.findall(_source(one)) for names in pair)
        waiting |= {name for some in names for name in some.split(", ") if name} - found
    return found


@cache
def _source(module: str) -> bytes:
    return (_SOURCES / f"{module}.py").read_bytes()


def _engine() -> llvm.ExecutionEngine:
    """A loader for the object code of one kernel: in that of others, symbols have the same names."""
    _prepare()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


@cache
def _prepare() -> None:
    """Let LLVM know the functions that object code calls."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for module, prefix in zip(_runtime(), _PREFIXES, strict=True):
        for name, address in module.c_helpers.items():
            llvm.add_symbol(name if prefix == "NRT_" and name.startswith("_") else prefix + name, address)
    llvm.add_symbol("_Py_NoneStruct", id(None))
    for error in vars(__import__("builtins")).values():
        if isinstance(error, type) and issubclass(error, BaseException):
            llvm.add_symbol(f"PyExc_{error.__name__}", id(error))


@cache
def _runtime() -> tuple[ModuleType, ...]:
    """Numba's extension modules that object code needs: of exceptions, of functions, and of arrays."""
    modules = tuple(map(_extension, _RUNTIME))
    if "numba" not in sys.modules:
        _give_unpickle(modules[0])
    return modules


def _give_unpickle(helpers: ModuleType) -> None:
    """Let the runtime unpickle what object code holds, classes and exceptions, as numba would, but without it.

    It imports the function when first called, and keeps it.
    """
    stand_in = ModuleType(_SERIALIZE)
    vars(stand_in)["_numba_unpickle"] = _unpickle
    sys.modules.update(numba=stand_in, **{_SERIALIZE: stand_in})
    try:
        nothing = pickle.dumps(None)
        unpickle = PYFUNCTYPE(py_object, c_char_p, c_int, c_char_p)(helpers.c_helpers["unpickle"])
        unpickle(nothing, len(nothing), bytes(20))
    finally:
        del sys.modules["numba"], sys.modules[_SERIALIZE]


@cache
def _unpickle(address: int, pickled: bytes, digest: bytes) -> Any:
    return pickle.loads(pickled)


def _numba() -> Path:
    """Where numba is, which is not imported."""
    package = importlib.util.find_spec("numba")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent


def _extension(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    spec = PathFinder.find_spec(name, [str(_numba().joinpath(*name.split(".")[1:-1]))])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module
