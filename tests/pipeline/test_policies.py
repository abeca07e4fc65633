"""The three policies for conflicts, with sets, bags and keys: the local engine against the reference, and a model.

Catches operations that another engine refuses, or does in another way, and rows under `trust` that nobody inserted.
"""

from __future__ import annotations

import random

import pytest

import deltic
from deltic import ChangeError

TABLES = {"s": (False, ()), "b": (True, ()), "k": (False, ("x",))}
COLUMNS = {"x": "int64", "y": "string?"}


def made(engine):
    pipeline = deltic.Pipeline(engine=engine)
    for name, (bag, key) in TABLES.items():
        pipeline.table(name, COLUMNS, key=key, bag=bag)
    pipeline.sql("CREATE VIEW v AS SELECT s.x, b.y FROM s JOIN b ON s.x = b.x JOIN k ON s.x = k.x")
    pipeline.sql("CREATE VIEW n AS SELECT y, count(*) AS c FROM b GROUP BY y")
    return pipeline


def operations(rng):
    for _ in range(rng.randint(1, 4)):
        table = rng.choice(list(TABLES))
        rows = [(rng.randrange(4), rng.choice(["a", "b", None])) for _ in range(rng.choice([1, 1, 2, 4]))]
        kinds = ["insert", "insert", "delete", *(["upsert", "delete by key", "update"] if table == "k" else [])]
        yield rng.choice(kinds), table, rows


def apply(pipeline, found, conflicts):
    """Whether the transaction was committed."""
    try:
        with pipeline.transaction(conflicts) as change:
            for kind, table, rows in found:
                if kind == "update":
                    change.update(table, [{"x": x, "y": y} for x, y in rows])
                elif kind == "delete by key":
                    change.delete(table, [(x,) for x, _ in rows])
                else:
                    getattr(change, kind)(table, rows)
    except ChangeError:
        return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_engines_agree(seed):
    rng, local, reference = random.Random(seed), made("local"), made("reference")
    inserted: dict[str, set[object]] = {name: set() for name in TABLES}
    outcomes = set()
    for _ in range(30):
        conflicts = (
            rng.choice(["error", "normalize", "trust"]) if seed % 2 else ["normalize", "error"][rng.random() < 0.5]
        )
        found = list(operations(rng))
        committed = apply(local, found, conflicts)
        assert apply(reference, found, conflicts) is committed, (conflicts, found)
        outcomes.add((conflicts, committed))
        for kind, table, rows in found:
            if kind in ("insert", "upsert", "update"):
                inserted[table] |= set(rows)
        for name in (*TABLES, "v", "n"):
            rows = sorted(local[name], key=str)
            assert rows == sorted(reference[name], key=str), (name, conflicts, found)
            present = {row[:2] for row in rows if len(row) == 2 or row[2] > 0}  # a bag below zero has weights
            assert name not in TABLES or present <= inserted[name]
        for name, (bag, key) in TABLES.items():
            rows = list(local[name])
            assert bag or len(set(rows)) == len(rows)
            assert not key or seed % 2 or len({x for x, _ in rows}) == len(rows)
    assert {("error", False), ("error", True), ("normalize", True)} <= outcomes
