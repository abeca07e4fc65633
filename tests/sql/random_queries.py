"""Random queries over random schemas, in the part of SQL that has one meaning in Spark and in DuckDB.

A query is a text in Spark's dialect. Arithmetic stays small, divisors are literals, orders are total: what is left is
what both engines must agree on, with NULLs and duplicates in every table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

COLUMN_TYPES = ("INT", "BIGINT", "STRING", "DECIMAL(6, 2)", "DATE", "BOOLEAN", "DOUBLE")
JOINS = ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


@dataclass(frozen=True)
class Column:
    """A column of a table or of a query."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True)
class Table:
    """A table of the schema."""

    name: str
    columns: tuple[Column, ...]


Schema = tuple[Table, ...]
# The columns in scope, each with the alias that qualifies it.
Scope = list[tuple[str, Column]]


def random_schema(rng: random.Random) -> Schema:
    """Three tables that share types, so that they can be joined."""
    return tuple(_table(rng, name) for name in ("r", "s", "t"))


def _table(rng: random.Random, name: str) -> Table:
    types = ["INT", *rng.choices(COLUMN_TYPES, k=rng.randint(1, 3))]
    columns = (Column(f"{name}{i}", type_, rng.random() < 0.8) for i, type_ in enumerate(types))
    return Table(name, tuple(columns))


