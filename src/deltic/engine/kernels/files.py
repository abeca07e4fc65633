"""The files with the machine code of kernels: one library, made of one object for each, all named by their sources."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from hashlib import sha256
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from deltic import caches
from deltic.trusted import UntrustedError, check_file

SOURCES = Path(__file__).parent
PACKAGE = resources.files(__package__)
"""The same files; those of a zip, where the package is in one."""
# What sources do not say: the layouts that `runtime.c` and `loading` share with numba's wrappers.
_FORMAT = 1
_X86_64_V3 = "AVX2", "F16C", "FMA3"
_IMPORTS = re.compile(rb"^from deltic\.engine\.kernels(?:\.(\w+) import| import ([\w, ]+))", re.MULTILINE)


def is_trusted(library: Path) -> bool:
    """Return whether this file exists in a checked directory, and nobody else can write it."""
    try:
        check_file(library)
    except FileNotFoundError:
        return False
    except (OSError, UntrustedError) as error:
        caches.warn(f"a cached file is made again: {error}")
        return False
    return True


@cache
def file_name() -> str:
    """Return the file name of the library for this machine and these sources."""
    digest = sha256(f"{_FORMAT}".encode())
    sources = {path.name: path for path in PACKAGE.iterdir() if path.name.endswith((".py", ".c"))}
    for name in sorted(sources):
        digest.update(sources[name].read_bytes())
    return f"kernels-{sys.platform}-{architecture()}-{digest.hexdigest()[:16]}.so"


@cache
def architecture() -> str:
    """Return the instruction set for kernels: x86-64 as of 2013, or older; other architectures without extensions."""
    machine = os.uname().machine
    if machine not in ("x86_64", "amd64"):
        return machine
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    return "x86-64-v3" if features.get("X86_V3") or all(map(features.get, _X86_64_V3)) else "x86-64"


@cache
def object_of(name: str) -> Path:
    """Return the file with the object code of a kernel, by all sources that it is made of, and by its compiler."""
    digest = sha256(f"{sys.platform} {architecture()} {_version('numba')} {_version('llvmlite')}".encode())
    for module in ("compiling", "intrinsics", "machine_code", *sorted(modules_of(name))):
        digest.update(source_of(module))
    return caches.directory() / f"{name}-{digest.hexdigest()[:16]}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def modules_of(name: str) -> set[str]:
    """Return the modules that a kernel is made of: its own, and those that this one imports."""
    result, waiting = set[str](), {name.partition(".")[0]}
    while waiting:
        result.add(one := waiting.pop())
        names = (names.decode() for pair in _IMPORTS.findall(source_of(one)) for names in pair)
        waiting |= {name for some in names for name in some.split(", ") if name} - result
    return result


@cache
def source_of(module: str) -> bytes:
    """Return the text of a module of kernels."""
    return (SOURCES / f"{module}.py").read_bytes()
