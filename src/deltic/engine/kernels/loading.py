"""Loads kernels as functions of Python, from a library of machine code, without numba or its runtime.

One library has all kernels for one architecture. A wheel contains it; elsewhere it is built once, see `building`, and
kept in the cache. Its name is made from the sources of the kernels. It calls only `runtime.c`, which it contains.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from ctypes import (
    CDLL,
    PYFUNCTYPE,
    Structure,
    addressof,
    c_char_p,
    c_int,
    c_ssize_t,
    c_void_p,
    cast,
    py_object,
    pythonapi,
)
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any, Protocol

import numpy as np

from deltic import caches
from deltic.engine.kernels.files import PACKAGE, architecture, file_name, is_trusted
from deltic.engine.kernels.machine_code import environment_of, wrapper_of
from deltic.errors import DelticError

_LOG = logging.getLogger("deltic")
# Threads may call a kernel for the first time at once, and one of them makes the library.
_ONE_AT_A_TIME = RLock()
_VARARGS_AND_KEYWORDS = 3


class Code(Protocol):
    """Machine code in this process."""

    def address(self, symbol: str, name: str) -> int:
        """Return where a symbol of a kernel is."""

    def elements(self, name: str) -> tuple[str, ...]:
        """Return the types of elements that a kernel's wrapper asks its environment for, by number."""


class Library:
    """A shared library of all kernels."""

    def __init__(self, path: Path) -> None:
        self._library = CDLL(str(path))
        capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
        c_void_p.in_dll(self._library, "deltic_numpy").value = pointer_in(capsule, None)
        text = c_char_p(self.address("deltic_elements", "")).value
        assert text is not None
        self._elements = json.loads(text)

    def address(self, symbol: str, name: str) -> int:
        result = cast(getattr(self._library, symbol), c_void_p).value
        assert result is not None
        return result

    def elements(self, name: str) -> tuple[str, ...]:
        return tuple(self._elements[name])


class _Definition(Structure):
    """PyMethodDef."""

    _fields_ = (("name", c_char_p), ("function", c_void_p), ("flags", c_int), ("doc", c_char_p))


class _Environment(Structure):
    """The environment as numba's wrapper reads it: constants, after the head of an object and another field."""

    _fields_ = (("references", c_ssize_t), ("type", c_void_p), ("globals", c_void_p), ("constants", py_object))


pointer_in = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))
_function_of = PYFUNCTYPE(py_object, c_void_p, c_void_p, c_void_p)(("PyCFunction_NewEx", pythonapi))


def load(name: str) -> Callable[..., Any]:
    """Return the kernel of this name as a function of Python."""
    with _ONE_AT_A_TIME:
        return _load(name)


@cache
def _load(name: str) -> Callable[..., Any]:
    code = _code()
    environment = _Environment(constants=[np.dtype(element) for element in code.elements(name)])
    c_void_p.from_address(code.address(environment_of(name), name)).value = addressof(environment)
    definition = _Definition(name.encode(), code.address(wrapper_of(name), name), _VARARGS_AND_KEYWORDS, None)
    for kept in (environment, definition):
        pythonapi.Py_IncRef(py_object(kept))  # functions that go when the interpreter ends still read them
    made: Callable[..., Any] = _function_of(addressof(definition), None, None)
    return made


@cache
def _code() -> Code:
    """Return the matching library: the wheel's, or the cache's, which is built first if it is missing."""
    if (path := find()) is None:
        _make()
        path = find()
    if path is not None:
        return Library(path)
    from deltic.engine.kernels.unlinked import Unlinked

    return Unlinked()


def find() -> Path | None:
    """Return the library for this machine and these sources, if the package or the cache has it.

    Machine code cannot be loaded from a zip, so it is copied to the cache.
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None  # objects of Python have another layout then
    carried = PACKAGE.joinpath(file_name())
    if isinstance(carried, Path) and carried.exists():
        return carried
    kept = caches.directory() / file_name()
    if not is_trusted(kept) and carried.is_file():
        caches.place(kept, carried.read_bytes())
    return kept if is_trusted(kept) else None


def check_compiler() -> None:
    """Raise DelticError if numba, which compiles kernels, is not installed."""
    if find_spec("numba") is None:
        raise DelticError(
            f"this installation has no compiled kernels for {sys.platform} on {architecture()}, and no compiler of its "
            "own: add it by pip install 'deltic[compile]'"
        )


def _make() -> None:
    """Compile in another process, which imports numba; if one is compiling already, wait for it."""
    check_compiler()
    _LOG.warning("first use: compiling the local engine, once for this machine, in a minute or two")
    command = [sys.executable, "-m", f"{__name__.rpartition('.')[0]}.building"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    made = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if made.returncode:
        raise RuntimeError(f"kernels cannot be compiled:\n{made.stderr}")
