"""What must have a value and has none rejects the epoch, and only where a row of the view has that fault.

Catches a fault of a row that a condition, a join or a deletion of the same epoch excludes; one that is passed over; a
rejected epoch that leaves a trace; a message that does not name view, expression and row.
"""

from __future__ import annotations

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit.reading import parse_circuit
from deltic.engine.engine import IncrementalEngine
from deltic.errors import EvaluationError
from tests.differential.compare import batches_of

TABLES = """
%0 = source t : zset{k: int64, x: int64?, y: int64?}
%1 = source u : zset{k: int64}
"""
QUOTIENT = (
    TABLES
    + """
%2 = map [k, CHECKED(x // y) AS q] (%0) : zset{k: int64, q: int64?}
%3 = sink v (%2) : zset{k: int64, q: int64?}
"""
)
GUARDED = (
    TABLES
    + """
%2 = filter [y <> 0] (%0) : zset{k: int64, x: int64?, y: int64?}
%3 = map [k, CHECKED(x // y) AS q] (%2) : zset{k: int64, q: int64?}
%4 = sink v (%3) : zset{k: int64, q: int64?}
"""
)
JOINED = (
    TABLES
    + """
%2 = join (%0, %1) : zset{k: int64, x: int64?, y: int64?}
%3 = filter [CHECKED(x // y) > 1] (%2) : zset{k: int64, x: int64?, y: int64?}
%4 = sink v (%3) : zset{k: int64, x: int64?, y: int64?}
"""
)


def engine_of(text: str) -> IncrementalEngine:
    return IncrementalEngine(parse_circuit(text.strip()))


def change(engine: IncrementalEngine, **rows: dict[tuple, int]) -> None:
    """One epoch of weighted rows of the tables."""
    engine.apply(batches_of(engine.circuit, {name: ZSet(found) for name, found in rows.items()}))


def contents(engine: IncrementalEngine) -> list[tuple]:
    return sorted(tuple(row.values()) for row in engine.read("v").to_pylist())


def test_a_fault_rejects_the_epoch_and_names_view_expression_and_row():
    engine = engine_of(QUOTIENT)
    change(engine, t={(1, 6, 3): 1, (2, None, 0): 1})
    with pytest.raises(EvaluationError) as error:
        change(engine, t={(1, 6, 3): -1, (3, 7, 0): 1})
    assert str(error.value).startswith("v: x // y is undefined for x = 7, y = 0: the divisor is zero")
    assert contents(engine) == [(1, 2), (2, None)]
    change(engine, t={(1, 6, 3): -1, (4, 8, 2): 1})
    assert contents(engine) == [(2, None), (4, 4)]


def test_a_row_that_a_condition_excludes_has_no_fault():
    engine = engine_of(GUARDED)
    change(engine, t={(1, 6, 3): 1, (2, 5, 0): 1, (3, 5, None): 1})
    change(engine, t={(1, 6, 3): -1, (2, 5, 0): -1})
    assert contents(engine) == []


def test_a_row_that_joins_nothing_has_no_fault():
    engine = engine_of(JOINED)
    change(engine, t={(1, 6, 3): 1, (2, 5, 0): 1}, u={(1,): 1})
    assert contents(engine) == [(1, 6, 3)]
    with pytest.raises(EvaluationError, match="x = 5, y = 0"):
        change(engine, u={(2,): 1})
    assert contents(engine) == [(1, 6, 3)]


def test_faults_of_changes_that_cancel_are_none():
    engine = engine_of(JOINED)
    change(engine, u={(2,): 1})
    change(engine, t={(2, 5, 0): 1}, u={(2,): -1})
    assert contents(engine) == []
    change(engine, t={(2, 5, 0): -1, (2, 5, 1): 1}, u={(2,): 2})
    assert contents(engine) == [(2, 5, 1), (2, 5, 1)]
