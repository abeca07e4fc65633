"""How rows with weights are shown: each as often as it weighs, or with its weight where one is negative."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deltic.circuit.tables import WEIGHT

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa


def repeated(rows: pa.Table) -> pa.Table:
    """Return rows as often as they weigh, without WEIGHT; as they are if a weight is negative, or if they have none."""
    import pyarrow as pa

    if WEIGHT not in rows.column_names:
        return rows
    weights, once = np.asarray(rows.column(WEIGHT)), rows.select(rows.column_names[:-1])
    if (weights == 1).all():
        return once
    if (weights < 0).any():
        return rows
    if not once.column_names:
        return pa.table({"_": pa.nulls(rows_shown(weights))}).select([])
    batches = rows.to_batches()
    taken = [batch.take(pa.array(np.repeat(np.arange(len(batch)), batch.column(WEIGHT)))) for batch in batches]
    return pa.Table.from_batches(taken, rows.schema).select(once.column_names)


def rows_shown(weights: npt.NDArray[np.int64]) -> int:
    """Return the number of rows of `repeated`, from weights int64[n]."""
    return int(np.count_nonzero(weights) if (weights < 0).any() else weights.sum())
