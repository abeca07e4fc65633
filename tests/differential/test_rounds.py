"""Recursions that preserve no key, in rounds of exchanges over shards, against the reference, under random changes.

Catches a derivation that is followed twice or never because two pieces of a query read versions of different rounds; a
row that supports itself after what it came from is gone; an iteration that is lost on the way; rows that a shard has
packed anew while others waited; a place of a relation that later strata find as it was before; a group whose rows are
on several shards, or are looked at before all of them have come, or no more in the job after the one that changed it.
"""

from __future__ import annotations

import random
from functools import partial

import pytest

from deltic.circuit.graph import Circuit
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.shards.lay_out import lay_out
from deltic.engine.executors.shards.tasks import total
from deltic.engine.executors.spark.placement import ShardPlace
from deltic.program.compiling import program_of
from tests.conformance.engines import Driver, in_tasks, on_shards
from tests.differential.compare import MakeEngine, first_disagreement
from tests.engine.executors.shards.jobs import run_here

E = ".decl e(x: number, y: number) .input e\n"
PROGRAMS = {
    "doubling": E + ".decl p(x: number, y: number) p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "same generation": E
    + """
        .decl sg(x: number, y: number)
        sg(x, y) :- e(p, x), e(p, y), x != y.
        sg(x, y) :- e(a, x), sg(a, b), e(b, y).
        .decl most(n: number) most(n) :- n = count : { sg(_, _) }.
        .decl alone(x: number) alone(x) :- e(_, x), !sg(x, _).
    """,
    "three in a row": E
    + ".decl t(x: number, y: number) t(x, y) :- e(x, y), x < y. t(x, w) :- t(x, y), e(y, z), t(z, w), !e(w, x).",
    "two, mutual": E
    + """
        .decl f(x: number, y: number) .input f
        .decl a(x: number, y: number)
        .decl b(x: number, y: number)
        a(x, y) :- e(x, y).
        a(x, z) :- b(x, y), b(y, z).
        b(y, x) :- f(x, y).
        b(x, z) :- a(x, y), b(z, y), !f(x, z).
        .decl both(x: number, y: number) both(x, y) :- a(x, y), b(y, x).
    """,
    "points-to, CSPA": """
        .decl assign(d: number, s: number) .input assign
        .decl deref(p: number, v: number) .input deref
        .decl flow(x: number, y: number)
        .decl valias(x: number, y: number)
        .decl malias(x: number, y: number)
        malias(y, x) :- assign(y, x).
        malias(x, w) :- deref(y, x), valias(y, z), deref(z, w).
        flow(x, y) :- assign(x, y).
        flow(x, y) :- assign(x, z), malias(z, y).
        flow(x, y) :- flow(x, z), flow(z, y).
        valias(x, y) :- flow(z, x), flow(z, y).
        valias(x, y) :- flow(z, x), malias(z, w), flow(w, y).
    """,
    "texts, ordered and made": """
        .decl w(x: symbol, y: symbol) .input w
        .decl j(x: symbol, y: symbol)
        j(x, y) :- w(x, y).
        j(x, cat(y, "-")) :- j(x, y), j(y, _), strlen(y) < 4.
        j(x, z) :- j(x, y), j(y, z), x < z.
    """,
    "products": E + ".decl q(x: number) .decl ok() q(x) :- e(x, x). ok() :- q(x), q(y), e(x, y), x != y. "
    "q(y) :- ok(), q(x), e(x, y).",
    "one upon the other": E
    + """
        .decl p(x: number, y: number) p(x, y) :- e(x, y), x != y. p(x, z) :- p(x, y), p(y, z).
        .decl c(x: number, y: number) c(x, y) :- p(x, y), p(y, x). c(x, z) :- c(x, y), !e(x, z), c(z, y).
        .decl r(x: number) r(x) :- e(x, 0). r(y) :- r(x), c(x, y).
    """,
    "one beside the other, and what neither leads to": E
    + """
        .decl f(x: number, y: number) .input f
        .decl p(x: number, y: number) p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).
        .decl q(x: number, y: number) q(x, y) :- f(x, y). q(x, z) :- q(x, y), q(y, z).
        .decl n(x: number, c: number) n(x, c) :- e(x, _), c = count : { e(x, y), f(y, _) }.
        .decl l(x: number, c: number) l(x, c) :- n(x, c), f(c, _), !p(x, c).
        .decl m(x: number, c: number) m(x, c) :- e(x, _), c = count : { p(x, y), q(y, x) }.
        m(x, c) :- e(x, y), f(x, y), c = x + y.
        .decl r(x: number, y: number) r(x, y) :- m(x, y). r(x, z) :- r(x, y), r(y, z), !q(z, x).
    """,
    "every path ends": E
    + """
        .decl n(x: number) .input n
        .decl tree(x: number) tree(x) :- n(x), forall y: (e(x, y) -> tree(y)).
        .decl height(x: number, h: number)
        height(x, 0) :- n(x), !e(x, _).
        height(x, h + 1) :- n(x), h = max m : { e(x, y), height(y, m) }, forall y: (e(x, y) -> height(y, _)).
        .decl below(x: number, c: number) below(x, c) :- tree(x), c = count : { e(x, y), tree(y) }.
    """,
    "shortest paths": """
        .decl e(x: number, y: number, n: number) .input e
        .decl d(x: number, n: number)
        d(0, 0) :- e(0, _, _).
        d(y, n) :- e(_, y, _), n = min c : { e(x, y, w), d(x, m), c = m + w }.
        .decl last(x: number) last(x) :- d(x, n), n = max m : { d(_, m) }.
    """,
    "bill of materials": E
    + """
        .decl v(x: number, m: number) .input v
        .decl s(x: number, n: number)
        s(x, n) :- v(x, _), n = sum m : { v(x, m), y = x ; e(x, y), x < y, s(y, m) }.
    """,
    "greatest of texts": """
        .decl w(x: symbol, y: symbol) .input w
        .decl most(x: symbol, n: number)
        most(x, n) :- w(x, _), n = max m : { m = strlen(x) ; w(x, y), most(y, m) ; w(y, x), most(y, m) }.
        .decl named(x: symbol) named(cat(x, "'")) :- most(x, 2).
    """,
    "values": E + ".decl d(x: number, y: number, n: number) d(x, y, 1) :- e(x, y). "
    "d(x, z, n + m) :- d(x, y, n), d(y, z, m), n + m < 6.",
}

