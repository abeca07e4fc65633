"""Chains of definitions, each over the one before, are lowered to rules whose text grows as the chain does.

Catches a chain of n filters that is one conjunction of n conditions at each of n views, and n joins, each of the one
before with itself, that are lowered 2ⁿ times.
"""

from __future__ import annotations

import deltic
from deltic.program.compiling import program_of
from deltic.program.scope import HIGHEST


def _chain(length: int) -> str:
    """Relations that are filters of the one before."""
    rules = (
        f".decl r{i}(x: number, y: number)\nr{i}(x + 1, y) :- {f'r{i - 1}' if i else 'e'}(x, y), x != {i}.\n"
        for i in range(length)
    )
    return ".decl e(x: number, y: number)\n.input e\n" + "".join(rules) + f".output r{length - 1}\n"


def _conditions(length: int) -> list[int]:
    """How many conditions each rule of a chain has."""
    with deltic.Pipeline() as pipeline:
        pipeline.datalog(_chain(length))
        return [len(rule.body.conditions) for rule in program_of(pipeline.catalog.composed).rules]


def test_no_rule_of_a_chain_has_the_conditions_of_all_of_it() -> None:
    assert max(_conditions(60)) <= HIGHEST
    assert sum(_conditions(120)) < 2.5 * sum(_conditions(60))


def test_a_long_chain_follows_its_input() -> None:
    with deltic.Pipeline() as pipeline:
        pipeline.datalog(_chain(60))
        with pipeline.transaction() as change:
            change.insert("e", [(-5, 1), (0, 2), (3, 3)])
        assert _rows(pipeline) == [(55, 1), (63, 3)]
        with pipeline.transaction() as change:
            change.insert("e", [(-100, 4), (7, 5)])
            change.delete("e", [(3, 3)])
        assert _rows(pipeline) == [(-40, 4), (55, 1), (67, 5)]


def _rows(pipeline: deltic.Pipeline) -> list[tuple[int, ...]]:
    return sorted(tuple(row.values()) for row in pipeline["r59"].to_arrow().to_pylist())


def test_joins_of_the_one_before_with_itself_are_lowered_once_each() -> None:
    joins = (
        f"c{i} AS (SELECT x.a, y.b FROM c{i - 1} x JOIN c{i - 1} y ON x.a = y.a AND x.b = y.b)" for i in range(1, 30)
    )
    with deltic.Pipeline() as pipeline:
        pipeline.sql("CREATE TABLE t (a INT, b INT)")
        pipeline.sql(f"CREATE VIEW v AS WITH c0 AS (SELECT a, b FROM t), {', '.join(joins)} SELECT * FROM c29")
        pipeline.sql("INSERT INTO t VALUES (1, 2), (3, NULL)")
        pipeline.sql("DELETE FROM t WHERE a = 3; INSERT INTO t VALUES (5, 6)")
        assert sorted(pipeline["v"].to_arrow()["a"].to_pylist()) == [1, 5]
