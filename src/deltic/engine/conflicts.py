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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from deltic.errors import ChangeError, DelticError

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


class ConflictError(ChangeError):
    """Changes of one table that do not fit, of one or several kinds."""

    def __init__(self, table: str, kinds: Sequence[Conflict]) -> None:
        self.table, self.kinds = table, tuple(kinds)
        told = ", and ".join(f"{_what(kind)}: {listed(kind.rows, kind.total)}" for kind in kinds)
        super().__init__(
            f"table {table}: the transaction would {told}; nothing was changed. "
            'Pass conflicts="normalize" to ignore such changes.'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return ConflictError, (self.table, self.kinds)


def joined(errors: Sequence[DelticError]) -> DelticError:
    """One error for those that parts of a table have raised: the first, with what others say of its table."""
    first = errors[0]
    if not isinstance(first, ConflictError):
        return first
    found: dict[tuple[bool, bool], Conflict] = {}
    for error in errors:
        for kind in error.kinds if isinstance(error, ConflictError) and error.table == first.table else ():
            which = not kind.comes, not kind.is_there
            known = found.get(which, replace(kind, rows=(), total=0))
            found[which] = replace(known, rows=[*known.rows, *kind.rows][:SHOWN], total=known.total + kind.total)
    return ConflictError(first.table, [found[which] for which in sorted(found)])


def listed(rows: Sequence[Sequence[Any]], total: int) -> str:
    """Some of `total` rows by their values, and how many more there are."""
    examples = ", ".join("(" + ", ".join(map(repr, row)) + ")" for row in rows[:SHOWN])
    return f"{examples} and {total - SHOWN:,} more" if total > SHOWN else examples


def _what(kind: Conflict) -> str:
    if kind.comes:
        return "insert a row that is present" if kind.is_there else "insert the same row more than once"
    return "delete a row more often than it is there" if kind.is_there else "delete a row that is absent"
