"""What a change of definitions costs on shards, where rows are after it, and what a failure leaves behind.

Catches relations that are computed anew, sent or written anew although nothing that they are computed from changed;
rows that are kept twice where a table could have moved; and an engine that is neither the old nor the new one after a
failure. That the views are right, see `tests.differential.test_evolution` and `tests.conformance.test_evolution`.
"""

from __future__ import annotations

import pytest

from deltic.circuit.reading import parse_circuit
from deltic.engine.executors.defined import DefinedStep
from deltic.engine.executors.shards.files import files_of, read_description
from deltic.engine.executors.shards.lay_out import lay_out
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.reference import from_arrow
from deltic.engine.storage.store import Store
from deltic.errors import IterationLimitError
from deltic.program.compiling import program_of
from tests.conformance.engines import Driver, in_tasks, on_shards
from tests.conformance.test_evolution import DELAY
from tests.engine.test_evolution import circuit_of

TABLES = """
    .decl sale(shop: number, item: number, n: number) .input sale
    .decl shop(shop: number, town: symbol) .input shop
"""
VIEWS = [f".decl v{i}(item: number, n: number) v{i}(i, n) :- sale(s, i, n), n > {i}, s != {i}." for i in range(8)] + [
    ".decl sold(shop: number, n: number) sold(s, n) :- sale(s, _, _), n = sum m : { sale(s, _, m) }.",
    ".decl local(item: number, town: symbol) local(i, t) :- sale(s, i, _), shop(s, t).",
]
TEN = TABLES + " ".join(VIEWS)
ROWS = {
    "sale": [(i % 50, i, i % 7 + 1) for i in range(5_000)],
    "shop": [(i, f"town {i % 9}") for i in range(50)],
}
ADDED = {
    "of a small table": (".decl towns(t: symbol) towns(t) :- shop(_, t).", 60),
    "of a small view": (".decl best(s: number) best(s) :- sold(s, n), n > 300.", 60),
    "a join from the small side": (
        '.decl here(i: number) here(i) :- local(i, t), sale(s, i, _), shop(s, t), t = "town 1".',
        13_000,
    ),
    "nothing": ("", 0),
}


def engine_of(program: str, **options) -> Driver:
    circuit = circuit_of(program)
    return Driver(on_shards(circuit, **{"shards": 3, **options}), circuit)


@pytest.mark.parametrize("name", ADDED)
def test_a_view_added_to_ten_costs_what_it_reads(name):
    text, most = ADDED[name]
    driver = engine_of(TEN)
    first = driver.insert(**ROWS).rows_visited
    runs = [shard.states["sale"].contents.runs for shard in driver.engine.executor.shards]
    result = driver.engine.extend(circuit_of(TEN, text))
    assert first > 50_000
    assert result.rows_visited <= most, result.rows_visited
    assert {f"v{i}" for i in range(8)} | {"sale", "shop", "sold", "local"} <= set(result.extension.kept)
    assert "sale" not in result.extension.moved
    assert [shard.states["sale"].contents.runs for shard in driver.engine.executor.shards] == runs


def test_a_job_that_adds_a_view_writes_that_view_alone():
    circuit = circuit_of(TEN)
    driver = Driver(in_tasks(circuit, "job"), circuit)
    loaded = driver.insert(**ROWS)
    engine = driver.engine

    def runs():
        return {
            name
            for state in engine.executor.holder.states.values()
            for name in files_of(read_description(engine.executor.holder.files, state))
        }

    before = runs()
    result = engine.extend(circuit_of(TEN, ADDED["of a small table"][0]))
    assert before < runs()
    assert result.bytes_written < loaded.bytes_written / 10
    assert dict(from_arrow(result.changes["towns"])) == {(f"town {i}",): 1 for i in range(9)}


def test_a_table_moves_where_its_rows_would_be_kept_twice():
    """Loaded before anybody asks for its rows by some column, it is spread by all of them."""
    driver = engine_of(TABLES)
    driver.insert(**ROWS)
    join = circuit_of(TABLES, VIEWS[-1])
    assert {"sale", "shop"} <= set(driver.engine.extend(join).extension.moved)
    plan = driver.engine.executor.plan
    assert {name: plan.key_text(name) for name in plan.kept if plan.placed[name].home == "sale"} == {"sale": "by shop"}
    assert sum(len(s.states["sale"].contents) for s in driver.engine.executor.shards) == 5_000
    assert "moved sale" in driver.engine.explain("local") or "moved shop" in driver.engine.explain("local")
    changes = driver.apply({"sale": [((1, 1, 2), -1)]}, "error").changes
    assert dict(from_arrow(changes["local"])) == {(1, "town 1"): -1}


