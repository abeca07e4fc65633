"""Random queries in forms of Spark's SQL that DuckDB has not, or has in other words: each with its text for DuckDB.

WITH and aggregates of the rows around in correlated subqueries, WITHIN GROUP over windows, GROUPING SETS, pipes,
functions over elements, fields of structs, PIVOT and UNPIVOT. Tables and conditions are those of `random_queries`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.sql.random_queries import Column, Schema, Table

NUMBERS = ("INT", "BIGINT")


@dataclass(frozen=True)
class Form:
    """A query for Deltic, and the same for DuckDB."""

    spark: str
    duckdb: str

    @classmethod
    def same(cls, text: str) -> Form:
        """What both have in the same words."""
        return cls(text, text)


class Forms:
    """Makes queries over a schema, whose first columns are all INT."""

    def __init__(self, rng: random.Random, schema: Schema) -> None:
        self._rng, self._schema = rng, schema

    def form(self) -> Form:
        """A query in one of the forms."""
        makers: list[Callable[[], Form]] = [
            *(self._correlated_with, self._having_exists, self._within_group, self._grouping_sets, self._aggregated),
            *(self._extended, self._mapped, self._fields, self._pivoted, self._unpivoted),
        ]
        return self._rng.choice(makers)()

    # Parts

    def _table(self) -> Table:
        return self._rng.choice(self._schema)

    def _number(self, table: Table) -> Column:
        return self._rng.choice([column for column in table.columns if column.type in NUMBERS])

    def _column(self, table: Table) -> Column:
        return self._rng.choice(table.columns)

    def _test(self, table: Table, alias: str = "q") -> str:
        number = f"{alias}.{self._number(table).name}"
        return self._rng.choice(
            [f"{number} {self._rng.choice(['<', '>=', '=', '<>'])} {self._rng.randint(0, 3)}", f"{number} IS NULL"]
        )

    def _where(self, table: Table) -> str:
        return f" WHERE {self._test(table)}" if self._rng.random() < 0.5 else ""

    # Forms

    def _correlated_with(self) -> Form:
        outer, inner = self._table(), self._table()
        link = f"o.{self._number(outer).name} {self._rng.choice(['=', '<', '<>'])} q.{self._number(inner).name}"
        body = f"WITH w AS (SELECT q.{self._number(inner).name} AS x FROM {inner.name} AS q WHERE {link})"
        shown = f"o.{self._column(outer).name} AS c0"
        if self._rng.random() < 0.5:
            negation = self._rng.choice(["", "NOT "])
            return Form.same(f"SELECT {shown} FROM {outer.name} AS o WHERE {negation}EXISTS ({body} SELECT 1 FROM w)")
        value = self._rng.choice(["count(*)", "sum(x)", "max(x)"])
        return Form.same(f"SELECT {shown}, ({body} SELECT {value} FROM w) AS c1 FROM {outer.name} AS o")

    def _having_exists(self) -> Form:
        table, other = self._table(), self._table()
        key, number = self._column(table).name, self._number(table).name
        aggregate = self._rng.choice(["sum", "count", "max", "min"])
        link = f"z.{self._number(other).name} {self._rng.choice(['=', '<', '>='])} "
        exists = f"{self._rng.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM {other.name} AS z WHERE {link}"
        source = f"FROM {table.name} AS q{self._where(table)} GROUP BY q.{key}"
        spark = f"SELECT q.{key} AS c0, count(*) AS c1 {source} HAVING {exists}{aggregate}(q.{number}))"
        groups = f"SELECT q.{key} AS c0, count(*) AS c1, {aggregate}(q.{number}) AS h {source}"
        return Form(spark, f"SELECT c0, c1 FROM ({groups}) AS g WHERE {exists}g.h)")

    def _within_group(self) -> Form:
        table = self._table()
        number, key = self._number(table).name, self._column(table).name
        part, kind = self._rng.choice(["0", "0.25", "0.5", "1"]), self._rng.choice(["cont", "disc"])
        window = f"OVER (PARTITION BY q.{key})"
        spark = f"percentile_{kind}({part}) WITHIN GROUP (ORDER BY q.{number}) {window}"
        duckdb = f"quantile_{kind}(q.{number}, {part}) {window}"
        source = f"FROM {table.name} AS q{self._where(table)}"
        return Form(f"SELECT q.{key} AS c0, {spark} AS c1 {source}", f"SELECT q.{key} AS c0, {duckdb} AS c1 {source}")

    def _grouping_sets(self) -> Form:
        """Spark has no row of the empty set where there are no rows."""
        table = self._table()
        one = f"q.{self._column(table).name}"
        other, number = (f"q.{self._number(table).name}" for _ in range(2))
        sets = self._rng.choice(
            [
                f"GROUPING SETS (({one}, {other}), ({one}), ())",
                f"GROUPING SETS (({other}), ({one}, {other}))",
                f"ROLLUP ({one}, {other})",
                f"CUBE ({one}, {other})",
            ]
        )
        source = f"FROM {table.name} AS q{self._where(table)}"
        text = f"SELECT {one} AS c0, {other} AS c1, sum({number}) AS c2, count(*) AS c3 {source} GROUP BY {sets}"
        return Form(text, f"SELECT * FROM ({text}) AS g WHERE EXISTS (SELECT 1 {source})")

    def _aggregated(self) -> Form:
        table = self._table()
        key, number, test = self._column(table).name, self._number(table).name, self._test(table)
        source, shown = f"FROM {table.name} AS q", f"count(*) AS n, sum(q.{number}) AS s"
        spark = f"{source} |> WHERE {test} |> AGGREGATE {shown} GROUP BY q.{key} AS k"
        duckdb = f"SELECT q.{key} AS k, {shown} {source} WHERE {test} GROUP BY q.{key}"
        if self._rng.random() < 0.5:
            return Form(spark, duckdb)
        return Form(f"{spark} |> WHERE n > 1 |> SELECT k, s", f"SELECT k, s FROM ({duckdb}) AS g WHERE n > 1")

    def _extended(self) -> Form:
        table = self._table()
        number = self._number(table).name
        others = [c.name for c in table.columns if c.name != number]
        spark = f"FROM {table.name} |> EXTEND {number} + 1 AS e |> SET {number} = e * 2 |> DROP {', '.join(others)}"
        duckdb = f"SELECT ({number} + 1) * 2 AS {number}, {number} + 1 AS e FROM {table.name}"
        return Form(spark, duckdb)

    def _mapped(self) -> Form:
        table = self._table()
        one, other = (f"q.{self._number(table).name}" for _ in range(2))
        n, source = self._rng.randint(0, 3), f"FROM {table.name} AS q{self._where(table)}"
        spark = (
            f"SELECT transform(array({one}, {other}, {n}), x -> x + {n}) AS c0, "
            f"size(filter(array({one}, {other}), (x, i) -> x >= {n} AND i >= 0)) AS c1, "
            f"aggregate(array({one}, {other}), 0L, (a, x) -> a + coalesce(x, {n})) AS c2 {source}"
        )
        duckdb = (
            f"SELECT list_transform([{one}, {other}, {n}], lambda x: x + {n}) AS c0, "
            f"len(list_filter([{one}, {other}], lambda x: x >= {n})) AS c1, "
            f"coalesce({one}, {n}) + coalesce({other}, {n}) AS c2 {source}"
        )
        return Form(spark, duckdb)

    def _fields(self) -> Form:
        table = self._table()
        one, other = f"q.{self._number(table).name}", f"q.{self._column(table).name}"
        source = f"FROM {table.name} AS q{self._where(table)}"
        n = self._rng.randint(0, 3)
        rest = f"FROM (SELECT {{}} AS s {source}) AS r WHERE r.s.p <> {n} GROUP BY r.s.o"
        text = f"SELECT r.s.o AS c0, sum(r.s.p) AS c1 {rest}"
        return Form(text.format(f"struct({one} AS p, {other} AS o)"), text.format(f"{{'p': {one}, 'o': {other}}}"))

    def _pivoted(self) -> Form:
        """A count is NULL in Spark where the group has no row of the value."""
        table = self._table()
        key, by, number = self._column(table).name, self._number(table).name, self._number(table).name
        rows = f"SELECT q.{key} AS k, q.{by} AS p, q.{number} AS v FROM {table.name} AS q{self._where(table)}"
        spark = f"SELECT * FROM ({rows}) PIVOT (sum(v) AS s, count(*) AS n FOR p IN (0 AS z, 2 AS t))"
        parts = [
            f"sum(v) FILTER (p = {n}) AS {name}_s, nullif(count(*) FILTER (p = {n}), 0) AS {name}_n"
            for n, name in ((0, "z"), (2, "t"))
        ]
        return Form(spark, f"SELECT k, {', '.join(parts)} FROM ({rows}) AS r GROUP BY k")

    def _unpivoted(self) -> Form:
        table = self._table()
        one, other = self._number(table).name, self._number(table).name
        rows = f"SELECT q.{self._column(table).name} AS k, q.{one} AS a, q.{other} AS b FROM {table.name} AS q"
        nulls = self._rng.choice(["", "INCLUDE NULLS "])
        spark = f"SELECT * FROM ({rows}) UNPIVOT {nulls}((v) FOR m IN ((a) AS x, (b) AS y))"
        union = " UNION ALL ".join(
            f"SELECT k, '{m}' AS m, {c} AS v FROM ({rows}) AS r" for m, c in (("x", "a"), ("y", "b"))
        )
        return Form(spark, union if nulls else f"SELECT * FROM ({union}) AS u WHERE v IS NOT NULL")
