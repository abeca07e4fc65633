"""The table of epochs in a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from deltic.pipeline.epochs.report import RowCounts
from deltic.pipeline.job.outcome import EpochDone

_WIDEST = 6


def epochs_table(epochs: Sequence[EpochDone], views: Sequence[str]) -> Table:
    """A row for each epoch, and a column for each view, or one column for many views."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    wide = len(views) <= _WIDEST
    for title in ("epoch", "rows in", *(views if wide else ["changed"]), "time", "rows visited"):
        table.add_column(title, justify="left" if title in ("epoch", "changed") else "right", overflow="fold")
    for done in epochs:
        changed = {view: done.report.changed.get(view) for view in views}
        cells = [_signed(c) for c in changed.values()] if wide else [_listed(changed)]
        report = done.report
        table.add_row(done.name, f"{report.rows_in:,}", *cells, seconds(report.seconds), f"{report.rows_visited:,}")
    return table


def recomputed(epochs: Sequence[EpochDone]) -> Iterator[str]:
    """A line for each component that an epoch recomputed instead of updating it, or that has no derivative."""
    for done in epochs[1:]:
        for component in done.report.components:
            if component.action in ("bootstrap", "recompute"):
                yield f"{done.name}: {', '.join(component.relations)} recomputed: {component.reason}"


def late_rows(epochs: Sequence[EpochDone]) -> Iterator[str]:
    """A line for each table with late rows that an epoch left out, with examples."""
    for done in epochs:
        for late in done.report.late:
            yield f"{done.name}: left out {late.summary}"


def seconds(value: float) -> str:
    """A duration with three significant digits."""
    if value < 0.0995:
        return f"{value * 1000:.3g} ms"
    return f"{value:.2f} s" if value < 100 else f"{value:,.0f} s"


def _signed(changed: RowCounts | None) -> str:
    if changed is None:
        return "·"
    signs = [("+", changed.inserted), ("−", changed.deleted)]
    return " ".join(f"{sign}{count:,}" for sign, count in signs if count) or "·"


def _listed(changed: dict[str, RowCounts | None]) -> str:
    return "\n".join(f"{view} {_signed(change)}" for view, change in changed.items() if change) or "·"
