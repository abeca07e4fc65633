"""Modules: files, what they import, and what names mean in them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

from deltic.errors import ProgramError, did_you_mean
from deltic_ddlog import syntax as s
from deltic_ddlog.parser import parse
from deltic_ddlog.transformers import GRAPH, expanded

# What every module sees without importing it.
PRELUDE = ("ddlog_std", "internment", "ddlog_bigint", "ddlog_rt", "ddlog_log")
_LIBRARY = "deltic_ddlog.library"

_NOT_HERE = {
    "debug": "it is a part of DDlog's debugger; `Inspect` and `print` show values",
    "d3log::reflect": "it is a part of DDlog's distributed runtime",
}
"""The modules of DDlog's library that are not in ours, and why."""

EntryT = TypeVar("EntryT")


@dataclass(frozen=True)
class Text:
    """What a module says, and the file that says it."""

    text: str = field(repr=False)
    file: str


Find = Callable[[str], Text | None]
"""The module of a path that is the program's own; None where there is none."""


@dataclass(frozen=True)
class Module:
    """A module by its path, which is empty for the program itself, and the modules that it sees by which names."""

    path: str
    text: Text
    syntax: s.ModuleFile = field(repr=False)
    imports: tuple[tuple[str, str | None], ...]
    is_library: bool

    def full(self, name: str) -> str:
        """Return a name that the module declares, in full."""
        return f"{self.path}::{name}" if self.path else name


def load(text: Text, find: Find) -> list[Module]:
    """Return the program and all modules that it needs, each after those that it imports where these are no circle.

    Raises ProgramError where a module cannot be read, or is nowhere.
    """
    loader = _Loader(find)
    for name in PRELUDE:
        if _library_module(name) is not None:
            loader.load(name, None)
    loader.add("", text, parse(text.text, text.file), is_library=False)
    return list(loader.modules.values())


def within(directories: Sequence[Path]) -> Find:
    """Modules by their files, which are sought in these directories, in that order."""

    def find(path: str) -> Text | None:
        files = (directory / _place(path) for directory in directories)
        file = next((file for file in files if file.is_file()), None)
        return None if file is None else Text(file.read_text(encoding="utf-8"), str(file))

    return find


def _place(path: str) -> Path:
    return Path(*path.split("::")).with_suffix(".dl")


class _Loader:
    """Modules by their paths."""

    def __init__(self, find: Find) -> None:
        self.find = find
        self.modules: dict[str, Module] = {}
        self.pending: set[str] = set()

    def load(self, path: str, wanted: s.ImportItem | None) -> None:
        """Load an imported module."""
        if path in self.modules or path in self.pending:
            return
        text, syntax, is_library = self._found(path, wanted)
        self.pending.add(path)
        self.add(path, text, syntax, is_library)

    def add(self, path: str, text: Text, module: s.ModuleFile, is_library: bool) -> None:
        """Add a module after its imports."""
        imports = [item for item in module.items if isinstance(item, s.ImportItem)]
        for item in imports:
            self.load(item.module, item)
        aliases = {item.module: item.alias for item in imports}
        if GRAPH in self.modules and self.modules[GRAPH].is_library:
            module = expanded(module)
        seen = [(name, None) for name in PRELUDE if name not in aliases and name != path]
        self.modules[path] = Module(path, text, module, (*aliases.items(), *seen), is_library)

    def _found(self, path: str, wanted: s.ImportItem | None) -> tuple[Text, s.ModuleFile, bool]:
        """Return a module, and whether it is one of ours."""
        if text := self.find(path):
            return text, parse(text.text, text.file), False
        result = _library_module(path)
        if result is None:
            assert wanted is not None
            if path in _NOT_HERE:
                message = f"the module `{path}` of DDlog's library is not here: {_NOT_HERE[path]}"
                raise ProgramError(
                    [wanted.span.error(message, "a module of that name beside the program takes its place")]
                )
            hint = (
                did_you_mean(path, library_modules())
                or f"{_place(path)} is searched beside the program and in `--ddlog-library`"
            )
            raise ProgramError([wanted.span.error(f"there is no module `{path}`", hint)])
        return *result, True


@cache
def _library_module(path: str) -> tuple[Text, s.ModuleFile] | None:
    """Return a module of the library, which never changes; None where there is none."""
    text = _library_text(path)
    return None if text is None else (Text(text, f"<{path}>"), parse(text, f"<{path}>"))


def library_modules() -> tuple[str, ...]:
    """Return the modules of the library."""
    root = Path(str(resources.files(_LIBRARY))) if find_spec(_LIBRARY) else Path()
    return tuple(sorted("::".join(file.relative_to(root).with_suffix("").parts) for file in root.rglob("*.dl")))


def _library_text(path: str) -> str | None:
    """Return the text of a module of the library, None where there is none; its functions of Python are registered."""
    if find_spec(_LIBRARY) is None:
        return None
    *folders, name = path.split("::")
    file = resources.files(_LIBRARY).joinpath(*folders, f"{name}.dl")
    if not file.is_file():
        return None
    python = ".".join((_LIBRARY, *folders, name))
    if resources.files(_LIBRARY).joinpath(*folders, f"{name}.py").is_file():
        importlib.import_module(python)
    return file.read_text(encoding="utf-8")


class Names(Generic[EntryT]):
    """Declarations of one kind, by their qualified names."""

    def __init__(self) -> None:
        self.entries: dict[str, EntryT] = {}

    def find(self, module: Module, name: str) -> list[str]:
        """Return what a name may mean in a module: what is declared there comes before what is imported."""
        own = module.full(name)
        if "::" not in name and own in self.entries:
            return [own]
        return self.find_all(module, name)

    def find_all(self, module: Module, name: str) -> list[str]:
        """Return all that a name may mean in a module."""
        prefix, _, base = name.rpartition("::")
        if prefix:
            paths = [path for path, alias in module.imports if prefix in (alias, path)]
            candidates = [*(f"{path}::{base}" for path in paths), name]
        else:
            imported = [f"{path}::{name}" for path, alias in module.imports if alias is None]
            candidates = [module.full(name), *imported]
        return [result for result in dict.fromkeys(candidates) if result in self.entries]

    def only(
        self, module: Module, name: str, kind: str, report: Callable[[str, str], None], others: Sequence[str] = ()
    ) -> EntryT | None:
        """Return the meaning of a name; None, and a finding, if it is unknown or ambiguous."""
        found = self.find(module, name)
        if len(found) == 1:
            return self.entries[found[0]]
        if found:
            message = " or ".join(f"`{each}`" for each in found)
            report(f"`{name}` is ambiguous: {message}", "write one of these in full")
        else:
            report(f"there is no {kind} `{name}`", did_you_mean(name, [*self.visible(module), *others]))
        return None

    def visible(self, module: Module) -> list[str]:
        """Return the names that can be used in a module as they are, for messages."""
        prefixes = {module.path, *(path for path, alias in module.imports if alias is None)}
        return [name.rpartition("::")[2] for name in self.entries if name.rpartition("::")[0] in prefixes]
