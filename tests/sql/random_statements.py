"""Random texts of SQL: statements of many kinds, whole and broken, with odd literals and deep nests.

Whole ones come from a grammar that knows tables and types, but not always which go together, so that half are
refused by their types; broken ones are whole ones with tokens dropped, swapped, doubled or put in, or cut off.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.random_texts import broken

TABLES = {
    "t": "a INT, b BIGINT, s STRING, d DOUBLE, x DECIMAL(10, 2), day DATE, ts TIMESTAMP, ok BOOLEAN",
    "u": "a INT PRIMARY KEY, xs ARRAY<INT>, m MAP<STRING, INT>, r STRUCT<p: INT, q: STRING>, y BINARY",
}
KINDS = {
    "number": ["t.a", "b", "d", "x", "1", "0", "-3", "2.50", "1e2", "NULL", "2147483647", "9223372036854775807", "3L"],
    "text": ["s", "'abc'", "''", "NULL", "'2024-01-31'", "'12'", "'a,b'", "'é\N{PILE OF POO}'", "'%_'", "'yyyy-MM'"],
    "truth": ["ok", "TRUE", "NULL", "FALSE"],
    "day": ["day", "DATE '2024-01-31'", "NULL", "DATE '0001-01-01'", "current_date()"],
    "time": ["ts", "TIMESTAMP '2024-01-01 00:00:00'", "NULL", "current_timestamp()"],
    "list": ["array(1, NULL, 3)", "array(t.a, 2)", "split(s, ',')", "NULL", "array()", "sequence(1, 3)"],
    "map": ["map('k', t.a)", "map()", "map(s, b)", "NULL"],
    "struct": ["named_struct('p', t.a, 'q', s)", "struct(1, 'x')", "NULL"],
    "odd": [
        *(
            "1e400",
            "1e-400",
            "0x1F",
            "X'1F'",
            "X'1'",
            ".5",
            "9223372036854775808",
            "-9223372036854775808",
            "300Y",
            "1D",
        ),
        *(
            "DATE 'x'",
            "INTERVAL 1 MONTH",
            "INTERVAL '1' DAY",
            "INTERVAL '1-2' YEAR TO MONTH",
            "INTERVAL 'x' DAY",
            "1.0F",
        ),
        *("'\\u0000'", "'\\xff'", "DOUBLE('NaN')", "9" * 60, "current_date()", "1 day", "99999999999999999999.5", ":x"),
        *("u.a", "xs", "m", "r", "r.p", "u.r.q", "y", "nope", "t.nope", "'NaN'", "1.5BD", "array(array(1))", "t", "?"),
    ],
}
COLUMNS = ["a", "b", "s", "d", "x", "day", "ts", "ok", "xs", "m", "r", "y", "nope"]
LITERALS = [literal for literals in KINDS.values() for literal in literals]
OPERATORS = ["+", "-", "*", "/", "%", "DIV", "||", "&", "|", "^", "<<", ">>", "=", "<>", "<", ">=", "<=>", "AND", "OR"]
OPERATORS_OF = [OPERATORS[:6]] * 9 + [OPERATORS]
"""Those of numbers, and now and then any."""
OPERATORS += ["LIKE", "RLIKE", "IS DISTINCT FROM", "ILIKE", "==", "!=", "!"]
TYPES = ["INT", "BIGINT", "STRING", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN", "DECIMAL(38, 38)", "BINARY", "TINYINT"]
TYPES += [
    "ARRAY<INT>",
    "MAP<STRING, INT>",
    "STRUCT<p: INT>",
    "INTERVAL DAY",
    "VARCHAR(2)",
    "DECIMAL(39)",
    "VOID",
    "FOO",
]
FUNCTIONS = {
    "number": [
        *(
            "abs number",
            "length text",
            "year day",
            "datediff day day",
            "size list",
            "round number number",
            "ascii text",
        ),
        *("floor number", "ceil number", "sqrt number", "pow number number", "log number", "pmod number number"),
        *("greatest number number", "least number number", "coalesce number number", "nullif number number"),
        *("if truth number number", "try_add number number", "try_divide number number", "unix_timestamp time"),
        *(
            "element_at map text",
            "element_at list number",
            "array_position list number",
            "hash number text",
            "bit_count number",
        ),
        *(
            "levenshtein text text",
            "factorial number",
            "shiftleft number number",
            "crc32 text",
            "locate text text number",
        ),
        *(
            "array_max list",
            "months_between day day",
            "log10 number",
            "signum number",
            "instr text text",
            "cardinality map",
        ),
    ],
    "text": [
        *("upper text", "substring text number number", "concat text text", "trim text", "lpad text number text"),
        *("regexp_replace text text text", "date_format time text", "to_json struct", "get_json_object text text"),
        *("md5 text", "hex number", "base64 text", "elt number text text", "format_number number number", "bin number"),
        *("decode number number text", "conv text number number", "replace text text text", "translate text text text"),
        *(
            "chr number",
            "initcap text",
            "soundex text",
            "array_join list text",
            "format_string text number",
            "repeat text number",
        ),
        *(
            "substring_index text text number",
            "overlay text text number",
            "split_part text text number",
            "space number",
        ),
        *("coalesce text text", "regexp_extract text text number", "left text number", "reverse text", "typeof struct"),
    ],
    "truth": [
        "isnull text",
        "array_contains list number",
        "startswith text text",
        "contains text text",
        "isnan number",
    ],
    "day": ["date_add day number", "to_date text text", "last_day day", "trunc day text", "add_months day number"],
    "time": ["date_trunc text time", "make_timestamp number number number number number number", "to_timestamp text"],
    "list": [
        *(
            "sort_array list",
            "slice list number number",
            "sequence number number",
            "map_keys map",
            "array_append list number",
        ),
        *(
            "array_repeat number number",
            "flatten list",
            "array_union list list",
            "split text text",
            "array_distinct list",
        ),
        *(
            "arrays_zip list list",
            "array_insert list number number",
            "array_compact list",
            "map_entries map",
            "shuffle list",
        ),
    ],
    "map": ["map_concat map map", "str_to_map text text text", "map_from_arrays list list", "from_json text text"],
    "struct": ["struct number text", "from_json text text"],
    "odd": [
        "nope number",
        "rand",
        "explode list",
        "window time text",
        "unhex text",
        "to_binary text text",
        "make_date number",
    ],
}
UNITS = ["DAY", "MONTH", "HOUR", "YEAR", "FOO"]
TYPES_OF = {"number": TYPES[:2] + TYPES[3:4] + TYPES[7:8] + TYPES[9:10], "text": ["STRING", "VARCHAR(2)"]}
TYPES_OF |= {"truth": ["BOOLEAN"], "day": ["DATE"], "time": ["TIMESTAMP"], "list": ["ARRAY<INT>", "ARRAY<STRING>"]}
AGGREGATES = [
    "count",
    "sum",
    "min",
    "max",
    "avg",
    "collect_list",
    "collect_set",
    "stddev",
    "first",
    "any_value",
    "mode",
]
AGGREGATES += ["percentile", "approx_count_distinct", "max_by", "bool_and", "listagg", "histogram_numeric", "corr"]
WINDOWS = ["row_number", "rank", "lag", "lead", "ntile", "first_value", "nth_value", "cume_dist", *AGGREGATES[:5]]
_WORDS = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT UNION ALL JOIN ON AS IN NOT NULL IS CASE WHEN THEN END OVER WITH VALUES
TABLE VIEW CREATE DROP INSERT INTO LATERAL PIVOT UNPIVOT QUALIFY EXISTS BETWEEN DISTINCT ROLLUP USING NATURAL LEFT
( ) , . ; [ ] -> :: => < > * ' " ` -- /* |> @ # $ \\
"""
WORDS = _WORDS.split()
NESTS = [
    *(("(", ")"), ("-", ""), ("NOT ", ""), ("abs(", ")"), ("CASE WHEN ok THEN ", " END"), ("array(", ")"), ("[", "]")),
    *(("CAST(", " AS INT)"), ("struct(", ")"), ("transform(xs, e -> ", ")"), ("coalesce(", ", 1)")),
    *(("map('k', ", ")"), ("a IN (", ")"), ("a + ", ""), ("if(ok, ", ", 1)"), ("upper(", ")"), ("concat(s, ", ")")),
]


