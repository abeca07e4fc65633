"""The store: names that last, orders and domains that come later, and what is forgotten."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.operators.binding import value_of
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.storage.arrangement import present
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.run import Run, consolidate
from deltic.engine.storage.state import Name, State
from deltic.engine.storage.store import Store
from deltic.program.definitions import Derived, Table
from deltic.program.program import Program, Relation
from deltic.values.types import Column, Schema, Type
from tests.conformance.programs import CLOSURE
from tests.differential.compare import batches_of, changes_between

Rows = dict[tuple[int, int], int]
DEFINED = {
    RelationKind.TABLE: Table("t"),
    RelationKind.BAG: Derived(distinct=False),
    RelationKind.SET: Derived(distinct=True),
}


def two_relations(kind: RelationKind) -> Store:
    """Relations r and s of two columns each, of which no query compares any."""
    schema = Schema((Column("x", Type.INT64), Column("y", Type.INT64)))
    store = Store()
    relations = {name: Relation(name, schema, DEFINED[kind], name) for name in "rs"}
    store.define(Program(relations, (), (), {name: name for name in "rs"}, {}), lambda literal: 0)
    return store


def change(store: Store, name: str, rows: Rows, ends: bool = True) -> None:
    """An epoch that changes one relation, until its end or before it."""
    state = store.states[name]
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    for domain, column in zip(state.domains, columns, strict=True):
        domain.include(int(column.min()), int(column.max()))
    store.fit()
    raw = [domain.encode(column) for domain, column in zip(state.domains, columns, strict=True)]
    words, weights = consolidate(state.layout.pack(raw, len(rows)), np.array(list(rows.values())))
    is_set = state.kind is RelationKind.SET
    run = state.change_set(words, weights) if is_set else Run(words, weights=weights)
    state.append(run)
    state.delta = run
    if ends:
        state.compact()
        store.end_epoch()


def contents(state: State, order: tuple[int, ...]) -> Rows:
    """What an arrangement holds, its columns in the relation's order."""
    arrangement = state.by_order[order]
    if not arrangement.runs:
        return {}
    words, weights = present(arrangement.runs)
    assert (np.lexsort(words[::-1]) == np.arange(words.shape[1])).all(), "in order"
    values = [d.decode(c).tolist() for d, c in zip(state.domains, arrangement.sorted().columns(words), strict=True)]
    return dict(zip(zip(*values, strict=True), weights.tolist(), strict=True))


@pytest.mark.parametrize("kind", [RelationKind.TABLE, RelationKind.BAG, RelationKind.SET])
@pytest.mark.parametrize("seed", range(5))
def test_an_order_that_comes_later_holds_what_one_that_was_there_holds(kind: RelationKind, seed: int) -> None:
    draw = random.Random(seed)
    store = two_relations(kind)
    state = store.states["r"]
    state.arrangement((0, 1))
    weights = (1,) if kind is RelationKind.TABLE else (1, 2, 3)
    expected: Rows = {}
    for _ in range(4):
        fresh = {(draw.randrange(-50, 50), draw.randrange(10**9)): draw.choice(weights) for _ in range(20)}
        change(store, "r", fresh)
        expected |= fresh
        gone = draw.sample(sorted(expected), 3)
        change(store, "r", {row: -expected.pop(row) for row in gone})
    clipped = {row: 1 if kind is RelationKind.SET else weight for row, weight in expected.items()}
    store.states["r"].arrangement((1, 0))
    assert contents(state, (1, 0)) == contents(state, (0, 1)) == clipped
    change(store, "r", {(7_000, -5): 1})
    assert contents(state, (1, 0)) == contents(state, (0, 1)) == {**clipped, (7_000, -5): 1}


@pytest.mark.parametrize("kind", [RelationKind.TABLE, RelationKind.BAG, RelationKind.SET])
@pytest.mark.parametrize("is_there", [True, False])
def test_an_order_that_comes_during_a_change_has_both_versions(kind: RelationKind, is_there: bool) -> None:
    store = two_relations(kind)
    state = store.states["r"]
    old: Rows = {(x, -x): 1 for x in range(20 * is_there)}
    if old:
        change(store, "r", old)
    moved: Rows = {(500, 7): 1, (500, 6): 1} | dict.fromkeys(list(old)[:3], -1)
    change(store, "r", moved, ends=False)
    arrangement = state.arrangement((1, 0))
    new = {row: weight for row in {**old, **moved} if (weight := old.get(row, 0) + moved.get(row, 0))}
    assert contents(state, (1, 0)) == new
    arrangement.runs, now = arrangement.before, arrangement.runs
    assert contents(state, (1, 0)) == old
    arrangement.runs = now
    assert state.delta is not None
    assert state.arranged(state.delta, (1, 0)) is now[-1]
    assert len(now[-1]) == len(moved)
    assert state.was_empty() is not is_there