def test_a_table_stays_where_others_ask_for_it():
    driver = engine_of(TABLES + VIEWS[-1])
    driver.insert(**ROWS)
    by_item = circuit_of(TABLES, VIEWS[-1], ".decl both(i: number) both(i) :- sale(s, i, _), sale(t, i, _), s < t.")
    assert not driver.engine.extend(by_item).extension.moved
    plan = driver.engine.executor.plan
    assert {plan.key_text(name) for name in plan.kept if plan.placed[name].home == "sale"} == {"by shop", "by item"}


def test_a_recursion_that_takes_rounds_now_leaves_its_one_shard():
    edges = ".decl edge(x: number, y: number) .input edge .decl path(x: number, y: number) path(x, y) :- edge(x, y). "
    program = program_of(circuit_of(edges + "path(x, z) :- path(x, y), path(y, z)."))
    assert len(lay_out(program).keys["path"][0]) == 1
    assert lay_out(program, there={"path": ((),)}).keys == lay_out(program).keys


def test_what_trusted_changes_left_of_a_table_moves_with_it():
    driver = engine_of(TABLES)
    driver.apply({"sale": [((1, 1, 1), 2), ((2, 2, 2), -1)], "shop": [((1, "a"), 1), ((2, "b"), 1)]}, "trust")
    assert driver.extend(circuit_of(TABLES, VIEWS[-1])) == {"local": {(1, "a"): 1}}
    assert "sale" in driver.engine.extension.moved
    again = driver.apply({"sale": [((1, 1, 1), -1), ((2, 2, 2), 2)]}, "trust").changes
    assert dict(from_arrow(again["local"])) == {(2, "b"): 1}


def test_what_is_due_is_due_still_where_definitions_are_taken_back():
    circuit = parse_circuit(DELAY)
    log = Driver(on_shards(circuit, shards=2), circuit)
    log.insert(seen=[(1, 7)])
    twice = parse_circuit(f"{DELAY}\n%3 = sink again (%1) : set{{at: int64, who: int64}}")
    for _ in range(2):
        with log.engine.prepare_extension(twice) as epoch:
            changes = {name: dict(from_arrow(rows)) for name, rows in epoch.result.changes.items()}
        assert changes == {"before": {(1, 7): 1}, "again": {(1, 7): 1}}
        assert log.rows("before") == set()
    assert log.changes({}) == {"before": {(1, 7): 1}}


def test_a_view_that_is_replaced_when_something_is_due_changes_by_both():
    circuit = parse_circuit(DELAY)
    log = Driver(on_shards(circuit, shards=2), circuit)
    log.insert(seen=[(1, 7), (2, 8)])
    seen = DELAY.replace("sink before (%1)", "sink before (%0)")
    assert log.extend(parse_circuit(seen)) == {"before": {(1, 7): 1, (2, 8): 1}}
    log.extend(circuit)
    assert log.changes({}) == {"before": {(1, 7): 1, (2, 8): 1}}


@pytest.mark.parametrize(("of", "failing"), [(Shard, "_search"), (DefinedStep, "run"), (Shard, "end"), (Store, "fit")])
@pytest.mark.parametrize("executor", ["process", "job"])
def test_a_failure_leaves_the_engine_as_it_was(of, failing, executor, monkeypatch):
    circuit = circuit_of(TEN)
    driver = Driver(in_tasks(circuit, executor), circuit)
    driver.insert(sale=ROWS["sale"][:40], shop=ROWS["shop"])
    before, plan = driver.everything(), driver.engine.executor.plan
    other = circuit_of(TEN, ".decl m(n: number) m(n) :- n = count : { sold(_, _) }.")

    def fail(self, *_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(of, failing, fail)
        with pytest.raises(MemoryError):
            driver.engine.extend(other)
    assert driver.engine.executor.plan is plan
    assert driver.engine.epoch == 1
    assert driver.everything() == before
    driver.insert(sale=[(1, 10_000, 3)])
    assert dict(from_arrow(driver.engine.extend(other).changes["m"])) == {(40,): 1}


def test_a_recursion_without_an_end_is_refused():
    driver = engine_of(TEN, iteration_limit=20)
    driver.insert(shop=[(1, "a")])
    with pytest.raises(IterationLimitError, match="20 iterations"):
        driver.engine.extend(circuit_of(TEN, ".decl n(x: number) n(x) :- shop(x, _). n(x + 1) :- n(x)."))
    driver.insert(shop=[(2, "b")])
    assert driver.rows("shop", table=True) == {(1, "a"), (2, "b")}
