"""Which relations every shard has a copy of, what that saves, and what a copy that comes or goes costs.

Catches a copy of what is large, or grows so; one that comes and goes with each epoch; rows of a large table that move
though what they meet is everywhere; a state that is computed anew, or lost, when a copy comes or goes; and reasons that
`explain` does not tell. That the views are right, see `tests.differential.test_copies`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest

from deltic.circuit.reading import parse_circuit
from deltic.datalog import check, lower, parse
from deltic.engine.executors.shards.copies import Copies
from deltic.engine.executors.shards.plan_steps import Search, Send
from tests.conformance.engines import Driver, in_tasks, on_shards
from tests.engine.reopening import saved

STAR = """
    .decl f(a: number, b: number, c: number, m: number) .input f
    .decl a(a: number, x: number) .input a
    .decl b(b: number, y: number) .input b
    .decl c(c: number, z: number) .input c
    .decl wide(x: number, y: number, z: number, m: number)
    wide(x, y, z, m) :- f(a, b, c, m), a(a, x), b(b, y), c(c, z).
    .decl count_of(x: number, n: number) count_of(x, n) :- a(_, x), n = count : { wide(x, _, _, _) }.
"""
DELAYED = """%0 = source f : set{a: int64, m: int64}
%1 = source a : set{a: int64, x: int64}
%2 = join (%0, %1) : set{a: int64, m: int64, x: int64}
%3 = sink wide (%2) : set{a: int64, m: int64, x: int64}
%4 = delay (%0) : set{a: int64, m: int64}
%5 = sink before (%4) : set{a: int64, m: int64}"""
TWO_SIDED = """
    .decl f(a: number, m: number) .input f
    .decl a(a: number, x: number) .input a
    .decl r(x: number, y: number) r(x, y) :- f(x, y). r(x, z) :- r(x, y), a(y, z). r(x, z) :- a(x, y), r(y, z).
