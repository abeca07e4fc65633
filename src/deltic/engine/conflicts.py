"""The check of changes against the contents of a set [DBSP §12.4]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.errors import ChangeError

_SHOWN = 3


def conflict_error(table: str, weight: int, rows: Sequence[Sequence[Any]], total: int) -> ChangeError:
    """The error for `total` changes of one kind that do not fit; `rows` are examples, `weight` their sign."""
    what = "insert a row that is present" if weight > 0 else "delete a row that is absent"
    examples = ", ".join("(" + ", ".join(map(repr, row)) + ")" for row in rows[:_SHOWN])
    more = f" and {total - _SHOWN} more" if total > _SHOWN else ""
    return ChangeError(
        f"table {table}: the transaction would {what}: {examples}{more}; nothing was changed. "
        'Pass conflicts="normalize" to ignore such changes.'
    )
