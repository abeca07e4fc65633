"""One epoch of a pipeline, measured."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

import deltic
from deltic.engine.result import ComponentReport


@dataclass(frozen=True)
class Epoch:
    """What one epoch took, the rows of the views that it changed, the rows that it visited, its recursions."""

    seconds: float
    changed: int
    visited: int
    components: tuple[ComponentReport, ...]


def epoch(pipeline: deltic.Pipeline, action: str, tables: Mapping[str, pa.Table]) -> Epoch:
    """Insert or delete the rows of these tables: `action` is "insert" or "delete"."""
    started = time.perf_counter()
    with pipeline.transaction() as change:
        for name, rows in tables.items():
            getattr(change, action)(name, rows)
    seconds = time.perf_counter() - started
    report = change.report
    changed = sum(c.inserted + c.deleted for c in report.changed.values())
    return Epoch(seconds, changed, report.rows_visited, report.components)
