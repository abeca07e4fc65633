"""Definitions of relations: each is a value that says how a relation is computed and which relations it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from deltic.immutable import Immutable


class Definition(Immutable):
    """How a relation is computed; `reads` names the fields that hold the relations whose changes it follows."""

    reads: ClassVar[tuple[str, ...]] = ()
    remembers: ClassVar[bool] = False
    """Whether it depends on past epochs beyond the present rows of the relations that it reads."""
    is_timed: ClassVar[bool] = False
    """Whether it may change in an epoch in which none of the relations that it reads changes."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The relations whose changes it follows."""
        return tuple(getattr(self, field) for field in self.reads)

    @property
    def contents(self) -> tuple[str, ...]:
        """The relations whose rows it reads, not only their changes."""
        return ()

    @property
    def is_set(self) -> bool:
        """Whether its rows occur at most once; a table that is a bag is marked where it is declared."""
        return False

    @property
    def kept(self) -> str:
        """A version of the format of its state: state of another version is not reused."""
        return ""

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the same definition with the relations that it reads renamed."""
        return replace(self, **{field: names[getattr(self, field)] for field in self.reads})

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        """Return the columns whose values come from columns of other relations: (own column, relation, its column)."""
        return iter(())

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        """Lines of an explanation for users, with state and cost; `names` are those of the relation's columns."""
        return iter(())


class OfSource(Definition):
    """A relation that follows the changes of one relation, `source`, and by default has its columns."""

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: str

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        return ((i, self.source, i) for i in range(columns))


class OfInputs(Definition):
    """A relation that is computed from all rows of other relations, its `inputs`."""

    inputs: tuple[str, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        return self.inputs

    @property
    def contents(self) -> tuple[str, ...]:
        return self.inputs

    def renamed(self, names: Mapping[str, str]) -> Self:
        return replace(self, inputs=tuple(names[name] for name in self.inputs))


class Table(Definition):
    """A base table of that name."""

    table: str

    @property
    def is_set(self) -> bool:
        return True

    def __str__(self) -> str:
        return "table"


class FixedRows(Definition):
    """A constant set of rows."""

    rows: tuple[tuple[Any, ...], ...]

    @property
    def is_set(self) -> bool:
        return len(set(self.rows)) == len(self.rows)

    def __str__(self) -> str:
        return f"constant {{{', '.join(map(repr, self.rows))}}}"


class Derived(Definition):
    """The sum of the rows that the relation's rules derive; if `distinct`, the set of them."""

    distinct: bool

    @property
    def is_set(self) -> bool:
        return self.distinct

    def __str__(self) -> str:
        return "set" if self.distinct else "sum"
