"""Tables that begin with rows when the circuit changes: each engine is as one that has had these rows all along.

Catches rows of the table of before beside the new ones, views that follow only one of the two, and rows that are spread
by the key of another column.
"""

from __future__ import annotations

import pytest

from deltic import Pipeline
from deltic.circuit.graph import Circuit
from deltic.engine.reference import from_arrow
from tests.conformance.engines import ENGINES, Driver

VIEWS = """
    CREATE VIEW summed AS SELECT k, count(*) AS n FROM t GROUP BY k;
    CREATE VIEW joined AS SELECT t.k, s.x FROM t JOIN s ON t.k = s.k;
    CREATE VIEW other AS SELECT DISTINCT x FROM s;
    CREATE VIEW paths AS WITH RECURSIVE p AS (SELECT k, v FROM t UNION SELECT p.k, t.v FROM p JOIN t ON p.v = t.k)
        SELECT * FROM p;
"""
BEFORE = "CREATE TABLE t (k INT, v INT); CREATE TABLE s (k INT, x INT);" + VIEWS
AFTER = {
    "a column more": ("CREATE TABLE t (w STRING, v INT, k INT); CREATE TABLE s (k INT, x INT);" + VIEWS, ("a", 1, 0)),
    "the same columns": (BEFORE, (0, 3)),
    "a set": (BEFORE.replace("v INT)", "v INT, PRIMARY KEY (k, v))"), (0, 3)),
}


def circuit(text: str) -> Circuit:
    pipeline = Pipeline()
    pipeline.sql(text)
    return pipeline.catalog.circuit


KINDS = [("a column more", kind) for kind in ENGINES if kind not in ("reference", "local, abandoned")]
KINDS += [(what, kind) for what in ("the same columns", "a set") for kind in ("local", "three shards")]


@pytest.mark.parametrize(("what", "kind"), KINDS)
def test_as_if_the_rows_had_always_been_there(what: str, kind: str) -> None:
    text, first = AFTER[what]
    then = circuit(text)
    drivers = [Driver.of_program(name, circuit(BEFORE)) for name in ("reference", kind)]
    whole = Driver.of_program("reference", then)
    rows = (
        [((*first[:-1], n % 5 + 1), 1) for n in range(5)]
        if len(first) == 2
        else [(("a", n, n % 3), 1) for n in range(7)]
    )
    others = [((n, n * n), 1) for n in range(4)]
    parts = []
    for driver in drivers:
        driver.apply({"t": [((n % 4, n % 3), 1) for n in range(12)], "s": others})
        driver.schemas = whole.schemas
        changes = driver.engine.extend(then, {"t": driver.batch("t", rows)}).changes
        parts.append({view: from_arrow(changes[view]) for view in changes})
        driver.circuit = then
    assert parts[0] == parts[1]
    whole.apply({"t": rows, "s": others})
    more = {"t": [(rows[0][0], -1), ((*rows[1][0][:-1], 9), 1)], "s": [((9, 9), 1)]}
    assert [driver.changes(more) for driver in drivers] == [whole.changes(more)] * 2
    for view in then.sinks:
        assert from_arrow(drivers[1].engine.read(view, counted=True)) == from_arrow(
            whole.engine.read(view, counted=True)
        )
