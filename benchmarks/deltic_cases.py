"""A case computed by Deltic: all of it, then small changes, with what they visited and took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from cases import BY_NAME, Case, Tables

import deltic

CHANGES = 5
CHANGED = 100


def measure(name: str, maintenance: deltic.Maintenance = deltic.Maintenance()) -> Iterator[dict[str, Any]]:
    """The bootstrap, the view's size and checksum, then changes: a few random rows are deleted, and come back."""
    case = BY_NAME[name]
    tables = case.generate()
    compute(case, {name: rows.slice(0, 10) for name, rows in tables.items()}, maintenance)  # load the compiled kernels
    pipeline, result = compute(case, tables, maintenance)
    yield result | {"loaded": sum(map(len, tables.values()))}
    yield {"rows": len(pipeline[case.view]), "checksum": checksum(pipeline[case.view].to_arrow())}
    for rows in changes(case, tables):
        for action in ("delete", "insert"):
            yield timed(pipeline, action, {case.changing: rows})


def compute(
    case: Case, tables: Tables, maintenance: deltic.Maintenance = deltic.Maintenance()
) -> tuple[deltic.Pipeline, dict[str, Any]]:
    """A pipeline with these rows, and what they took."""
    pipeline = deltic.Pipeline(engine="local", maintenance=maintenance)
    pipeline.datalog(case.text)
    return pipeline, timed(pipeline, "insert", tables)


def timed(pipeline: deltic.Pipeline, action: str, tables: Tables) -> dict[str, Any]:
    """One epoch: rows visited, seconds, and seconds of all processors."""
    started, before = time.perf_counter(), time.process_time()
    with pipeline.transaction() as change:
        for name, rows in tables.items():
            getattr(change, action)(name, rows)
    seconds, processor = time.perf_counter() - started, time.process_time() - before
    return {"visited": change.report.rows_visited, "seconds": seconds, "processor": processor}


def changes(case: Case, tables: Tables) -> Iterator[pa.Table]:
    """Random rows of the table that changes, for each change others."""
    rows = tables[case.changing]
    random = np.random.default_rng(1)
    for _ in range(CHANGES):
        yield rows.take(random.choice(len(rows), min(CHANGED, len(rows) // 2), replace=False))


def checksum(rows: pa.Table) -> int:
    """The sum of a hash of each row, modulo 2⁶⁴: the same in any order, and for integers of any width."""
    total = np.zeros(len(rows), np.uint64)
    for column in rows.itercolumns():
        values = column.to_numpy().astype(np.int64) if pa.types.is_integer(column.type) else column.to_numpy()
        total = total * np.uint64(0x9E3779B97F4A7C15) + pd.util.hash_array(values, categorize=False)
    return int((total ^ (total >> np.uint64(29))).sum(dtype=np.uint64))
