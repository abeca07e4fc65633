"""What a definition costs by the size of its text: seconds at n, 2n, 4n and 8n, and the slope that they fit.

`python benchmarks/slopes.py [--before DIR] [--only TEXT] [--limit 60]` defines one view or program of each shape and
size, and then has one row inserted, which binds its queries. A slope of 1 is a cost that is linear in the text. A shape
whose size takes longer than the limit, in seconds, is not tried at larger ones.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from definitions import spent
from harness import report, side_by_side

import deltic

TIMES = (1, 2, 4, 8)
Text = Callable[[int], str]
"""The text of a definition of a size."""


def _list(form: str, between: str = ", ") -> Text:
    return lambda n: between.join(form.format(i) for i in range(n))


def _selected(expression: Text) -> Text:
    return lambda n: f"SELECT {expression(n)} AS x FROM t"


def _where(condition: Text) -> Text:
    return lambda n: f"SELECT a FROM t WHERE {condition(n)}"


def _nested(head: str, tail: str, inner: str = "a") -> Text:
    return lambda n: head * n + inner + tail * n


def _ctes(n: int) -> str:
    """Relations, each of which joins the one before with itself."""
    form = "c{} AS (SELECT x.a, y.b FROM c{} x JOIN c{} y ON x.a = y.a AND x.b = y.b)"
    joins = (form.format(i, i - 1, i - 1) for i in range(1, n))
    return f"WITH {', '.join(['c0 AS (SELECT a, b FROM t)', *joins])} SELECT * FROM c{n - 1}"


def _subqueries(n: int) -> str:
    return "SELECT a FROM (" * n + "SELECT a, b FROM t" + ") WHERE a > 0" * n


def _correlated(n: int, level: int = 1) -> str:
    """Scalar subqueries one in the other, each of which uses a column of the one around."""
    inner = f" + {_correlated(n, level + 1)}" if level < n else ""
    return f"(SELECT max(b{inner}) FROM t AS t{level} WHERE t{level}.a = t{level - 1}.a)"


def _joins(n: int) -> str:
    return "SELECT t0.a FROM t t0 " + " ".join(f"JOIN t t{i} ON t{i}.a = t{i - 1}.b" for i in range(1, n))


def _cases(n: int) -> str:
    return f"CASE {_list('WHEN a = {0} THEN b + {0}', ' ')(n)} END"


QUERIES: dict[str, tuple[int, Text]] = {
    "AND": (1250, _where(_list("a <> {} + 5", " AND "))),
    "OR": (1250, _where(_list("a = {}", " OR "))),
    "IN": (2500, _where(lambda n: f"a IN ({_list('{}')(n)})")),
    "IN of texts": (2500, _where(lambda n: "s IN (" + ", ".join(f"'x{i}'" for i in range(n)) + ")")),
    "CASE": (375, _selected(_cases)),
    "CASE in ELSE": (75, _selected(lambda n: _list("CASE WHEN a = {0} THEN {0} ELSE ", "")(n) + "b" + " END" * n)),
    "a + a": (1250, _selected(_list("a", " + "))),
    "a + b * i": (250, _selected(_list("b * {}", " + "))),
    "||": (1250, _selected(_list("s", " || "))),
    "concat": (500, _selected(lambda n: f"concat({_list('s')(n)})")),
    "coalesce": (500, _selected(lambda n: f"coalesce({_list('a + {}')(n)})")),
    "abs(abs(a))": (125, _selected(_nested("abs(", " - 2)"))),
    "upper(upper(s))": (125, _selected(_nested("upper(", ")", "s"))),
    "nullif(nullif(a))": (125, _selected(_nested("nullif(", ", 0)"))),
    "parentheses": (250, _selected(_nested("(", ")"))),
    "NOT": (125, _where(_nested("NOT ", "", "a = 1"))),
    "columns": (125, lambda n: f"SELECT {_list('a + {0} AS c{0}')(n)} FROM t"),
    "sums": (50, lambda n: f"SELECT {_list('sum(a + {0}) AS c{0}')(n)} FROM t GROUP BY b"),
    "UNION ALL": (125, _list("SELECT a + {} AS a FROM t", " UNION ALL ")),
    "UNION": (50, _list("SELECT a FROM t WHERE a <> {}", " UNION ")),
    "VALUES": (250, lambda n: f"SELECT x + 1 AS x FROM VALUES {_list('({})')(n)} AS v (x)"),
    "CTEs joined twice": (3, _ctes),
    "subqueries": (25, _subqueries),
    "scalar subqueries": (10, _selected(_nested("(SELECT ", ")"))),
    "correlated subqueries": (3, lambda n: f"SELECT {_correlated(n)} AS x FROM t AS t0"),
    "joins": (5, _joins),
}

EDGE = ".decl e(x: number, y: number)\n.input e\n"


def _chain(n: int) -> str:
    """Relations, each of which reads the one before."""
    rules = (
        f".decl r{i}(x: number, y: number)\nr{i}(x, y) :- {'r' if i else 'e'}{i - 1 if i else ''}(x, y), x > {i}.\n"
        for i in range(n)
    )
    return EDGE + "".join(rules) + f".output r{n - 1}\n"


def _joined(n: int) -> str:
    """Relations, each of which joins the one before with an input."""
    rules = (
        f".decl r{i}(x: number, y: number)\nr{i}(x, z) :- {f'r{i - 1}' if i else 'e'}(x, y), e(y, z).\n"
        for i in range(n)
    )
    return EDGE + "".join(rules) + f".output r{n - 1}\n"


def _rules(n: int) -> str:
    """The rules of one relation."""
    return (
        EDGE
        + ".decl r(x: number, y: number)\n.output r\n"
        + "".join(f"r(x, {i}) :- e(x, y), y > {i}.\n" for i in range(n))
    )


def _outputs(n: int) -> str:
    """Relations that read an input each."""
    form = ".decl r{0}(x: number, y: number)\n.output r{0}\nr{0}(x, y) :- e(x, y), x > {0}.\n"
    return EDGE + "".join(form.format(i) for i in range(n))


def _recursions(n: int) -> str:
    form = (
        ".decl r{0}(x: number, y: number)\n.output r{0}\n"
        "r{0}(x, y) :- e(x, y), x > {0}.\nr{0}(x, z) :- r{0}(x, y), e(y, z).\n"
    )
    return EDGE + "".join(form.format(i) for i in range(n))


def _mutual(n: int) -> str:
    """Relations of one recursion."""
    form = ".decl r{0}(x: number, y: number)\nr{0}(x, y) :- e(x, y), x > {0}.\nr{0}(x, z) :- r{1}(x, y), e(y, z).\n"
    return EDGE + "".join(form.format(i, (i + 1) % n) for i in range(n)) + ".output r0\n"


def _path(n: int) -> str:
    atoms = ", ".join(f"e(x{i}, x{i + 1})" for i in range(n))
    return EDGE + f".decl r(x: number, y: number)\n.output r\nr(x0, x{n}) :- {atoms}.\n"


def _facts(n: int) -> str:
    return EDGE + ".decl r(x: number, y: number)\n.output r\n" + "".join(f"r({i}, {i + 1}).\n" for i in range(n))


PROGRAMS: dict[str, tuple[int, Text]] = {
    "chained rules": (250, _chain),
    "chained joins": (40, _joined),
    "rules of one relation": (250, _rules),
    "relations": (250, _outputs),
    "recursions": (50, _recursions),
    "one recursion": (15, _mutual),
    "atoms of a rule": (8, _path),
    "facts": (250, _facts),
    "terms": (125, lambda n: EDGE + f".decl r(x: number)\n.output r\nr({_list('x', ' + ')(n)}) :- e(x, _).\n"),
}


class Shape(NamedTuple):
    """One kind of definition: its smallest size, and what defines it in a pipeline."""

    smallest: int
    define: Callable[[deltic.Pipeline, int], Callable[[], object]]


def _of_sql(text: Text) -> Callable[[deltic.Pipeline, int], Callable[[], object]]:
    def define(pipeline: deltic.Pipeline, size: int) -> Callable[[], object]:
        pipeline.sql("CREATE TABLE t (a BIGINT, b BIGINT, s STRING)")
        return partial(pipeline.sql, f"CREATE VIEW v AS {text(size)}")

    return define


def _of_datalog(text: Text) -> Callable[[deltic.Pipeline, int], Callable[[], object]]:
    return lambda pipeline, size: partial(pipeline.datalog, text(size))


def _further(pipeline: deltic.Pipeline, size: int) -> Callable[[], object]:
    """One view after so many others."""
    pipeline.sql("CREATE TABLE t (a BIGINT, b BIGINT, s STRING)")
    pipeline.sql(";".join(f"CREATE VIEW v{i} AS SELECT a + {i} AS a FROM t" for i in range(size)))
    return partial(pipeline.sql, "CREATE VIEW v AS SELECT a + b AS a FROM t")


def _rows_as_text(pipeline: deltic.Pipeline, size: int) -> Callable[[], object]:
    """An INSERT of so many rows that are written in its text."""
    pipeline.sql("CREATE TABLE t (a BIGINT, b BIGINT, s STRING, n DECIMAL(10, 2), d DATE)")
    rows = (f"({i}, {i % 7}, 'x{i}', {i % 90}.25, DATE '2024-01-{1 + i % 28:02}')" for i in range(size))
    return partial(pipeline.sql, f"INSERT INTO t VALUES {', '.join(rows)}")


SHAPES = {
    **{f"SQL: {name}": Shape(least, _of_sql(text)) for name, (least, text) in QUERIES.items()},
    **{f"Datalog: {name}": Shape(least, _of_datalog(text)) for name, (least, text) in PROGRAMS.items()},
    "a further view": Shape(40, _further),
    "rows of INSERT": Shape(250, _rows_as_text),
}


def measured(shape: Shape, size: int) -> tuple[float, float]:
    """The processor's seconds of the definition and of the first row."""
    with deltic.Pipeline() as pipeline:
        define = shape.define(pipeline, size)
        gc.collect()
        seconds = spent(define)
        table = "t" if "t" in pipeline.tables else "e"
        row = (1, 2, "x", None, None)[: len(pipeline.tables[table])]
        return seconds, spent(partial(_insert, pipeline, table, row))


