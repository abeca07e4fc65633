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
from typing import Any

from deltic.errors import ChangeError

SHOWN = 10
"""How many rows an error lists."""


def conflict_error(table: str, old: int, weight: int, rows: Sequence[Sequence[Any]], total: int) -> ChangeError:
    """The error for `total` changes of one kind that do not fit.

    `rows` are examples; the first is there `old` times and changes by `weight`.
    """
    return ChangeError(
        f"table {table}: the transaction would {_what(old, weight)}: {listed(rows, total)}; nothing was changed. "
        'Pass conflicts="normalize" to ignore such changes.'
    )


def listed(rows: Sequence[Sequence[Any]], total: int) -> str:
    """Some of `total` rows by their values, and how many more there are."""
    examples = ", ".join("(" + ", ".join(map(repr, row)) + ")" for row in rows[:SHOWN])
    return f"{examples} and {total - SHOWN:,} more" if total > SHOWN else examples


def _what(old: int, weight: int) -> str:
    if weight < 0:
        return "delete a row more often than it is there" if old > 0 else "delete a row that is absent"
    return "insert a row that is present" if old > 0 else "insert the same row more than once"
