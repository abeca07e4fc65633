"""Random SQL queries: every row is explained, and follows from its lineage alone.

This catches an operator that drops a source of its rows, a join whose columns meet those of a table beside them, and
copies that are counted as rows.
"""

from __future__ import annotations

import random
from collections import Counter as Bag

import pytest

from deltic import Pipeline
from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline
from deltic.circuit.oracle.interpreter import run
from deltic.why.lineage import lineage
from tests.batches import first
from tests.sql.against_duckdb import arrow_table, random_change
from tests.sql.random_queries import QueryMaker, Schema, random_schema
from tests.why.checker import Checker
from tests.why.test_random import contents

PER_BATCH = 25
MOST = 6


def pipeline_of(schema: Schema, query: str, rng: random.Random) -> Pipeline:
    made = Pipeline()
    for table in schema:
        columns = ", ".join(f"{c.name} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in table.columns)
        made.sql(f"CREATE TABLE {table.name} ({columns})")
    made.sql(f"CREATE VIEW v AS {query}")
    with made.transaction() as change:
        for table in schema:
            rows = random_change(rng, table.columns, Bag())
            for copies in (rows, Bag({row: count for row, count in rows.items() if count > 1})):
                change.insert(table.name, arrow_table(table.columns, copies, "n").drop_columns("n"))
    return made


def check(seed: int) -> int:
    """Check some rows of a random query's view; how many.

    The lineage of the whole view costs an engine of its own, so a fifth of the views have it checked.
    """
    rng = random.Random(seed)
    schema = random_schema(rng)
    query = QueryMaker(rng, schema, 1).query()
    made = pipeline_of(schema, query, rng)
    tables, circuit = contents(made), made.catalog.circuit_of("v")
    checker = Checker(made.catalog, tables)
    rows = sorted((row for row, weight in checker.whole["v"] if weight > 0), key=repr)[:MOST]
    search, names = made._reasons()._search, made.views["v"].names
    single = set()
    for row in rows:
        explanation = search.why("v", row)
        checker.check(explanation)
        origins = {*lineage(search, "v", dict(zip(names, row, strict=True)))}
        assert {result for result, _, _ in origins} <= {row}
        given = {(table, leaf) for _, table, leaf in origins}
        if groups_rest_on_absences(circuit):
            given |= {*explanation.leaves()}
        kept = {t: ZSet((leaf, tables[t].weight(leaf)) for name, leaf in given if name == t) for t in tables}
        assert run(circuit, kept)["v"].weight(row) > 0, f"{row} does not follow from {given}"
        single |= origins
    if not seed % 5:
        assert single == {origin for origin in lineage(search, "v", {}) if origin[0] in rows}
    return len(rows)


def groups_rest_on_absences(circuit: Circuit) -> bool:
    """Whether an aggregate or top-k has an antijoin below it: its lineage has no rows that exclude others."""
    inlined = inline(circuit)
    groups = [
        i for i, node in enumerate(inlined.nodes) if isinstance(node.operator, ops.Aggregate | ops.Top | ops.Over)
    ]
    return any(isinstance(inlined.nodes[i].operator, ops.Antijoin) for i in inlined.ancestors(groups))


@pytest.mark.parametrize("batch", first(1, 24))
def test_random_queries_are_explained_and_follow_from_their_lineage(batch):
    done = 0
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        try:
            done += check(seed)
        except Exception as error:
            rng = random.Random(seed)
            error.add_note(f"seed {seed}: {QueryMaker(rng, random_schema(rng), 1).query()}")
            raise
    assert done > 20