def _insert(pipeline: deltic.Pipeline, table: str, row: tuple[object, ...]) -> None:
    with pipeline.transaction() as change:
        change.insert(table, [row])


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent of the power of the size that fits the seconds best."""
    xs, ys = [math.log(size) for size in sizes], [math.log(max(second, 1e-6)) for second in seconds]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread if spread else math.nan


def figures(only: str, limit: float) -> Iterator[tuple[str, list[list[float]]]]:
    """Each shape, with its sizes, the seconds of its definition, and those of the first row."""
    for name, shape in SHAPES.items():
        if only in name:
            taken: list[list[float]] = [[], [], []]
            for size in (times * shape.smallest for times in TIMES):
                seconds, row = measured(shape, size)
                for column, value in zip(taken, (size, seconds, row), strict=True):
                    column.append(value)
                if seconds + row > limit:
                    break
            yield name, taken


def _row(name: str, version: str, taken: list[list[float]]) -> list[str]:
    sizes, seconds, first = taken
    defined = [f"{second:.3f}" for second in seconds] + ["-"] * (len(TIMES) - len(seconds))
    fitted = [f"{slope(sizes, column):.2f}" for column in (seconds, first)]
    each = f"{1000 * seconds[-1] / sizes[-1]:.2f}"
    return [name, version, f"{sizes[0]:,}", *defined, fitted[0], each, f"{first[-1]:.3f}", fitted[1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--only", default="", help="shapes whose names contain this")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--print", action="store_true", help="print the figures of this process as JSON")
    options = parser.parse_args()
    if options.print:
        print(json.dumps(dict(figures(options.only, options.limit))))
        return
    arguments = ["--only", options.only, "--limit", str(options.limit)]
    found: dict[str, dict[str, list[list[float]]]] = side_by_side(__file__, arguments, options.before)
    rows = [_row(case, version, found[version][case]) for case in found["now"] for version in found]
    header = ["shape", "version", "n", *(f"{times}n" for times in TIMES), "slope", "ms each", "first row", "slope"]
    notes = """Seconds of the processor to define the shape at each size, and to insert the first row at the largest.
"ms each" is what each of n costs at the largest size: a term, a column, a branch of CASE or UNION, a rule."""
    report("slopes", "What a definition costs by the size of its text", header, rows, notes)


if __name__ == "__main__":
    main()
