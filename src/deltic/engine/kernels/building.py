"""Builds the library of all kernels: numba compiles them in two processes, and the system's C compiler links them.

The cache has an object for each kernel, named by the kernel's sources, so a change recompiles only the kernels that it
reaches. Without a C compiler, LLVM loads the objects instead, see `unlinked`.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import pkgutil
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import CDLL
from pathlib import Path
from threading import Thread
from types import ModuleType

from deltic import caches
from deltic.engine import kernels
from deltic.engine.kernels.declaring import Kernel
from deltic.engine.kernels.files import SOURCES, file_name, is_trusted, modules_of, object_of
from deltic.engine.kernels.machine_code import machine_code_from

# Modules that are no kernels: they make them, or need numba.
_MAKERS = "building", "compiling", "files", "intrinsics", "loading", "unlinked"
# Kernels that read a whole component share most of what they are made of.
_SHARED = "component"

Progress = Callable[[int, int], None]


def modules() -> Iterator[ModuleType]:
    """Return the modules that declare kernels and their parts."""
    for result in pkgutil.iter_modules(kernels.__path__):
        if result.name not in _MAKERS:
            yield importlib.import_module(f"{kernels.__name__}.{result.name}")


def kernels_by_name() -> dict[str, Kernel]:
    """Return all kernels by name."""
    result = (value for module in modules() for value in vars(module).values())
    return {value.name: value for value in result if isinstance(value, Kernel)}


def make(progress: Progress) -> Path | None:
    """Compile and link what is missing. Return the library in the cache, or None if the system cannot link.

    `progress` gets the number of compiled kernels and of all kernels. If another process compiles, this one waits.
    """
    with _alone():
        if is_trusted(library := caches.directory() / file_name()):
            return library
        compile_all(progress)
        return _link(library) if _linker() and not sysconfig.get_config_var("Py_GIL_DISABLED") else None


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock that keeps other processes from compiling at the same time."""
    with open(caches.directory() / "kernels.lock", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compile_all(progress: Progress) -> None:
    """Compile the kernels whose objects are missing."""
    names = sorted(kernels_by_name())
    missing = [name for name in names if caches.read(object_of(name)) is None]
    compiled = len(names) - len(missing)
    progress(compiled, len(names))
    shared = [name for name in missing if _SHARED in modules_of(name)]
    parts = [part for part in (shared, [name for name in missing if name not in shared]) if part]
    running = [_start(part) for part in parts]

    def follow(process: subprocess.Popen[str]) -> None:
        nonlocal compiled
        assert process.stdout is not None
        for _ in process.stdout:
            compiled += 1
            progress(compiled, len(names))

    threads = [Thread(target=follow, args=[process]) for process in running]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for part, process in zip(parts, running, strict=True):
        if process.wait():
            raise RuntimeError(f"the kernels {', '.join(part)} cannot be compiled")


def _start(names: Sequence[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"{kernels.__name__}.compiling", *names]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def _linker() -> list[str]:
    """Return the system's C compiler, which CC names, or an empty text."""
    command = shlex.split(os.environ.get("CC", "cc"))
    return command if command and shutil.which(command[0]) else []


def _link(library: Path) -> Path:
    """Link all objects, and the runtime that they call, to a library."""
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="link.") as place:
        objects, elements = list[Path](), dict[str, tuple[str, ...]]()
        for name in sorted(kernels_by_name()):
            kept = caches.read(object_of(name))
            assert kept is not None, name
            code = machine_code_from(kept)
            elements[name] = code.elements
            objects.append(Path(place, f"{name}.o"))
            objects[-1].write_bytes(code.code)
        elements_file = Path(place, "elements.c")
        elements_file.write_text(f"const char deltic_elements[] = {json.dumps(json.dumps(elements))};\n")
        made = Path(place, library.name)
        platform = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
        command: list[str | Path] = [
            *_linker(),
            "-shared",
            "-fPIC",
            "-O2",
            "-o",
            made,
            SOURCES / "runtime.c",
            elements_file,
            *objects,
        ]
        linked = subprocess.run([*command, *platform, "-lm"], capture_output=True, text=True)
        if linked.returncode:
            raise RuntimeError(f"the kernels cannot be linked:\n{linked.stderr}")
        CDLL(str(made))  # which fails where a symbol is missing
        made.chmod(0o600)
        os.rename(made, library)
    return library


if __name__ == "__main__":
    make(lambda compiled, total: None)
