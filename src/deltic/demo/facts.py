"""Facts: the contents of one Python file as rows of the input relations of `program.dl`.

A fact is a pair (relation, row). Each row names its own module, or something in it, so the facts of two files never
coincide, and an edit changes the tables by the difference of two sets.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

Row = tuple[str | int, ...]
Fact = tuple[str, Row]


@dataclass(frozen=True)
class SourceFile:
    """A Python file: its path relative to the root, the name it is imported by, and its bytes."""

    file: str
    module: str
    text: bytes

    @property
    def is_package(self) -> bool:
        """Whether the file is the body of a package: its submodules are found beside it."""
        return self.file.rpartition("/")[2] == "__init__.py"


@dataclass(frozen=True)
class FactChange:
    """What an edit does to the tables: facts that disappear and facts that appear, disjoint."""

    deleted: Set[Fact]
    inserted: Set[Fact]

    @staticmethod
    def between(old: Set[Fact], new: Set[Fact]) -> FactChange:
        """Return the change that turns the facts `old` into `new`."""
        return FactChange(deleted=old - new, inserted=new - old)

    def __len__(self) -> int:
        return len(self.deleted) + len(self.inserted)
