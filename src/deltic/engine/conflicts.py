"""What the weights of a table's rows mean, and the check of changes against them [DBSP §12.4].

A row of a set is there once or not at all, a row of a bag as often as it weighs. Changes of one epoch add up first.

* `error`: a change that a set or bag cannot take rejects the transaction: the insertion of a row that a set has, or the
  insertion of one row several times into a set; the deletion of a row more often than it is there.
* `normalize`: it is made as small as it must be: a set takes a row once, and nobody loses more than there is.
* `trust`: nothing is refused. The table keeps the sum of all weights that it was given, a deletion that came before its
  insertion included; what is shown, and what views are computed from, are the rows of positive weight: of a set once.
  A row that is changed under another policy afterwards counts from what was shown of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from deltic.errors import ChangeError, DelticError

Conflicts = Literal["error", "normalize", "trust"]
"""What is done with a change that does not fit the table."""

SHOWN = 10
"""How many rows an error lists."""


@dataclass(frozen=True)
class Conflict:
    """So many changes of one kind that do not fit; `rows` are examples."""

    is_there: bool
    """Whether the rows are there before."""
    comes: bool
    """Whether they come, or go."""
    rows: Sequence[Sequence[Any]]
    total: int


class TableError(ChangeError, ABC):
    """Changes of one table that do not fit, each part of the table reporting its own.

    Of errors of several kinds the one of least `rank` is told, of the first of several changes: that which is found
    first where there are no parts.
    """

    rank: ClassVar[int]
    table: str
    turn: int = 0
    """Which of several changes it is that does not fit."""

    @abstractmethod
    def beside(self, others: Sequence[Self]) -> Self:
        """The error with what others of its kind say of the same table."""


class ConflictError(TableError):
    """Rows that do not fit, of one or several kinds."""

    rank = 2

    def __init__(self, table: str, kinds: Sequence[Conflict]) -> None:
        self.table, self.kinds = table, tuple(kinds)
        message = ", and ".join(f"{_what(kind)}: {listed(kind.rows, kind.total)}" for kind in kinds)
        super().__init__(
            f"table {table}: the transaction would {message}; nothing was changed. "
            'Pass conflicts="normalize" to ignore such changes.'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return ConflictError, (self.table, self.kinds), {"turn": self.turn}

    def beside(self, others: Sequence[Self]) -> Self:
        result: dict[tuple[bool, bool], Conflict] = {}
        for kind in (kind for error in (self, *others) for kind in error.kinds):
            which = not kind.comes, not kind.is_there
            known = result.get(which, replace(kind, rows=(), total=0))
            result[which] = replace(known, rows=[*known.rows, *kind.rows][:SHOWN], total=known.total + kind.total)
        return type(self)(self.table, [result[which] for which in sorted(result)])


class KeysError(TableError):
    """Keys that do not fit, so many in `total`; the first of them are `told`, and `what` would be done with them."""

    def __init__(self, table: str, examples: Sequence[str], total: int, what: str = "") -> None:
        self.table, self.examples, self.total, self.what = table, tuple(examples), total, what
        super().__init__(self._text())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.table, self.examples, self.total, self.what), {"turn": self.turn}

    def beside(self, others: Sequence[Self]) -> Self:
        same = [self, *(other for other in others if other.what == self.what)]
        examples = [text for error in same for text in error.examples]
        return type(self)(self.table, examples[:SHOWN], sum(error.total for error in same), self.what)

    @abstractmethod
    def _text(self) -> str:
        """What is reported of them."""

    def _listed(self, more: str) -> str:
        """The keys; `more` is what others are called."""
        left = self.total - len(self.examples)
        return "; ".join(self.examples) + (f"; and {left:,} more{more}" if left else "")


class UnorderedKeys(KeysError):
    """A key of which several rows come by key, in no order."""

    rank = 0

    def beside(self, others: Sequence[Self]) -> Self:
        return self

    def _text(self) -> str:
        return (
            f"table {self.table}: several changes are of the key {self.examples[0]}, and a batch of Spark has no "
            "order: name the columns that decide which one is last, as in "
            'pipeline.stream(…, order="source.lsn")'
        )


class AbsentKeys(KeysError):
    """Keys that no row has, of rows that are to go or to change."""

    rank = 1

    def _text(self) -> str:
        return (
            f"table {self.table}: the transaction would {self.what} by key rows that are absent: {self._listed('')}; "
            'nothing was changed. Pass conflicts="normalize" to ignore such changes, or use upsert.'
        )


class SharedKeys(KeysError):
    """Keys that several rows would have."""

    rank = 3

    def _text(self) -> str:
        return (
            f"table {self.table}: several rows would have the key {self._listed(' keys')}; nothing was changed. "
            "Delete the present row in the same transaction, or use upsert, UPDATE or MERGE"
        )


def joined(errors: Sequence[DelticError]) -> DelticError:
    """One error for those that parts of a table have raised: the first, with what others say of its table."""
    first = errors[0]
    if not isinstance(first, TableError):
        return first
    own = [error for error in errors if isinstance(error, TableError)]
    least = min(own, key=lambda error: (error.turn, error.rank))
    same = [error for error in own if (type(error), error.turn, error.table) == (type(least), least.turn, least.table)]
    return same[0].beside(same[1:])


def listed(rows: Sequence[Sequence[Any]], total: int) -> str:
    """Some of `total` rows by their values, and how many more there are."""
    examples = ", ".join("(" + ", ".join(map(repr, row)) + ")" for row in rows[:SHOWN])
    return f"{examples} and {total - SHOWN:,} more" if total > SHOWN else examples


def _what(kind: Conflict) -> str:
    if kind.comes:
        return "insert a row that is present" if kind.is_there else "insert the same row more than once"
    return "delete a row more often than it is present" if kind.is_there else "delete a row that is absent"
