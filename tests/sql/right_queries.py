"""Random queries whose types go together: functions, clauses and subqueries of many kinds over the tables `TABLES`.

Nearly all are right. Values of rows stay small, so that few are errors of rows; NULL is everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from tests.sql.random_queries import Column, Table

TABLES = (
    Table(
        "t",
        (
            Column("a", "INT"),
            Column("b", "BIGINT"),
            Column("s", "STRING"),
            Column("x", "DECIMAL(6, 2)"),
            Column("d", "DOUBLE"),
            Column("day", "DATE"),
            Column("ok", "BOOLEAN"),
        ),
    ),
    Table("u", (Column("k", "INT"), Column("w", "STRING"), Column("m", "INT", False))),
)
COLUMNS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "t": {"int": ("t.a",), "number": ("t.b", "t.x"), "text": ("t.s",), "day": ("t.day",), "truth": ("t.ok",)},
    "u": {"int": ("u.k", "u.m"), "text": ("u.w",)},
}
LITERALS: Mapping[str, Sequence[str]] = {
    "int": ("0", "1", "2", "-3", "CAST(NULL AS INT)"),
    "number": ("1.50", "0.25", "7", "2e0", "-1.5"),
    "text": ("'a'", "'b,c'", "''", "' Ab '", "'12'", "CAST(NULL AS STRING)"),
    "day": ("DATE '2024-02-29'", "DATE '1999-12-31'", "CAST(NULL AS DATE)"),
    "truth": ("TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"),
    "list": ("array(1, NULL, 3)", "array(2)", "CAST(array() AS ARRAY<INT>)"),
    "map": ("map('a', 1, 'b', NULL)", "map('z', 9)"),
    "struct": ("named_struct('p', 1, 'q', 'z')",),
}
FORMS: Mapping[str, Sequence[str]] = {
    "int": (
        *("length({text})", "abs({int} % 7)", "size({list})", "year({day})", "month({day})", "datediff({day}, {day})"),
        *("({int} % 5 + {int} % 5)", "({int} % 9 - 1)", "CASE WHEN {truth} THEN {int} ELSE {int} END", "ascii({text})"),
        *("coalesce({int}, {int})", "nullif({int}, {int})", "if({truth}, {int}, {int})", "greatest({int}, {int})"),
        *("element_at({map}, {text})", "try_element_at({list}, 1)", "{struct}.p", "locate({text}, {text})"),
        *("aggregate({list}, 0, (v, e) -> v + coalesce(e % 9, 0))", "array_max({list})", "dayofweek({day})"),
        *("TRY_CAST({text} AS INT)", "levenshtein({text}, {text})", "instr({text}, 'b')", "bit_count({int})"),
        *("sign({int}) :: INT", "extract(DAY FROM {day})", "find_in_set({text}, 'a,12,b')", "hash({text}) % 100"),
        *("try_add({int}, {int})", "pmod({int}, 5)", "({int} & 7)", "shiftleft({int} % 9, 2)", "cardinality({map})"),
    ),
    "number": (
        *("try_divide({number}, {number})", "round({number}, 1)", "floor({number})", "ceil({int})", "({int} / 4)"),
        *("coalesce({number}, {int})", "abs({number})", "({int} * 0.5)", "sqrt(abs({int}))", "CAST({int} AS DOUBLE)"),
        *("CASE {int} WHEN 1 THEN {number} ELSE 0 END", "try_subtract({number}, {int})", "power({int} % 5, 2)"),
    ),
    "text": (
        *("upper({text})", "concat({text}, {text})", "{text} || {int}", "substring({text}, {int} % 4, 2)"),
        *("trim({text})", "coalesce({text}, 'n')", "CAST({int} AS STRING)", "CAST({day} AS STRING)", "reverse({text})"),
        *("lpad({text}, 4, '*')", "replace({text}, 'a', 'bb')", "date_format({day}, 'yyyy-MM')", "left({text}, 2)"),
        *(
            "concat_ws('-', {text}, {text})",
            "array_join(split({text}, ','), '+')",
            "to_json({struct})",
            "typeof({int})",
        ),
        *("regexp_replace({text}, '[a-c]', 'X')", "initcap({text})", "{struct}.q", "translate({text}, 'ab', 'x')"),
        *(
            "CASE WHEN {truth} THEN {text} END",
            "md5({text})",
            "hex({int})",
            "repeat({text}, 2)",
            "split_part({text}, ',', 1)",
        ),
    ),
    "day": (
        *("date_add({day}, {int} % 99)", "{day} + INTERVAL 2 DAY", "last_day({day})", "trunc({day}, 'MM')"),
        *("add_months({day}, {int} % 99)", "coalesce({day}, {day})", "TRY_CAST({text} AS DATE)", "{day} - 3"),
    ),
    "truth": (
        *("{int} = {int}", "{int} < {number}", "{text} <> {text}", "{day} >= {day}", "{int} <=> {int}", "NOT {truth}"),
        *(
            "({truth} AND {truth})",
            "({truth} OR {truth})",
            "{int} IS NULL",
            "{text} IN ({text}, 'a')",
            "({truth}) IS TRUE",
        ),
        *("{int} BETWEEN {int} AND {int}", "{text} LIKE '%a%'", "array_contains({list}, 1)", "{text} RLIKE '[a-b]'"),
        *("exists({list}, e -> e > 1)", "startswith({text}, 'a')", "{int} IN (SELECT m FROM u WHERE m > 0)"),
        *("EXISTS (SELECT 1 FROM u AS o WHERE o.k = {int})", "map_contains_key({map}, 'a')", "isnotnull({day})"),
    ),
    "list": (
        *("array({int}, {int})", "transform({list}, e -> e % 9 + 1)", "filter({list}, e -> e IS NOT NULL)"),
        *("sort_array({list})", "array_distinct({list})", "array_append({list}, {int})", "slice({list}, 1, 2)"),
    ),
    "map": ("map('k', {int})", "map_filter({map}, (k, v) -> v IS NOT NULL)"),
    "struct": ("named_struct('p', {int}, 'q', {text})",),
}
"""Values of each kind, made of others."""
AGGREGATES = (
    *(
        "count(*)",
        "count({int})",
        "sum({int} % 99)",
        "min({text})",
        "max({day})",
        "avg({int} % 99)",
        "count(DISTINCT {text})",
    ),
    *(
        "sum({int} % 9) FILTER (WHERE {truth})",
        "bool_or({truth})",
        "max({number})",
        "count_if({truth})",
        "bit_xor({int})",
    ),
    *(
        "sort_array(collect_list({int} % 9))",
        "sort_array(collect_set({text}))",
        "median({int} % 9)",
        "to_json(max(named_struct('p', {int}, 'q', {text})))",
    ),
    *("array_join(sort_array(collect_list({text})), '|')", "percentile({int} % 9, 0.25)", "var_pop({int} % 9) > 1"),
)
WINDOWS = (
    *("rank() OVER (PARTITION BY {int} ORDER BY {text})", "count(*) OVER (PARTITION BY {truth})"),
    *("sum({int} % 9) OVER (PARTITION BY {text} ORDER BY {int})", "max({text}) OVER (ORDER BY {int})"),
    "sum({int} % 9) OVER (ORDER BY {day} RANGE BETWEEN INTERVAL 9 DAYS PRECEDING AND CURRENT ROW)",
    "dense_rank() OVER (ORDER BY {number} DESC NULLS LAST)",
)
RELATIONS = (
    *(
        ("t", "t"),
        ("t", "t"),
        ("u", "u"),
        ("t, u", "tu"),
        ("t JOIN u ON t.a = u.k", "tu"),
        ("t LEFT JOIN u ON t.a = u.m", "tu"),
    ),
    *(("t FULL JOIN u ON t.a = u.k AND t.s = u.w", "tu"), ("t LEFT SEMI JOIN u ON t.a = u.k", "t")),
    *(("t LEFT ANTI JOIN u ON t.a = u.m", "t"), ("(SELECT * FROM t WHERE a > 0) AS t", "t")),
    *(("t, LATERAL (SELECT max(m) AS k, 1 AS m, min(w) AS w FROM u WHERE u.k = t.a) AS u", "tu"),),
)


class RightQueries:
    """Makes queries; each column has a name, since views want distinct ones."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._scope, self._depth = rng, "t", 0

    def query(self) -> str:
        """A query of one SELECT, or of several put together."""
        make: Callable[[], str] = self._rng.choice(
            [self._select, self._select, self._grouped, self._grouped, self._set]
        )
        return make()

    def value(self, kind: str) -> str:
        """An expression of a kind over the relations in scope."""
        self._depth += 1
        rng = self._rng
        if self._depth < 4 and rng.random() < 0.6:
            made = self._filled(rng.choice(FORMS[kind]))
        else:
            known = [column for table in self._scope for column in COLUMNS[table].get(kind, ())]
            made = rng.choice(known if known and rng.random() < 0.8 else LITERALS[kind])
        self._depth -= 1
        return made

    def _filled(self, form: str) -> str:
        for kind in LITERALS:
            while f"{{{kind}}}" in form:
                form = form.replace(f"{{{kind}}}", self.value(kind), 1)
        return form

    def _from(self) -> str:
        relation, self._scope = self._rng.choice(RELATIONS)
        where = f" WHERE {self.value('truth')}" if self._rng.random() < 0.5 else ""
        return f" FROM {relation}{where}"

    def _select(self) -> str:
        rng, around = self._rng, self._from()
        items = [self.value(rng.choice(["int", "number", "text", "day", "truth"])) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.3:
            items.append(self._filled(rng.choice(WINDOWS)))
        if rng.random() < 0.2:
            items.append(f"(SELECT max(o.m) FROM u AS o WHERE o.k = {self.value('int')})")
        return f"SELECT {rng.choice(['', '', 'DISTINCT '])}{_named(items)}{around}"

    def _grouped(self) -> str:
        rng, around = self._rng, self._from()
        keys = [self.value(rng.choice(["int", "text", "truth"])) for _ in range(rng.choice([0, 1, 1, 2]))]
        items = [*keys, *(self._filled(rng.choice(AGGREGATES)) for _ in range(rng.randint(1, 2)))]
        numbers = ", ".join(str(i + 1) for i in range(len(keys)))
        by = rng.choice([f" GROUP BY {numbers}", " GROUP BY ALL", f" GROUP BY ROLLUP ({numbers})"]) if keys else ""
        having = " HAVING count(*) > 1" if rng.random() < 0.2 else ""
        return f"SELECT {_named(items)}{around}{by}{having}"

    def _set(self) -> str:
        rng = self._rng
        operator = rng.choice(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"])
        kinds = [rng.choice(["int", "text", "day"]) for _ in range(2)]
        sides = []
        for _ in range(2):
            around = self._from()
            sides.append(f"SELECT {_named([self.value(kind) for kind in kinds])}{around}")
        if rng.random() < 0.3:
            return f"WITH w AS ({sides[0]}) SELECT * FROM w {operator} {sides[1]}"
        return f"{sides[0]} {operator} {sides[1]}"


def _named(items: Sequence[str]) -> str:
    return ", ".join(f"{item} AS c{i}" for i, item in enumerate(items))