@pytest.mark.parametrize("strategy", Strategy)
def test_a_recursive_relation_gets_an_order_with_its_iterations(strategy: Strategy) -> None:
    circuit = lower(check([parse(CLOSURE)]))
    early, late = IncrementalEngine(circuit, strategy), IncrementalEngine(circuit, strategy)
    early.executor.store.states["p"].arrangement((1, 0))
    edges = frozenset((i, i + 1) for i in range(9))
    for engine in (early, late):
        engine.apply(batches_of(circuit, changes_between({}, {"e": edges})))
    late.executor.store.states["p"].arrangement((1, 0))
    one, other = (present_with_times(engine.executor.running.states["p"]) for engine in (early, late))
    assert one == other
    assert one


def present_with_times(state: State) -> set[tuple[int, ...]]:
    runs = state.by_order[1, 0].runs
    return {(*row, t) for run in runs for *row, t in zip(*run.words.tolist(), run.times.tolist(), strict=True)}


def test_columns_are_given_one_domain() -> None:
    store = two_relations(RelationKind.BAG)
    change(store, "r", {(-(10**6), 1): 1, (5, 2): 2})
    change(store, "s", {(10**12, 3): 1, (10**12 + 9, 4): 3})
    store.states["s"].arrangement((1, 0))
    r, s = store.states["r"], store.states["s"]
    store.unify(r.domains[0], s.domains[0])
    assert not store.is_fitted()
    store.fit()
    assert r.domains[0] is s.domains[0]
    assert r.domains[0].fits(-(10**6), 10**12 + 9)
    assert contents(r, (0, 1)) == {(-(10**6), 1): 1, (5, 2): 2}
    assert contents(s, (0, 1)) == contents(s, (1, 0)) == {(10**12, 3): 1, (10**12 + 9, 4): 3}
    assert store.is_fitted()


def test_a_program_that_compares_columns_unifies_their_domains() -> None:
    """Columns that an earlier program compared stay together, whatever the later one says of them."""
    apart = "\n".join(f".decl {t}(x: number)\n.input {t}\n.decl v{t}(x: number)\nv{t}(x) :- {t}(x).\n" for t in "abcd")
    first = lower(check([parse(apart + ".decl v(x: number)\nv(x) :- a(x), b(x).\n")]))
    second = lower(check([parse(apart + ".decl v(x: number)\nv(x) :- c(x), b(x).\n")]))
    engine = IncrementalEngine(first)
    engine.apply(batches_of(first, changes_between({}, {t: frozenset([(i,)]) for i, t in enumerate("abcd", 10**6)})))
    store = engine.executor.store
    store.define(IncrementalEngine(second).program, partial(value_of, interner=store.interner))
    store.fit()
    a, b, c, d = (store.states[name].domains[0] for name in "abcd")
    assert a is b is c
    assert d is not a
    assert [engine.read(name).to_pylist() for name in "abcd"] == [[{"x": 10**6 + i}] for i in range(4)]


def test_a_relation_is_dropped() -> None:
    store = two_relations(RelationKind.BAG)
    change(store, "r", {(1, 2): 1})
    store.drop(["r"])
    assert set(store.states) == {"s"}
    assert {name.relation for name in store.arrangements()} == {"s"}
    assert store.nbytes == 0


NAMED = [
    ".decl e(x: number, y: number)\n.input e",
    ".decl f(x: number, y: number)\n.input f",
    ".decl p(x: number, y: number)\np(x, y) :- e(x, y).\np(x, z) :- p(x, y), f(y, z).",
    ".decl q(x: number)\nq(x) :- e(x, y), !f(y, x), p(x, _).",
]


@pytest.mark.parametrize("seed", range(6))
def test_names_do_not_depend_on_the_order_of_declarations(seed: int) -> None:
    shuffled = random.Random(seed).sample(NAMED, len(NAMED))
    names = [
        set(IncrementalEngine(lower(check([parse("\n".join(t))]))).executor.store.arrangements())
        for t in (NAMED, shuffled)
    ]
    assert names[0] == names[1]


def test_sizes_are_those_of_arrangements() -> None:
    store = two_relations(RelationKind.SET)
    change(store, "r", {(i, i): 1 for i in range(100)})
    store.states["r"].arrangement((1, 0))
    sizes = {name: arrangement.nbytes for name, arrangement in store.arrangements().items()}
    assert sizes[Name("r", "rows", (1, 0))] == sizes[Name("r", "counts", (0, 1))] == 800
    assert sum(sizes.values()) == store.nbytes
    assert str(Name("r", "rows", (1, 0))) == "r rows [1,0]"
