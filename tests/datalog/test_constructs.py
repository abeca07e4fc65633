"""Random programs of Soufflé's constructs, in every epoch of random changes, against rules matched row by row.

Catches: a construct that is rewritten to something else than it says, alone or beside another one, such as a witness
of an aggregate over a relation that is inlined; an instance of a component that has another one's rules; rows of a
choice, a subsumption, a range or a structure that stay after what they come from has gone.
"""

import random

import pytest

import deltic
from tests.batches import first
from tests.datalog.by_matching import FUNCTORS, text
from tests.datalog.constructs import random_program, random_row
from tests.datalog.meaning import derive
from tests.datalog.naive import rows_of

TABLES = ("e", "n", "w", "l")


@deltic.functor(deterministic=True)
def twice(x: int) -> int | None:
    return FUNCTORS["twice"](x)


def check_program(seed, epochs=3):
    """Epochs of random changes give what a start from nothing would."""
    program, rng = random_program(seed), random.Random(f"rows of {seed}")
    pipeline = deltic.Pipeline(functions=[twice])
    pipeline.datalog(str(program))
    rows = {table: set() for table in TABLES}
    for epoch in range(epochs):
        gone = {t: {r for r in sorted(rows[t], key=repr) if rng.random() < 0.4} for t in TABLES}
        come = {t: {random_row(rng, t) for _ in range(rng.randint(0, 5))} - rows[t] for t in TABLES}
        with pipeline.transaction() as change:
            for table in TABLES:
                change.delete(table, [tuple(map(text, row)) for row in gone[table]])
                change.insert(table, [tuple(map(text, row)) for row in come[table]])
        rows = {t: rows[t] - gone[t] | come[t] for t in TABLES}
        for name, expected in program.evaluate(rows).items():
            found, wanted = rows_of(pipeline[name]), {tuple(map(text, row)) for row in expected}
            assert found == wanted, f"seed {seed}, epoch {epoch}, {name}\n{program}\n{rows}\n{found ^ wanted}"


@pytest.mark.parametrize("batch", first(4, 14))
def test_random_programs(batch, record_property):
    record_property("random Soufflé programs", 25)
    for seed in range(batch * 25, batch * 25 + 25):
        check_program(seed)


def test_a_range_of_what_has_a_value():
    """Random programs found it."""
    rules = "p(x) :- e(x, y), x = range(2, y).\np(x + 100) :- e(x, _), 3 = range(0, 5).\np(7) :- 7 = range(0, 5)."
    rows = {(1, 5), (2, 3), (4, 3), (3, 9), (5, 5)}
    found = derive(f".decl e(x: number, y: number)\n.decl p(x: number)\n{rules}", {"e": rows})["p"]
    assert found == {(2,), (3,), *((x + 100,) for x, _ in rows)}


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_more_random_programs(batch, record_property):
    record_property("random Soufflé programs", 100)
    for seed in range(10_000 + batch * 100, 10_100 + batch * 100):
        check_program(seed, epochs=5)
