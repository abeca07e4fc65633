"""Any text of SQL has the reference engine's answer or a DelticError, and errors of texts have places.

Catches exceptions of sqlglot, Arrow, DuckDB and Python that come through, endless definitions, half-done ones, and
rows that differ from those of the papers' definitions.

Run 10,000 statements, those of 400 seeds, with ``python -m tests.sql.test_random_statements 0 400``; with ``--show`` it
prints the errors that users read.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Iterator

import pytest

import deltic
from deltic.errors import EvaluationError
from tests.random_texts import fault_of, limited
from tests.sql.random_statements import TABLES, Statements

NOW = "2026-03-01T12:30:00Z"
STATEMENTS = 25
"""Statements of a seed, over one pipeline."""
ROWS = (
    "INSERT INTO t VALUES (1, 2, 'x', 0.5, 1.25, DATE '2024-01-31', TIMESTAMP '2024-01-01 10:00:00', TRUE), "
    "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (2, -7, '', DOUBLE('NaN'), 0, DATE '1969-12-31', NULL, FALSE)",
    "INSERT INTO u VALUES (1, array(1, NULL), map('k', 1), named_struct('p', 1, 'q', 'z'), X'00FF'), "
    "(2, array(), NULL, NULL, NULL)",
)


def faults_of(seed: int, show: bool = False) -> Iterator[str]:
    """What is wrong with what the statements of a seed give."""
    with warnings.catch_warnings(), _pipeline("local") as pipeline, _pipeline("reference") as reference:
        warnings.simplefilter("ignore")
        for text in _texts(seed):
            given, expected = _answer(pipeline, text), _answer(reference, text)
            if isinstance(given, Exception):
                if fault := fault_of(given):
                    yield f"seed {seed}: {text!r}\n{fault}"
                elif show:
                    sys.stdout.write(f"{text!r}\n{given}\n\n")
            elif isinstance(expected, EvaluationError):
                return  # it computes values that nothing needs: these rows are not in its tables
            elif given != expected and not text.startswith("EXPLAIN"):  # whose text says how an engine goes about it
                yield f"seed {seed}: {text!r}\ngiven {given}\nby the reference {expected}"


def _texts(seed: int) -> Iterator[str]:
    """The statements of a seed; halfway rows come in, each table's by a statement of its own, which may fail alone."""
    statements = Statements(random.Random(seed))
    for number in range(STATEMENTS):
        yield from ROWS if number == STATEMENTS // 2 else [statements.text()]


def _pipeline(engine: str) -> deltic.Pipeline:
    pipeline = deltic.Pipeline(engine=engine, transactions=deltic.Transactions(now=NOW))
    for name, columns in TABLES.items():
        pipeline.sql(f"CREATE TABLE {name} ({columns})")
    return pipeline


def _answer(pipeline: deltic.Pipeline, text: str) -> list[str] | Exception:
    """The rows that a statement and the views have after it, in any order; or its error."""
    try:
        with limited():
            given = pipeline.sql(text)
            shown = [given] if isinstance(given, deltic.Rows) else []
            shown += [pipeline[view] for view in pipeline.views]
            return [row for rows in shown for row in sorted(map(str, rows.to_arrow().to_pylist()))]
    except Exception as error:  # noqa: BLE001  any is looked at
        return error


def check_seeds(seeds: range) -> None:
    """Fail with all that is wrong."""
    if found := [fault for seed in seeds for fault in faults_of(seed)]:
        pytest.fail("\n\n".join(found[:5]), pytrace=False)


def test_random_statements(record_property):
    record_property("random statements", 6 * STATEMENTS)
    check_seeds(range(6))


@pytest.mark.slow
def test_many_random_statements(record_property):
    record_property("random statements", 80 * STATEMENTS)
    check_seeds(range(1000, 1080))


if __name__ == "__main__":
    show = "--show" in sys.argv
    first, last = map(int, [argument for argument in sys.argv[1:] if argument != "--show"])
    for seed in range(first, last):
        for fault in faults_of(seed, show):
            sys.stdout.write(f"{fault}\n")
            sys.stdout.flush()
