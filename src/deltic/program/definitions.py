"""How a relation of a program comes about: each definition is a value that says which relations it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class Definition:
    """What a relation is; `reads` are the fields that name the relations whose changes it follows."""

    reads: ClassVar[tuple[str, ...]] = ()
    remembers: ClassVar[bool] = False
    """Whether it depends on epochs of the past, beside the present rows of what it reads."""
    is_timed: ClassVar[bool] = False
    """Whether it may change in an epoch in which nothing that it reads does."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The relations whose changes it follows."""
        return tuple(getattr(self, field) for field in self.reads)

    @property
    def contents(self) -> tuple[str, ...]:
        """The inputs whose rows it reads, not their changes alone."""
        return ()

    @property
    def is_set(self) -> bool:
        """Whether its rows occur at most once; a table that is a bag is marked where it is declared."""
        return False

    @property
    def kept(self) -> str:
        """How engines keep what it needs, where another version of them did so otherwise: what that wrote is no use."""
        return ""

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The same definition with the relations that it reads under other names."""
        return replace(self, **{field: names[getattr(self, field)] for field in self.reads})

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        """Which of the relation's columns hold values of a column of another: (own, relation, its column)."""
        return iter(())

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        """Lines for a reader, with state and cost; `names` are those of the relation's columns."""
        return iter(())


@dataclass(frozen=True)
class Table(Definition):
    """What comes in from outside as the table of that name."""

    table: str

    @property
    def is_set(self) -> bool:
        return True

    def __str__(self) -> str:
        return "table"


@dataclass(frozen=True)
class FixedRows(Definition):
    """Fixed rows."""

    rows: tuple[tuple[Any, ...], ...]

    @property
    def is_set(self) -> bool:
        return len(set(self.rows)) == len(self.rows)

    def __str__(self) -> str:
        return f"constant {{{', '.join(map(repr, self.rows))}}}"


@dataclass(frozen=True)
class Derived(Definition):
    """The sum of what the relation's rules derive; where `distinct`, the set of it."""

    distinct: bool

    @property
    def is_set(self) -> bool:
        return self.distinct

    def __str__(self) -> str:
        return "set" if self.distinct else "sum"
