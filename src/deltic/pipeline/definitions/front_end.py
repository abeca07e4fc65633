"""The interface of a front end: a language whose programs define tables and views."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from deltic.errors import CatalogError
from deltic.pipeline.definitions.definitions import Definitions


@dataclass(frozen=True)
class SourceOptions:
    """Options for reading a program: `macros` defined before it, and `directories` of imported files."""

    macros: Mapping[str, str] = field(default_factory=dict)
    directories: tuple[str, ...] = ()

    @property
    def written(self) -> dict[str, list[str]]:
        """The options for the history, without macros, which are in its text."""
        return {"directories": list(self.directories)} if self.directories else {}

    def places(self, file: str) -> list[Path]:
        """Return the directories of imported files; that of the program comes first."""
        return [Path(file).parent, *map(Path, self.directories)]


NO_OPTIONS = SourceOptions()


@dataclass(frozen=True)
class FunctionName:
    """A function of a language: its name, the equivalent SQL function, and its own implementation if any."""

    name: str
    same_as: str = ""
    entry: str = ""


class FrontEnd(ABC):
    """A language. Other packages register theirs as an entry point in the group `deltic.front_ends`."""

    name: ClassVar[str]
    """What commands, states and entry points call the language."""
    title: ClassVar[str]
    """What people call it; the `front` of its parts of the catalog."""
    suffixes: ClassVar[tuple[str, ...]]
    """How names of files with its programs end, in lower case."""
    has_macros: ClassVar[bool] = False
    has_imports: ClassVar[bool] = False
    computed_by: ClassVar[str] = ""
    """What computes the functions that the language alone has, if the table of functions has them not."""

    @abstractmethod
    def define(self, now: Definitions, text: str, file: str, options: SourceOptions = NO_OPTIONS) -> Definitions:
        """Add a program to the present definitions. Raises ProgramError or CatalogError.

        `now.with_part(part, self.name, text, file, options.written)` adds tables and views as the catalog has them.
        """

    def program(
        self, start: Definitions, text: str, file: str, options: SourceOptions, before: Definitions
    ) -> tuple[Definitions, str]:
        """Return the definitions of a program alone, and its text with all imported files, which a state stores.

        They replace the definitions `before`; those that the program lacks are dropped.
        """
        return self.define(start, text, file, options), text

    def functions(self) -> Iterable[FunctionName]:
        """Return the functions of the language, for `deltic functions`."""
        return ()

    def check(self, options: SourceOptions) -> None:
        """Raise CatalogError for options that the language does not have."""
        if options.macros and not self.has_macros:
            raise CatalogError(f"{self.title} has no macros: they are for programs in Datalog")
        if options.directories and not self.has_imports:
            raise CatalogError(f"{self.title} imports no modules from directories")
