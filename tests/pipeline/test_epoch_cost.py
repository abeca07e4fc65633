"""An epoch costs what it reaches. This catches loops over all tables, views, domains or constants of a pipeline."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import deltic


def pipeline_with(others: int) -> deltic.Pipeline:
    """A pipeline of a table and a view, and of others that have nothing to do with them."""
    pipeline = deltic.Pipeline(engine="local")
    texts = [
        f"CREATE TABLE t{i} (id INT PRIMARY KEY, name STRING); CREATE MATERIALIZED VIEW v{i} AS "
        f"SELECT name, count(*) AS n FROM t{i} GROUP BY name UNION ALL VALUES ('x', {i})"
        for i in range(1 + others)
    ]
    pipeline.sql(";".join(texts))
    return pipeline


def instructions(pipeline: deltic.Pipeline, number: int) -> int:
    """How many instructions of Python's the insertion of a row takes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pipeline.transaction() as change:
            change.insert("t0", [(number, "a")])
    finally:
        sys.settrace(before)
    return count


def test_an_epoch_looks_at_nothing_that_it_does_not_reach() -> None:
    few, many = (min(instructions(p, number) for number in range(8)) for p in map(pipeline_with, (0, 12)))
    assert abs(many - few) < 150  # equal hashes of names cost a comparison here and there
