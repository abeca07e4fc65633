"""What a pipeline compiles does not depend on how it got there: by which definitions, in which order.

Catches what is remembered of a definition and no longer right: of views that come, are replaced and go at random, the
circuit, the program and the rows are those of a pipeline that begins with the last definitions, from empty memories.
"""

from __future__ import annotations

import random

import pytest

from deltic import Pipeline
from deltic.calculus import incrementalize, passes
from deltic.calculus.planning.magic import search
from deltic.engine.plan.planner import plans_of
from deltic.program import compiling
from deltic.sql.statements import program

TABLES = "CREATE TABLE s (a INT, b INT); CREATE TABLE t (b INT PRIMARY KEY, c INT);"
ROWS = {"s": [(n % 4, n % 3) for n in range(12)], "t": [(n, (n + 1) % 5) for n in range(5)]}

# The columns of all views are a and b; {x} and {y} are tables or views, {n} is a number.
QUERIES = (
    "SELECT a, b FROM {x} WHERE a > {n}",
    "SELECT x.a, y.b FROM {x} x JOIN {y} y ON x.b = y.a WHERE y.b < {n}",
    "SELECT a, count(*) AS b FROM {x} GROUP BY a",
    "SELECT a, row_number() OVER (PARTITION BY a ORDER BY b) AS b FROM {x}",
    "SELECT DISTINCT a, b + {n} AS b FROM {x}",
    "SELECT a, b FROM {x} UNION SELECT b, a FROM {y}",
    "SELECT a, b FROM {x} EXCEPT SELECT a, b FROM {y}",
    "WITH RECURSIVE r (a, b) AS (SELECT a, b FROM s UNION SELECT r.a, x.b FROM r JOIN {x} x ON r.b = x.a) "
    "SELECT a, b FROM r WHERE a = {n}",
    "SELECT a, max(b) AS b FROM (SELECT x.a, y.b FROM {x} x JOIN {y} y ON x.a = y.a) GROUP BY a",
)


def random_query(rng: random.Random, before: list[str]) -> str:
    names = ["s", *before]
    return rng.choice(QUERIES).format(x=rng.choice(names), y=rng.choice(names), n=rng.randrange(4))


def random_changes(rng: random.Random, steps: int) -> tuple[list[str], dict[str, str]]:
    """Statements that add, replace and drop views, and what is left of the views, in the order of their definition."""
    texts, views, numbers = [], dict[str, str](), iter(range(steps))
    for _ in range(steps):
        kind = rng.random()
        if views and kind < 0.15:
            name = list(views)[-1]
            del views[name]
            texts.append(f"DROP VIEW {name}")
        else:
            is_new = not views or kind < 0.75
            name = f"v{next(numbers)}" if is_new else rng.choice(list(views))
            views[name] = random_query(rng, list(views)[: len(views) if is_new else list(views).index(name)])
            texts.append(f"CREATE OR REPLACE VIEW {name} AS {views[name]}")
    return texts, views


def forget() -> None:
    """Let nothing be remembered of what was compiled."""
    for memory in (passes.optimize, passes._optimized, search._pushed, program._lowered, plans_of):
        memory.cache_clear()


def insert_rows(pipeline: Pipeline) -> None:
    with pipeline.transaction() as change:
        for table, rows in ROWS.items():
            change.insert(table, rows)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_compiled_is_what_compiling_from_nothing_gives(seed, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(compiling, "_SPARE", rng.choice((0, 2048)))
    texts, views = random_changes(rng, 10)
    changed = Pipeline()
    changed.sql(TABLES)
    rows_come = rng.randrange(len(texts))
    for number, text in enumerate(texts):
        if number == rows_come:
            insert_rows(changed)
        changed.sql(text)
    incremental = str(incrementalize(changed.catalog.composed))

    forget()
    anew = Pipeline()
    anew.sql(TABLES + ";".join(f"CREATE VIEW {name} AS {query}" for name, query in views.items()))
    insert_rows(anew)
    assert str(changed.circuit()) == str(anew.circuit())
    assert incremental == str(incrementalize(anew.catalog.composed))
    assert str(changed._epochs.engine.program) == str(anew._epochs.engine.program)
    for name in views:
        assert sorted(changed[name]) == sorted(anew[name]), name