class Statements:
    """Makes random statements."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._depth = 0

    def text(self) -> str:
        """A statement; one in four is broken."""
        text = self.statement()
        for _ in range(self._rng.choice([0, 0, 0, 0, 0, 0, 1, 3])):
            text = broken(self._rng, text, [*WORDS, *COLUMNS, *LITERALS, *OPERATORS])
        return text

    def statement(self) -> str:
        """A statement that the grammar has."""
        makers: list[tuple[int, Callable[[], str]]] = [
            *((8, self.query), (4, self._view), (2, self._insert), (1, self._delete), (1, self._update)),
            *((1, self._merge), (1, self._table), (1, self._alter), (1, self._function), (1, self._other)),
        ]
        weights, choices = zip(*makers, strict=True)
        (maker,) = self._rng.choices(choices, weights)
        return maker()

    # Queries

    def query(self) -> str:
        """A query."""
        self._depth += 1
        made = self._query() if self._depth < 4 else "SELECT a FROM t"
        self._depth -= 1
        return made

    def _query(self) -> str:
        kind = self._rng.random()
        if kind < 0.1:
            joiner = self._rng.choice(["UNION", "UNION ALL", "EXCEPT", "INTERSECT ALL", "MINUS"])
            return f"{self.query()} {joiner} {self.query()}"
        if kind < 0.16:
            return f"WITH w AS ({self.query()}) SELECT * FROM w"
        if kind < 0.2:
            step = f"SELECT n + 1 FROM r WHERE n < {self._rng.randint(1, 9)}"
            return f"WITH RECURSIVE r(n) AS (SELECT {self._rng.randint(-9, 9)} UNION ALL {step}) SELECT * FROM r"
        if kind < 0.24:
            return f"SELECT * FROM VALUES ({self.value()}, {self.value()}), ({self.value()}, 1) AS v(a, b)"
        if kind < 0.28:
            return f"FROM {self._relation()} |> WHERE {self.value()} |> EXTEND {self.value()} AS z |> LIMIT 3"
        return self._select()

    def _select(self) -> str:
        rng = self._rng
        keys = [self.value(rng.choice(["number", "text", "day"])) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
        items = rng.choice([self._aggregate, self._item, self._item, self._item])
        made = [*keys, self._aggregate()] if keys else [items() for _ in range(rng.randint(1, 3))]
        text = f"SELECT {rng.choice(['', '', '', 'DISTINCT '])}{', '.join(made)} FROM {self._relation()}"
        text += self._maybe(0.4, lambda: f" WHERE {self.value('truth')}")
        if keys:
            text += rng.choice(
                [f" GROUP BY {', '.join(keys)}", f" GROUP BY ROLLUP ({', '.join(keys)})", " GROUP BY ALL"]
            )
            text += self._maybe(0.2, lambda: f" HAVING count(*) > {self.value('number')}")
        text += self._maybe(0.05, lambda: f" QUALIFY {self._window()} = 1")
        text += self._maybe(0.15, lambda: f" ORDER BY {self.value()} {rng.choice(['', 'DESC', 'NULLS LAST'])}")
        return text + self._maybe(0.1, lambda: f" LIMIT {rng.choice(['3', '0', 'ALL', '-1', 'NULL', 'a', '1.5'])}")

    def _maybe(self, chance: float, make: Callable[[], str]) -> str:
        return make() if self._rng.random() < chance else ""

    def _item(self) -> str:
        kind = self._rng.random()
        if kind < 0.1:
            return self._rng.choice(["*", "t.*", "* EXCEPT (b)", "count(*)"])
        value = self._aggregate() if kind < 0.12 else self._window() if kind < 0.2 else self.value()
        return value + self._maybe(0.3, lambda: f" AS {self._rng.choice(['a', 'z', '`odd name`', 'T'])}")

    def _relation(self) -> str:
        rng = self._rng
        kind = rng.random()
        if kind < 0.55:
            return rng.choice([*["t"] * 12, "u", "t AS q", "nope", "range(3)"])
        if kind < 0.8:
            join = rng.choice(["JOIN", "LEFT JOIN", "FULL JOIN", "CROSS JOIN", "LEFT ANTI JOIN", "LEFT SEMI JOIN", ","])
            on = rng.choice(["", " ON t.a = u.a", " ON t.a = u.a", " USING (a)", f" ON {self.value('truth')}"])
            return f"t {join} u{on if join not in (',', 'CROSS JOIN') else ''}"
        if kind < 0.9:
            return f"({self.query()}) AS sub"
        if kind < 0.95:
            return f"u AS t LATERAL VIEW {rng.choice(['', 'OUTER '])}explode({rng.choice(['xs', 'm', 'a'])}) AS e"
        return f"t PIVOT ({self._aggregate()} FOR a IN (1, {self.value()}))"

    # Values

    def value(self, kind: str = "") -> str:
        """An expression that is mostly of that kind."""
        self._depth += 1
        any_kind = not kind or self._rng.random() < 0.01
        (kind,) = self._rng.choices(list(KINDS), [4, 4, 3, 3, 3, 2, 1, 1, 0.5]) if any_kind else [kind]
        made = self._value(kind) if self._depth < 5 else self._rng.choice(KINDS[kind])
        self._depth -= 1
        return made

    def _value(self, kind: str) -> str:
        rng = self._rng
        chance = rng.random()
        if chance < 0.4:
            return rng.choice(KINDS[kind])
        if chance < 0.7:
            name, *kinds = rng.choice(FUNCTIONS[kind]).split()
            return f"{name}({', '.join(map(self.value, kinds))})"
        if chance < 0.72:
            head, tail = rng.choice(NESTS)
            levels = rng.choice([3, 10, 40])
            return f"{head * levels}{self.value()}{tail * levels}"
        forms: list[Callable[[], str]] = [
            lambda: f"{rng.choice(['CAST', 'TRY_CAST'])}({self.value()} AS {rng.choice(TYPES_OF.get(kind, TYPES))})",
            lambda: f"CASE WHEN {self.value('truth')} THEN {self.value(kind)} ELSE {self.value(kind)} END",
            lambda: f"coalesce({self.value(kind)}, {self.value(kind)})",
            lambda: f"({self.query()})",
            lambda: self._composed(kind),
            lambda: self._composed(kind),
            lambda: self._composed(kind),
        ]
        return rng.choice(forms)()

    def _composed(self, kind: str) -> str:
        rng = self._rng
        other = rng.choice(["number", "number", "text", "day", "time"])
        forms: dict[str, list[Callable[[], str]]] = {
            "number": [
                lambda: f"{self.value('number')} {rng.choice(rng.choice(OPERATORS_OF))} {self.value('number')}",
                lambda: f"({self.value('number')} {rng.choice(['+', '-', '*', '/'])} {self.value('number')})",
                lambda: f"extract({rng.choice(['DAY', 'YEAR', 'FOO'])} FROM {self.value('time')})",
                lambda: f"{self.value('list')}[{self.value('number')}]",
                lambda: f"aggregate({self.value('list')}, 0, (e, f) -> e + {self.value('number')})",
                lambda: f"{self.value('struct')}.{rng.choice(['p', 'col1'])}",
            ],
            "text": [
                lambda: f"{self.value('text')} || {self.value('text')}",
                lambda: f"{self.value(other)}::STRING",
            ],
            "truth": [
                lambda: f"{self.value(other)} {rng.choice(['=', '<>', '<', '>=', '<=>'])} {self.value(other)}",
                lambda: f"({self.value('truth')} {rng.choice(['AND', 'OR'])} {self.value('truth')})",
                lambda: f"{self.value(other)} {rng.choice(['', 'NOT '])}IN ({self.value(other)}, {self.value(other)})",
                lambda: f"{self.value(other)} BETWEEN {self.value(other)} AND {self.value(other)}",
                lambda: f"{self.value()} IS {rng.choice(['', 'NOT '])}{rng.choice(['NULL', 'TRUE', 'UNKNOWN'])}",
                lambda: f"EXISTS ({self.query()})",
                lambda: f"{self.value(other)} {rng.choice(['IN', 'NOT IN', '= ANY'])} ({self.query()})",
                lambda: f"{self.value('text')} {rng.choice(['LIKE', 'RLIKE', 'ILIKE'])} {self.value('text')}",
                lambda: f"{rng.choice(['exists', 'forall'])}({self.value('list')}, e -> {self.value('truth')})",
            ],
            "day": [
                lambda: f"{self.value('day')} {rng.choice('+-')} INTERVAL {rng.randint(-9, 9)} {rng.choice(UNITS)}"
            ],
            "time": [
                lambda: f"{self.value('time')} {rng.choice('+-')} INTERVAL '{rng.randint(0, 9)}' {rng.choice(UNITS)}"
            ],
            "list": [
                lambda: f"{rng.choice(['transform', 'filter'])}({self.value('list')}, e -> {self.value('truth')})",
                lambda: f"array({self.value(other)}, {self.value(other)})",
            ],
            "map": [lambda: f"map({self.value('text')}, {self.value(other)})"],
            "struct": [lambda: f"named_struct('p', {self.value(other)}, 'q', {self.value()})"],
            "odd": [lambda: rng.choice([self._aggregate, self._window])()],
        }
        return rng.choice(forms[kind])()

    def _aggregate(self) -> str:
        rng = self._rng
        arguments = ", ".join(self.value("number") for _ in range(rng.choice([1, 1, 1, 1, 2])))
        name, distinct = rng.choice(AGGREGATES), rng.choice(["", "", "DISTINCT "])
        given = "*" if rng.random() < (0.5 if name == "count" else 0.02) else arguments
        return f"{name}({distinct}{given})" + self._maybe(0.1, lambda: f" FILTER (WHERE {self.value('truth')})")

    def _window(self) -> str:
        rng = self._rng
        frame = rng.choice(
            ["", "", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING"]
        )
        order = self._maybe(0.7, lambda: f"ORDER BY {self.value()} ")
        arguments = rng.choice(["", self.value(), f"{self.value()}, 1"])
        return f"{rng.choice(WINDOWS)}({arguments}) OVER (PARTITION BY {self.value()} {order}{frame})"

    # Other statements

    def _view(self) -> str:
        replace = self._rng.choice(["", "OR REPLACE "])
        return (
            f"CREATE {replace}{self._rng.choice(['', 'MATERIALIZED '])}VIEW {self._rng.choice('vwt')} AS {self.query()}"
        )

    def _insert(self) -> str:
        rng = self._rng
        if rng.random() < 0.3:
            return f"INSERT INTO {rng.choice(['t', 'u', 'v'])} {self.query()}"
        kinds = ["number", "number", "text", "number", "number", "day", "time", "truth"]
        row = ", ".join(rng.choice([c for c in KINDS[kind] if c[0] in "123'TFDN-0"]) for kind in kinds)
        odd = ", ".join(self.value() for _ in range(rng.choice([1, 5, 8])))
        return rng.choice([f"INSERT INTO t VALUES ({row})"] * 3 + [f"INSERT INTO u (a, xs) VALUES ({odd})"])

    def _delete(self) -> str:
        return f"DELETE FROM {self._rng.choice(['t', 'u', 'v'])} WHERE {self.value('truth')}"

    def _update(self) -> str:
        table, column = self._rng.choice(["t", "u", "v"]), self._rng.choice(COLUMNS)
        return f"UPDATE {table} SET {column} = {self.value()} WHERE {self.value('truth')}"

    def _merge(self) -> str:
        then = self._rng.choice(["DELETE", f"UPDATE SET a = {self.value()}", "UPDATE SET *"])
        return (
            f"MERGE INTO u USING ({self.query()}) AS s ON u.a = s.a WHEN MATCHED THEN {then} "
            f"WHEN NOT MATCHED THEN INSERT {self._rng.choice(['*', f'(a) VALUES ({self.value()})'])}"
        )

    def _table(self) -> str:
        rng = self._rng
        columns = ", ".join(
            f"c{i} {rng.choice(TYPES)}{rng.choice(['', ' NOT NULL', ' PRIMARY KEY', f' DEFAULT {self.value()}'])}"
            for i in range(rng.randint(1, 3))
        )
        return f"CREATE TABLE {rng.choice(['x', 'x', 't'])} ({columns})"

    def _alter(self) -> str:
        action = self._rng.choice(
            [
                *("ADD COLUMN z INT", "DROP COLUMN s", "RENAME COLUMN b TO bb", "RENAME TO t2", "ADD COLUMN a INT"),
                *("ALTER COLUMN a TYPE BIGINT", "ALTER COLUMN a SET NOT NULL", "SET TBLPROPERTIES ('k' = 'v')"),
            ]
        )
        return f"ALTER TABLE {self._rng.choice(['t', 'u', 'x', 'v'])} {action}"

    def _function(self) -> str:
        body = self._rng.choice([self.value(), f"({self.query()})"])
        return (
            f"CREATE OR REPLACE FUNCTION f(a INT, b STRING DEFAULT 'x') RETURNS {self._rng.choice(TYPES)} RETURN {body}"
        )

    def _other(self) -> str:
        return self._rng.choice(
            [
                *("DROP VIEW v", "DROP TABLE x", "DROP TABLE t", "SHOW TABLES", "DESCRIBE t", "SHOW CREATE TABLE v"),
                *(
                    "TRUNCATE TABLE x",
                    "BEGIN",
                    "COMMIT",
                    "ROLLBACK",
                    "DROP VIEW IF EXISTS w",
                    "COMMENT ON TABLE t IS 'x'",
                ),
                *(f"EXPLAIN {self.query()}", "SELECT f(1)", "DROP FUNCTION f", "DECLARE n INT DEFAULT 1", ""),
            ]
        )
