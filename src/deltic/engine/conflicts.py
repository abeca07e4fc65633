"""The meaning of the weights of a table's rows, and the check of changes against them [DBSP §12.4].

A row of a set is there at most once, a row of a bag as often as its weight. The changes of one epoch are summed first.

* `error`: a change that a set or bag cannot take rejects the transaction: the insertion of a row that a set has, or the
  repeated insertion of one row into a set; the deletion of a row more often than it is there.
* `normalize`: such a change is reduced: a set takes a row once, and at most the existing rows are deleted.
* `trust`: nothing is rejected. The table stores the sum of all weights, including deletions before their insertions.
  Readers and views see the rows of positive weight, those of a set once. If a row is later changed under another
  policy, that change applies to what was visible.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from deltic.circuit.expressions.checks import show_value
from deltic.errors import ChangeError, DelticError

Conflicts = Literal["error", "normalize", "trust"]
"""The treatment of a change that conflicts with the table."""

SHOWN = 10
"""The number of rows that an error lists."""


@dataclass(frozen=True)
class Conflict:
    """Conflicting changes of one kind, `total` in number; `rows` are examples."""

    is_there: bool
    """Whether the rows were there before."""
    comes: bool
    """Whether they are inserted; else deleted."""
    rows: Sequence[Sequence[Any]]
    total: int


class TableError(ChangeError, ABC):
    """Conflicting changes of one table. Each part of the table reports its own.

    Of several errors, the one for the first change, and then of least `rank`, is reported: the one that would be found
    first without parts.
    """

    rank: ClassVar[int]
    table: str
    turn: int = 0
    """The index of the conflicting change, if there are several."""

    @abstractmethod
    def beside(self, others: Sequence[Self]) -> Self:
        """Return the error, extended by what others of its kind report about the same table."""


class ConflictError(TableError):
    """Conflicting rows, of one or several kinds."""

    rank = 2

    def __init__(self, table: str, kinds: Sequence[Conflict]) -> None:
        self.table, self.kinds = table, tuple(kinds)
        message = ", and ".join(f"{_what(kind)}: {listed(kind.rows, kind.total)}" for kind in kinds)
        super().__init__(
            f"table {table}: the transaction would {message}; nothing was changed. "
            'To ignore such changes: --conflicts normalize for deltic run, conflicts="normalize" in Python; '
            "in a table with a key, to replace rows: upsert, in SQL ON CONFLICT, by HTTP op=upsert"
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
    """Conflicting keys, `total` in number, with examples; `what` is the action that would apply to them."""

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
        """Return the text about the keys."""

    def _listed(self, more: str) -> str:
        """Return the list of keys; `more` names those left out."""
        left = self.total - len(self.examples)
        return "; ".join(self.examples) + (f"; and {left:,} more{more}" if left else "")


class UnorderedKeys(KeysError):
    """A key for which several rows come by key, without an order."""

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
    """Keys that no row has, of rows to delete or update."""

    rank = 1

    def _text(self) -> str:
        return (
            f"table {self.table}: the transaction would {self.what} by key rows that are absent: {self._listed('')}; "
            "nothing was changed. To ignore such changes: --conflicts normalize for deltic run, "
            'conflicts="normalize" in Python, DELETE or UPDATE in SQL'
        )


class SharedKeys(KeysError):
    """Keys that several rows would have."""

    rank = 3

    def _text(self) -> str:
        return (
            f"table {self.table}: several rows would have the key {self._listed(' keys')}; nothing was changed. "
            "If the change has both rows, drop duplicates, or make the table without a key. If one of them is present, "
            "use upsert (in SQL ON CONFLICT, by HTTP op=upsert), UPDATE or MERGE"
        )


def joined(errors: Sequence[DelticError]) -> DelticError:
    """Return one error for those of the parts of a table: the first, with what others report about its table."""
    first = errors[0]
    if not isinstance(first, TableError):
        return first
    own = [error for error in errors if isinstance(error, TableError)]
    least = min(own, key=lambda error: (error.turn, error.rank))
    same = [error for error in own if (type(error), error.turn, error.table) == (type(least), least.turn, least.table)]
    return same[0].beside(same[1:])


def listed(rows: Sequence[Sequence[Any]], total: int) -> str:
    """Return the first of `total` rows as text, and how many are left out."""
    examples = ", ".join(map(show_value, map(tuple, rows[:SHOWN])))
    return f"{examples} and {total - SHOWN:,} more" if total > SHOWN else examples


def _what(kind: Conflict) -> str:
    if kind.comes:
        return "insert a row that is present" if kind.is_there else "insert the same row more than once"
    return "delete a row more often than it is present" if kind.is_there else "delete a row that is absent"
