"""Packages whose modules register what they define: importing all of them fills the registry."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules


def import_files(package: str, path: list[str]) -> None:
    """Import every module of a package, given its `__name__` and `__path__`, in the order of their names."""
    for module in sorted(iter_modules(path), key=lambda result: result.name):
        import_module(f"{package}.{module.name}")
