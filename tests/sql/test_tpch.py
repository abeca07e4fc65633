"""TPC-H's 22 queries as maintained views, equal to DuckDB's answers in every epoch, and so are their changes.

What they are there to catch: joins of six tables written with commas, correlated subqueries over aggregates, subqueries
within subqueries, conditions under OR that hide an equality, decimals' scales and divisions, orders with LIMIT, and
groups of an outer join; through changes of orders with their line items and of every other table.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot

import deltic
from tests.sql.tpch_database import QUERIES, Database, of_orders, random_database

NAMES = [f"q{number:02}" for number in range(1, 23)]
TABLES = (QUERIES / "tables.sql").read_text()
ORDERS, EPOCHS = 160, 6
OTHERS = ("supplier", "customer", "part", "partsupp", "nation")
Rows = Counter[tuple[Any, ...]]


class History:
    """The contents of the tables after each epoch, and DuckDB with all of them: epoch 3 is its schema e3."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.whole = random_database(rng, ORDERS)
        self.states: list[Database] = [{name: [] for name in self.whole}, *_states(rng, self.whole)]
        self._duckdb = duckdb.connect(config={"threads": 1})
        self.schemas = _schemas()
        for epoch, state in enumerate(self.states):
            self._load(epoch, state)

    def _load(self, epoch: int, state: Database) -> None:
        self._duckdb.execute(f"CREATE SCHEMA e{epoch}; USE e{epoch}")
        for name, rows in state.items():
            self._duckdb.register("given", _arrow(rows, self.schemas[name]))
            self._duckdb.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            self._duckdb.unregister("given")

    def answer(self, query: str, epoch: int) -> list[tuple[Any, ...]]:
        """DuckDB's answer in an epoch."""
        self._duckdb.execute(f"USE e{epoch}")
        return self._duckdb.execute(sqlglot.transpile(query, read="spark", write="duckdb")[0]).fetchall()

    def change(self, epoch: int) -> Iterator[tuple[str, str, pa.Table]]:
        """What to delete and what to insert for an epoch: the action, the table, the rows."""
        before, after = self.states[epoch - 1], self.states[epoch]
        for name, schema in self.schemas.items():
            gone, come = (
                [row for row in rows if row not in others]
                for rows, others in ((before[name], set(after[name])), (after[name], set(before[name])))
            )
            if gone:
                yield "delete", name, _arrow(gone, schema)
            if come:
                yield "insert", name, _arrow(come, schema)


def _states(rng: random.Random, whole: Database) -> Iterator[Database]:
    """Half of the orders, then others in each epoch, and now and then other rows of the other tables."""
    state, keys = dict(whole), set(range(ORDERS // 2))
    for epoch in range(EPOCHS):
        if epoch:
            keys = keys - set(rng.sample(sorted(keys), 8)) | set(rng.sample(range(ORDERS), 12))
        if epoch % 2:
            state |= {name: rng.sample(whole[name], len(whole[name]) * 4 // 5) for name in OTHERS}
        yield state | {name: of_orders(whole[name], keys) for name in ("orders", "lineitem")}
    yield state | {"orders": [], "lineitem": []}


def _schemas() -> Mapping[str, pa.Schema]:
    pipeline = deltic.Pipeline(engine="local")
    pipeline.sql(TABLES)
    return {name: schema.to_arrow() for name, schema in pipeline.tables.items()}


def _arrow(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], names=schema.names)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def _differ(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
    """Whether two answers differ. Where DuckDB divides in floats, Deltic's decimal must be its rounding."""
    floats = {i for row in wanted for i, value in enumerate(row) if isinstance(value, float)}

    def exact(row: tuple[Any, ...]) -> str:
        return repr([value for i, value in enumerate(row) if i not in floats])

    pairs = list(zip(sorted(found, key=exact), sorted(wanted, key=exact), strict=False))
    return len(found) != len(wanted) or any(not _is(a, b) for x, y in pairs for a, b in zip(x, y, strict=True))


def _is(found: Any, wanted: Any) -> bool:
    if not isinstance(wanted, float) or not isinstance(found, Decimal):
        return bool(found == wanted)
    unit = 10.0 ** int(found.as_tuple().exponent)
    return abs(float(found) - wanted) <= unit * 0.5001 + abs(wanted) * 1e-12


@pytest.fixture(scope="module")
def history() -> History:
    return History(seed=12)


def _follow(names: list[str], history: History, **options: Any) -> None:
    """Maintain views through all epochs; each must equal DuckDB's answer, and the view before it with its change."""
    queries = {name: (QUERIES / f"{name}.sql").read_text() for name in names}
    pipeline = deltic.Pipeline(resources=deltic.Resources(threads=1), **options)
    pipeline.sql(TABLES + "".join(f"CREATE MATERIALIZED VIEW {n} AS {q};" for n, q in queries.items()))
    before, most = {name: Rows(_rows(pipeline[name].to_arrow())) for name in names}, Counter[str]()
    for epoch in range(1, len(history.states)):
        with pipeline.transaction() as change:
            for action, table, rows in history.change(epoch):
                getattr(change, action)(table, rows)
        for name, query in queries.items():
            found, wanted = _rows(pipeline[name].to_arrow()), history.answer(query, epoch)
            assert not _differ(found, wanted), f"{name} in epoch {epoch}: {found}, and DuckDB has {wanted}"
            for row, weight in change.of(name):
                before[name][row] += weight
            assert +before[name] == Rows(found), f"the changes of {name} in epoch {epoch} do not make the view"
            most[name] = max(most[name], sum(any(v is not None for v in row) for row in wanted))
    assert all(most.values()), f"no rows in any epoch, so that nothing is tested: {most}"


@pytest.mark.parametrize("name", NAMES)
def test_query(name, history):
    _follow([name], history)


@pytest.mark.slow
def test_all_queries_in_one_pipeline():
    _follow(NAMES, History(seed=23))


@pytest.mark.slow
def test_all_queries_on_shards():
    _follow(NAMES, History(seed=23), engine="spark", shards=3)