LED = """
    .decl e(x: number, y: number) .input e
    .decl f(x: number, y: number) .input f
    .decl n(x: number, c: number) n(x, c) :- e(x, _), c = count : { e(x, y), f(y, _) }.
    .decl g(x: number, z: number) g(x, z) :- e(x, y), f(y, z), n(x, c), c > 0.
    .decl p(x: number, y: number) p(x, y) :- g(x, y), e(x, y). p(x, z) :- p(x, y), p(y, z).
"""


def circuit_of(name: str) -> Circuit:
    return lower(check([parse(PROGRAMS[name])]))


def random_run(rng: random.Random, circuit: Circuit, epochs: int):
    """Contents of the tables: some at first, then some rows fewer and more at a time, at last none and all again."""
    values = 5 + rng.randrange(4)
    of = {"int64": range(values), "string": ["", "a", "b-", "b", "ab", "zz", "c"]}
    tables = {op.name: op.schema for op in circuit.operators if op.keyword == "source"}
    contents: dict[str, frozenset] = dict.fromkeys(tables, frozenset())
    run = []
    for _ in range(epochs):
        for name, schema in tables.items():
            rows = {tuple(rng.choice(of[str(c.type)]) for c in schema) for _ in range(rng.choice([0, 1, 3, 8]))}
            gone = {row for row in contents[name] if rng.random() < rng.choice([0, 0.1, 0.4])}
            contents[name] = frozenset((contents[name] - gone) | rows)
        run.append(dict(contents))
    return [*run, dict.fromkeys(tables, frozenset()), run[-1]]