class QueryMaker:
    """Makes queries over a schema; `size` bounds how deep they are nested."""

    def __init__(self, rng: random.Random, schema: Schema, size: int = 2) -> None:
        self.rng, self.schema, self.size = rng, schema, size
        self._aliases = 0

    def query(self) -> str:
        """A query whose columns have names of their own."""
        return self._query(self.size, [])[0]

    # Queries: their text and the types of their columns, c0, c1, …

    def _query(self, size: int, outer: Scope, types: Sequence[str] | None = None) -> tuple[str, list[str]]:
        if size and types is None and self.rng.random() < 0.15:
            return self._operation(size, outer)
        makers = [self._plain, self._plain, self._grouped]
        text, found = self.rng.choice(makers)(size, outer, types)
        if not outer and self.rng.random() < 0.1:
            keys = ", ".join(
                f"c{i}{self.rng.choice(['', ' DESC'])} NULLS {self.rng.choice(['FIRST', 'LAST'])}"
                for i in range(len(found))
            )
            return f"SELECT * FROM ({text}) ORDER BY {keys} LIMIT {self.rng.randint(0, 5)}", found
        return text, found

    def _operation(self, size: int, outer: Scope) -> tuple[str, list[str]]:
        left, types = self._query(size - 1, outer)
        right, _ = self._query(size - 1, outer, types)
        operator = self.rng.choice(["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"])
        return f"({left}) {operator} ({right})", types

    def _plain(self, size: int, outer: Scope, types: Sequence[str] | None) -> tuple[str, list[str]]:
        source, scope = self._from(size)
        around = scope + outer
        if types is None:
            types = [self.rng.choice(scope)[1].type for _ in range(self.rng.randint(1, 3))]
        shown = [self._value(type_, scope, size, around) for type_ in types]
        selected = ", ".join(f"{value} AS c{i}" for i, value in enumerate(shown))
        distinct = "DISTINCT " if self.rng.random() < 0.2 else ""
        return f"SELECT {distinct}{selected} FROM {source}{self._where(scope, size, outer)}", list(types)

    def _grouped(self, size: int, outer: Scope, types: Sequence[str] | None) -> tuple[str, list[str]]:
        source, scope = self._from(size)
        keys = [self._column(scope) for _ in range(self.rng.randint(0, 2))]
        keys = list({alias + "." + c.name: (alias, c) for alias, c in keys}.values())
        grouped: Scope = [(alias, c) for alias, c in keys]
        if types is None:
            choices = ["BIGINT", *(c.type for _, c in scope if c.type != "BOOLEAN")]
            types = [self.rng.choice(choices) for _ in range(self.rng.randint(1, 3))]
        shown = [self._aggregate(type_, grouped, scope) for type_ in types]
        selected = ", ".join(f"{value} AS c{i}" for i, value in enumerate(shown))
        group = f" GROUP BY {', '.join(f'{alias}.{c.name}' for alias, c in keys)}" if keys else ""
        having = f" HAVING {self._aggregate('BIGINT', grouped, scope)} > 1" if keys and self.rng.random() < 0.3 else ""
        return f"SELECT {selected} FROM {source}{self._where(scope, size, outer)}{group}{having}", list(types)

    def _aggregate(self, type_: str, grouped: Scope, scope: Scope) -> str:
        same = [f"{alias}.{c.name}" for alias, c in grouped if c.type == type_]
        if same and self.rng.random() < 0.5:
            return self.rng.choice(same)
        alias, column = self._column(scope)
        if type_ == "BIGINT":
            some = f"{alias}.{column.name}"
            condition = f" FILTER (WHERE {self._comparison(scope)})" if self.rng.random() < 0.2 else ""
            options = ["count(*)" + condition, f"count({some})" + condition, f"count(DISTINCT {some})"]
            whole = [f"{a}.{c.name}" for a, c in scope if c.type in ("INT", "BIGINT")]
            options += [f"sum({n})" for n in whole] + [f"sum(DISTINCT {n})" for n in whole]
            return self.rng.choice(options)
        found = [f"{a}.{c.name}" for a, c in scope if c.type == type_]
        value = self.rng.choice(found) if found and type_ != "BOOLEAN" else None
        return f"{self.rng.choice(['min', 'max'])}({value})" if value else self._literal(type_)

    def _from(self, size: int) -> tuple[str, Scope]:
        text, scope = self._relation(size)
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            other, columns = self._relation(size)
            kind = self.rng.choice(
                ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
            )
            text += f" {kind} {other} ON {self._join_condition(scope, columns)}"
            if "SEMI" not in kind and "ANTI" not in kind:
                scope = scope + columns
        return text, scope

    def _relation(self, size: int) -> tuple[str, Scope]:
        self._aliases += 1
        alias = f"q{self._aliases}"
        if size and self.rng.random() < 0.15:
            text, types = self._query(size - 1, [])
            return f"({text}) AS {alias}", [(alias, Column(f"c{i}", type_)) for i, type_ in enumerate(types)]
        table = self.rng.choice(self.schema)
        return f"{table.name} AS {alias}", [(alias, column) for column in table.columns]

    def _join_condition(self, left: Scope, right: Scope) -> str:
        pairs = [(a, b) for a in left for b in right if a[1].type == b[1].type]
        if not pairs:
            return f"{self._comparison(left)} AND {self._comparison(right)}"
        parts = []
        for (a, x), (b, y) in self.rng.choices(pairs, k=self.rng.choice([1, 1, 1, 2])):
            operator = self.rng.choice(["=", "=", "=", "<=>", "<", ">="])
            parts.append(f"{a}.{x.name} {operator} {b}.{y.name}")
        if self.rng.random() < 0.2:
            parts.append(self._comparison(self.rng.choice([left, right, left + right])))
        return " AND ".join(parts)

    def _where(self, scope: Scope, size: int, outer: Scope) -> str:
        parts = [self._condition(scope, size, outer) for _ in range(self.rng.choice([0, 0, 1, 1, 1, 2]))]
        if outer and (linked := self._link(scope, outer)):
            parts.append(linked)
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _link(self, scope: Scope, outer: Scope) -> str:
        """A condition that correlates a subquery."""
        pairs = [(a, b) for a in scope for b in outer if a[1].type == b[1].type]
        if not pairs or self.rng.random() < 0.3:
            return ""
        (a, x), (b, y) = self.rng.choice(pairs)
        return f"{a}.{x.name} {self.rng.choice(['=', '=', '=', '<', '<>'])} {b}.{y.name}"

    # Conditions

    def _condition(self, scope: Scope, size: int, outer: Scope) -> str:
        choice = self.rng.random()
        if choice < 0.12:
            joined = self.rng.choice([" OR ", " AND "]).join(self._condition(scope, 0, []) for _ in range(2))
            return f"({joined})" if self.rng.random() < 0.7 else f"NOT ({joined})"
        if size and choice < 0.26:
            body = self._query(size - 1, scope + outer, ["INT"])[0]
            return f"{self.rng.choice(['', 'NOT '])}EXISTS ({body})"
        if size and choice < 0.44:
            membership = self._membership(scope, size, outer)
            return membership if self.rng.random() < 0.7 else f"({membership} OR {self._comparison(scope)})"
        if size and choice < 0.56:
            value = self._scalar_subquery("BIGINT", scope + outer, size)
            numbers = [f"{a}.{c.name}" for a, c in scope if c.type in ("INT", "BIGINT")] or ["1"]
            return f"{self.rng.choice(numbers)} {self.rng.choice(['<', '>=', '='])} {value}"
        return self._comparison(scope)

    def _membership(self, scope: Scope, size: int, outer: Scope) -> str:
        """IN of a subquery, of one column or, without correlation, of two; or a comparison with its rows."""
        choice = self.rng.random()
        negation = self.rng.choice(["", "NOT "])
        if choice < 0.2:
            columns = [self._column(scope) for _ in range(2)]
            body = self._query(size - 1, [], [c.type for _, c in columns])[0]
            return f"({', '.join(f'{a}.{c.name}' for a, c in columns)}) {negation}IN ({body})"
        alias, column = self._column(scope)
        body = self._query(size - 1, scope + outer, [column.type])[0]
        if choice < 0.5:
            operator = self.rng.choice(["=", "<>", "<", "<=", ">", ">="])
            return f"{negation}({alias}.{column.name} {operator} {self.rng.choice(['ANY', 'ALL'])} ({body}))"
        return f"{alias}.{column.name} {negation}IN ({body})"

    def _comparison(self, scope: Scope) -> str:
        alias, column = self._column(scope)
        value = f"{alias}.{column.name}"
        if self.rng.random() < 0.15:
            return f"{value} IS {self.rng.choice(['', 'NOT '])}NULL"
        if self.rng.random() < 0.15:
            options = ", ".join(self._literal(column.type) for _ in range(2))
            return f"{value} {self.rng.choice(['', 'NOT '])}IN ({options})"
        others = [f"{a}.{c.name}" for a, c in scope if c.type == column.type and c is not column]
        right = self.rng.choice([*others, self._literal(column.type)])
        operators = ["=", "<>", "<=>"] if column.type == "BOOLEAN" else ["=", "<>", "<>", "<", "<=", ">", ">=", "<=>"]
        return f"{value} {self.rng.choice(operators)} {right}"

    # Values

    def _column(self, scope: Scope) -> tuple[str, Column]:
        return self.rng.choice(scope)

    def _value(self, type_: str, scope: Scope, size: int, around: Scope) -> str:
        """An expression of this type; correlated subqueries see `around`."""
        found = [f"{a}.{c.name}" for a, c in scope if c.type == type_]
        simple: list[Callable[[], str]] = [lambda: self.rng.choice(found or [self._literal(type_)])] * 6
        simple.append(lambda: self._literal(type_))
        if found:
            simple.append(lambda: f"coalesce({self.rng.choice(found)}, {self._literal(type_)})")
            simple.append(lambda: self._case(type_, found, scope))
        if found and type_ in ("INT", "BIGINT"):
            simple.append(lambda: f"{self.rng.choice(found)} {self.rng.choice('+-*')} {self.rng.choice(found)}")
            simple.append(lambda: f"{self.rng.choice(found)} % 3")
        if size and type_ == "BIGINT":
            simple.append(lambda: self._scalar_subquery(type_, around, size))
        return self.rng.choice(simple)()

    def _case(self, type_: str, found: Sequence[str], scope: Scope) -> str:
        end = self.rng.choice(["", f" ELSE {self._literal(type_)}"])
        return f"CASE WHEN {self._comparison(scope)} THEN {self.rng.choice(found)}{end} END"

    def _scalar_subquery(self, type_: str, outer: Scope, size: int) -> str:
        source, scope = self._from(size - 1)
        return f"(SELECT {self._aggregate(type_, [], scope)} FROM {source}{self._where(scope, size - 1, outer)})"

    def _literal(self, type_: str) -> str:
        if type_ == "INT":
            return str(self.rng.randint(0, 3))
        if type_ == "BIGINT":
            return f"CAST({self.rng.randint(0, 3)} AS BIGINT)"
        if type_ == "STRING":
            return self.rng.choice(["''", "'a'", "'ab'", "'ä'"])
        if type_ == "DATE":
            return f"DATE '2024-01-0{self.rng.randint(1, 3)}'"
        if type_ == "BOOLEAN":
            return self.rng.choice(["TRUE", "FALSE"])
        return f"CAST({self.rng.choice(['0.5', '1.25', '2', '-1'])} AS {type_})"
