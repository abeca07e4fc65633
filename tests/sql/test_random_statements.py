"""Any text of SQL has an answer or a DelticError, and errors of texts have places.

Catches exceptions of sqlglot, Arrow, DuckDB and Python that come through, endless definitions, and half-done ones.

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
from tests.random_texts import fault_of, limited
from tests.sql.random_statements import TABLES, Statements

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
    statements = Statements(random.Random(seed))
    with warnings.catch_warnings(), deltic.Pipeline() as pipeline:
        warnings.simplefilter("ignore")
        for name, columns in TABLES.items():
            pipeline.sql(f"CREATE TABLE {name} ({columns})")
        for number in range(STATEMENTS):
            text = "; ".join(ROWS) if number == STATEMENTS // 2 else statements.text()
            try:
                with limited():
                    given = pipeline.sql(text)
                    if isinstance(given, deltic.Rows):
                        given.to_arrow()
            except Exception as error:  # noqa: BLE001  any is looked at
                if fault := fault_of(error):
                    yield f"seed {seed}: {text!r}\n{fault}"
                elif show:
                    sys.stdout.write(f"{text!r}\n{error}\n\n")


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