def compare(name: str, seeds: range, epochs: int = 6, make: MakeEngine | None = None) -> None:
    circuit = circuit_of(name)
    for seed in seeds:
        run = random_run(random.Random(seed), circuit, epochs)
        found = first_disagreement(circuit, run, make or partial(on_shards, shards=1 + seed % 4))
        if found is not None:
            pytest.fail(f"seed {seed}\n{PROGRAMS[name]}\n{run}\n{found}", pytrace=False)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_rounds(name):
    assert lay_out(program_of(circuit_of(name))).iterated
    compare(name, range(1, 2), epochs=4)


def test_an_epoch_that_is_given_up_leaves_layouts_for_which_queries_are_ready():
    compare("values", range(101, 102), epochs=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_many_rounds(name):
    compare(name, range(105, 108))


def growing(circuit: Circuit, executor: ShardPlace | None, shards: int = 2) -> IncrementalEngine:
    """Recursions begin on one shard, and grow out of it, and back, at no more rows than these tests have."""
    options = {"shards": shards, "rounds": "auto", "task_memory": 900}
    return on_shards(circuit, **options) if executor is None else in_tasks(circuit, executor, few=5, **options)


@pytest.mark.parametrize("name", ["doubling", "one upon the other", "texts, ordered and made"])
def test_growing_into_rounds(name):
    compare(name, range(30, 31), epochs=3, make=partial(growing, executor=None))


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["process", "job"])
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_growing_into_rounds_on_many_ways(name, executor):
    compare(name, range(40, 42), make=partial(growing, executor=executor))


def by_jobs(few: int) -> MakeEngine:
    """Each round is a job, but for those for which no more than a few rows wait."""
    return lambda circuit: in_tasks(circuit, "job", few=few)


@pytest.mark.parametrize("few", [pytest.param(0, marks=pytest.mark.slow), 5, 1000])
def test_rounds_as_jobs(few):
    compare("doubling", range(few, few + 1), epochs=2, make=by_jobs(few))


@pytest.mark.slow
def test_what_a_job_has_changed_of_a_group_the_next_one_knows():
    """The group of 0 has entries at many iterations, and is looked at in all of them once the first one has changed."""
    chain = [(i, i + 1) for i in range(1, 6)]
    full = {"v": frozenset((i, i + 1) for i in range(7)), "e": frozenset([*chain, *((0, i) for i in range(1, 7))])}
    run = [full, {**full, "e": full["e"] - {(0, 6)}}, {**full, "e": full["e"] - {(0, 3)}}]
    found = first_disagreement(circuit_of("bill of materials"), run, by_jobs(0))
    assert found is None, found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"doubling", "points-to, CSPA"}))
def test_many_rounds_as_jobs(name):
    compare(name, range(300, 301), epochs=2, make=by_jobs(12))


def test_behind_rounds_nothing_is_computed_again():
    visited = dict[str, int]()

    def run(letters, tasks, shards, what):
        found = list(run_here(letters, tasks, shards, what))
        visited[what] = total(found).visited
        return found

    edges = [(i, (i * 7) % 40 + 40 * (i % 2)) for i in range(40)]
    circuit = lower(check([parse(LED)]))
    Driver(in_tasks(circuit, "job", few=0, run_tasks=run), circuit).insert(e=edges, f=[(y, x) for x, y in edges])
    begin, *rounds, last = visited
    assert (begin, last) == ("epoch 1: p: begin", "epoch 1: 1 stage: n, g, p")
    assert rounds
    assert visited[begin] > 500
    assert not visited[last]


def test_jobs_and_reports_tell_the_rounds():
    circuit, called = circuit_of("doubling"), list[str]()

    def run(letters, tasks, shards, what):
        called.append(what)
        return run_here(letters, tasks, shards, what)

    engine = in_tasks(circuit, "job", few=0, run_tasks=run)
    chain = [(i, i + 1) for i in range(4)]
    report = Driver(engine, circuit).insert(e=chain).components[0]
    rounds = [f"epoch 1: p: iteration {i}" for i in (1, 2, 3, 4)]
    assert called == ["epoch 1: p: begin", *rounds, "epoch 1: 1 stage: p"]
    assert (report.action, report.reason) == ("bootstrap", "in 4 rounds over 2 shards, 4 of them a job each")
    assert (report.rows_in, report.rows_out) == (4, 10)
    assert "in rounds of exchanges: no key is handed on by all rules" in engine.explain("p")