"""
BEFORE = "%5 = delay (%0) : set{a: int64, m: int64}\n%6 = sink before (%5) : set{a: int64, m: int64}"
FEW = Copies(least=100)
FACTS = [(i % 20, i % 30, i % 7, i) for i in range(2000)]
SMALL = {"a": [(i, i % 5) for i in range(20)], "b": [(i, i % 4) for i in range(30)], "c": [(i, i) for i in range(7)]}


def star(make=on_shards, copies=FEW, program=STAR, **options) -> Driver:
    circuit = lower(check([parse(program)]))
    return Driver(make(circuit, **{"shards": 3, "copies": copies, **options}), circuit)


def loaded(**options) -> Driver:
    driver = star(**options)
    driver.insert(f=FACTS, **SMALL)
    return driver


def delete(driver, **rows):
    return driver.apply({name: [(row, -1) for row in table] for name, table in rows.items()})


def test_rows_of_a_star_stay_where_they_are():
    plan = loaded().engine.executor.plan
    moved = [step for step in plan.steps if isinstance(step, Send) and step.source == "f"]
    assert not moved
    of_wide = [step for step in plan.steps if isinstance(step, Search) and step.query.head.startswith("wide")]
    assert len(of_wide) == 4, "one piece for each table whose change is followed"
    assert plan.keys["f"] == plan.keys["f"][:1], "it is kept once"


def test_what_it_saves():
    with_copies, by_keys = loaded(), loaded(copies=None)
    new = {"f": [(i % 20, i % 30, i % 7, i) for i in range(5000, 5200)]}
    assert 2 * with_copies.insert(**new).rows_visited < 3 * by_keys.insert(**new).rows_visited
    held = [sum(shard.store.nbytes for shard in each.engine.executor.shards) for each in (with_copies, by_keys)]
    assert held[0] < held[1]
    assert with_copies.rows("wide") == by_keys.rows("wide")


def test_explain_tells_which_and_why(golden):
    engine = loaded().engine
    golden("shards/copies.txt", engine.explain("wide") + "\n")
    assert loaded(copies=None).engine.executor.copied == {}


@pytest.mark.parametrize("make", [on_shards, lambda circuit, **options: in_tasks(circuit, "job", **options)])
def test_a_copy_goes_when_its_table_grows_and_comes_back_when_it_shrinks(make):
    driver = loaded(make=make)
    more = [(100 + i, i % 5) for i in range(900)]
    kept = driver.engine.count("count_of")
    driver.insert(a=more)
    assert set(driver.engine.executor.copied) == {"b", "c"}
    assert (driver.engine.epoch, driver.engine.count("count_of")) == (2, kept)
    delete(driver, a=more)
    delete(driver, f=FACTS[:600])
    assert set(driver.engine.executor.copied) == {"a", "b", "c"}
    again = star(copies=None)
    again.insert(f=FACTS[600:], **SMALL)
    assert driver.everything() == again.everything()


def test_what_is_not_concerned_stays_as_it_is():
    driver = loaded()
    runs = [shard.states["wide"].contents.runs for shard in driver.engine.executor.shards]
    driver.engine.executor.place(copied={})
    assert [shard.states["wide"].contents.runs for shard in driver.engine.executor.shards] == runs
    assert "a everywhere" not in driver.engine.executor.plan.placed


def test_a_copy_comes_at_half_of_what_it_may_be_kept_with():
    program = star().engine.program
    rows = {"f": 1000, "a": 300, "b": 150, "c": 0}
    copies = Copies(least=1000)
    assert set(copies.chosen(program, rows, 3, {})) == {"b", "c"}
    assert set(copies.chosen(program, rows, 3, {"a": ""})) == {"a", "b", "c"}
    assert copies.chosen(program, rows, 4, {"a": ""}).keys() == {"c"}
    assert copies.chosen(program, rows | {"f": 999}, 3, {}) == {}
    limited = Copies(limit=2 * 150 * 64, least=1000)
    assert set(limited.chosen(program, rows, 3, {"a": ""})) == {"b", "c"}
    assert set(Copies.within(8 * limited.limit - 8).chosen(program, rows | {"f": 10_000}, 3, {})) == {"c"}


def test_a_view_has_a_copy_once_its_size_is_known():
    best = ".decl best(a: number, x: number) best(a, x) :- a(a, _), x = max y : { a(a, y) }."
    driver = star(program=f"{STAR} {best} .decl top(a: number, m: number) top(a, m) :- f(a, _, _, m), best(a, m).")
    driver.insert(f=FACTS, **SMALL)
    assert "best" not in driver.engine.executor.copied, "as many rows as a product has could come of it"
    for start in (3000, 4000):
        driver.insert(f=[(i % 20, i % 30, i % 7, i) for i in range(start, start + 150)])
    assert "best" in driver.engine.executor.copied


@dataclass(frozen=True)
class Elsewhere:
    """Rows that the driver has not."""

    rows: pa.Table

    def count(self) -> int:
        return self.rows.num_rows

    def to_arrow(self) -> pa.Table:
        return self.rows

    def parts(self) -> Iterator[pa.Table]:
        yield self.rows


MET = ".decl back(m: number, k: number) .input back .decl met(k: number, x: number) met(k, x) :- f(a, _, _, m), a(a, x)"


@pytest.mark.parametrize(("program", "first"), [(STAR, {"a", "b", "c"}), (f"{STAR}{MET}, back(m, k).", set())])
def test_rows_that_are_split_by_shard_already_stay_so(program, first):
    driver = star(program=program)
    key = driver.engine.executor.plan.placed["f"].key
    rows = {"f": FACTS, **SMALL, **({} if first else {"back": [(i, i) for i in range(2000)]})}
    batches = {name: Elsewhere(driver.batch(name, [(row, 1) for row in those])) for name, those in rows.items()}
    driver.engine.prepare(batches).commit()
    assert (driver.engine.executor.plan.placed["f"].key, set(driver.engine.executor.copied)) == (key, first)
    driver.insert(f=[(i % 20, i % 30, i % 7, i) for i in range(5000, 5700)])
    assert (driver.engine.executor.plan.placed["f"].key, set(driver.engine.executor.copied)) == (key, {"a", "b", "c"})


def test_a_program_that_remembers_epochs_has_copies_for_which_rows_are_sent_alone():
    circuit = parse_circuit(DELAYED)
    driver = Driver(on_shards(circuit, shards=2, copies=Copies(least=100)), circuit)
    other = Driver.of_program("local", circuit)
    changes = [
        {"f": [(i % 3, i) for i in range(20)], "a": [(i, i) for i in range(3)]},
        {"f": [(i % 3, i) for i in range(20, 200)]},
        {"f": [(i % 3, i) for i in range(200, 400)]},
        {"a": [(3, 7)], "f": [(3, 1)]},
    ]
    copied = []
    for rows in changes:
        epoch = {table: [(row, 1) for row in of_table] for table, of_table in rows.items()}
        assert driver.changes(epoch) == other.changes(epoch)
        copied.append(set(driver.engine.executor.copied))
    assert (copied[0], copied[-1]) == (set(), {"a"})
    assert driver.everything() == other.everything()


@pytest.mark.parametrize("delay", ["", BEFORE], ids=["forgets", "remembers"])
def test_a_program_that_remembers_epochs_keeps_a_copy_without_which_something_is_computed_anew(delay):
    """Places of a recursion in rounds begin with the recursion."""
    circuit = parse_circuit(f"{lower(check([parse(TWO_SIDED)]))}\n{delay}")
    driver = Driver(on_shards(circuit, shards=2, copies=Copies(least=50)), circuit)
    other = Driver.of_program("local", circuit)
    copied = []
    for first, count in ((0, 20), (20, 20), (100, 20), (200, 6), (210, 6), (220, 6)):
        epoch = {"f": [((i, i + 1), 1) for i in range(first, first + count)], "a": [((first + 2, 1 + first), 1)]}
        assert driver.changes(epoch) == other.changes(epoch)
        copied.append(set(driver.engine.executor.copied))
    for first in (1000, 2000):
        epoch = {"a": [((i, i + 1), 1) for i in range(first, first + 99, 2)]}
        assert driver.changes(epoch) == other.changes(epoch)
    copied.append(set(driver.engine.executor.copied))
    assert copied[-2:] == [{"a"}, {"a"} if delay else set()]
    assert driver.everything() == other.everything()


@pytest.mark.parametrize("copies", [None, FEW], ids=["never", "auto"])
def test_a_state_opens_under_each_choice(copies):
    driver, other = loaded(), star(copies=copies)
    other.engine.restore(saved(driver.engine.capture()))
    assert set(other.engine.executor.copied) == ({"a", "b", "c"} if copies else set())
    for each in (driver, other):
        each.insert(f=[(1, 1, 1, 9999)], a=[(77, 3)])
        delete(each, c=[(2, 2)])
    assert other.everything() == driver.everything()


def test_copies_that_are_multiplied_visit_no_more_than_pieces_by_keys():
    product = """
        .decl sums(x: number, y: number, z: number, s: number)
        sums(x, y, z, s) :- a(_, x), b(_, y), c(_, z), s = sum m : { f(p, q, r, m), a(p, x), b(q, y), c(r, z) }.
    """
    made = [loaded(program=STAR.split(".decl wide")[0] + product, copies=copies) for copies in (FEW, None)]
    for driver in made:
        driver.insert(**{name: [(i, i % n) for i in range(100, 200)] for name, n in (("a", 5), ("b", 4), ("c", 7))})
    changes = [{"a": [((300, 3), 1)]}, {"b": [((300, 2), 1)]}, {"c": [((6, 6), -1)]}, {"a": [((4, 4), -1)]}]
    visited = [[driver.apply(change).rows_visited for change in changes] for driver in made]
    assert set(made[0].engine.executor.copied) == {"a", "b", "c"}
    assert all(2 * with_copies <= 3 * by_keys for with_copies, by_keys in zip(*visited, strict=True)), visited
    assert made[0].rows("sums") == made[1].rows("sums")
