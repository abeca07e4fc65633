"""The final check: every view against the same view computed from scratch, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from deltic.duck import in_memory
from deltic.errors import count_of
from deltic.pipeline.session import Pipeline


@dataclass(frozen=True)
class ViewDifference:
    """A view that is not what a recomputation says: rows it lacks, rows it should not have, and one of them."""

    view: str
    missing: int
    extra: int
    example: tuple[object, ...]

    def __str__(self) -> str:
        return (
            f"{self.view}: {count_of(self.missing, 'row')} missing, {self.extra:,} too many, for example {self.example}"
        )


def differences(kept: Pipeline, fresh: Pipeline, every_row: bool) -> list[ViewDifference]:
    """Return the views that differ between two pipelines: in size, or, with `every_row`, in any row."""
    suspects = [view for view in kept.views if every_row or len(kept[view]) != len(fresh[view])]
    result = (difference(view, kept[view].to_arrow(), fresh[view].to_arrow()) for view in suspects)
    return [d for d in result if d is not None]


def difference(view: str, kept: pa.Table, recomputed: pa.Table) -> ViewDifference | None:
    """Return how a view that was kept fresh differs from its recomputation, as bags of rows; None when it does not."""
    missing = _except(recomputed, kept)
    if not missing.num_rows and kept.num_rows == recomputed.num_rows:
        return None
    extra = _except(kept, recomputed)
    example = tuple((missing if missing.num_rows else extra).slice(0, 1).to_pylist()[0].values())
    return ViewDifference(view, missing.num_rows, extra.num_rows, example)


def _except(left: pa.Table, right: pa.Table) -> pa.Table:
    """Return the rows of `left`, as often as they are there more often than in `right`."""
    with in_memory() as connection:
        connection.register("left_rows", left)
        connection.register("right_rows", right)
        return connection.sql("FROM left_rows EXCEPT ALL FROM right_rows").to_arrow_table()
