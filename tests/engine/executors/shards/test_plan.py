"""Plans on shards: golden texts, and what they promise about where rows are.

Catches an exchange where none is needed, a relation that is kept twice, and a recursion that is gathered on one shard
though it preserves a key, or could take rounds.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.executors.shards.lay_out import lay_out
from deltic.engine.executors.shards.plan_steps import Search, searches_of
from deltic.engine.executors.shards.restrict import restrict
from deltic.program.compiling import program_of
from tests.conformance.engines import on_shards

EDGE = ".decl edge(x: number, y: number) .input edge\n"
PROGRAMS = {
    "sales": """
        .decl line(o: number, p: number, price: number) .input line
        .decl orders(o: number, c: number) .input orders
        .decl customer(c: number, nation: symbol) .input customer
        .decl revenue(nation: symbol, s: number)
        revenue(n, s) :- customer(_, n), s = sum price : { line(o, p, price), orders(o, c), customer(c, n) }.
    """,
    "star": EDGE + ".decl star(x: number, y: number) star(x, y) :- edge(x, y), edge(x, z), z > y, !edge(x, x).",
    "product": EDGE + ".decl p(x: number) .input p .decl all(x: number, y: number) all(x, y) :- p(x), edge(y, 7).",
    "totals": EDGE + ".decl top(x: number) top(x) :- edge(x, y), n = count : { edge(_, _) }, y > n.",
    "computed": EDGE + ".decl next(x: number, z: number) next(x, z) :- edge(x, y), edge(y + 1, z).",
    "reach": EDGE + ".decl reach(x: number, y: number) reach(x, y) :- edge(x, y). "
    "reach(x, z) :- reach(x, y), edge(y, z).",
    "doubling": EDGE + ".decl reach(x: number, y: number) reach(x, y) :- edge(x, y). "
    "reach(x, z) :- reach(x, y), reach(y, z).",
    "shortest": ".decl edge(x: number, y: number, n: number) .input edge .decl far(x: number, d: number) far(0, 0). "
    "far(y, d) :- edge(_, y, _), d = min c : { edge(x, y, n), far(x, v), c = v + n }.",
}


def circuit_of(name):
    return lower(check([parse(PROGRAMS[name])]))


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_plans(name, golden):
    golden(f"shards/{name}.txt", str(lay_out(program_of(circuit_of(name)))))


def test_a_row_that_is_to_be_absent_whatever_the_key_is_looked_for_in_a_copy():
    counts = "n = count : { p(n) }, n = count : { p(y) }"
    program = f"{EDGE} .decl p(x: number) .input p .decl q(x: number, n: number) q(x, n) :- edge(x, y), {counts}."
    plan = lay_out(program_of(lower(check([parse(program)]))))
    assert any("(0)" in str(step) and "everywhere" in str(step) for step in plan.steps)


def test_probes_by_one_key_are_one_piece():
    searches = searches_of(lay_out(program_of(circuit_of("star"))).steps)
    of_star = [len(s.query.body.atoms) + len(s.query.body.absent) for s in searches if s.query.head == "star"]
    assert of_star == [3, 3, 3]


def test_a_change_takes_the_stages_of_what_follows_it():
    plan = lay_out(program_of(circuit_of("sales")))
    of_lines = restrict(plan, {"line"}, ())
    assert (len(of_lines.stages), len(plan.stages)) == (3, 4)
    followed = {s.query.delta.relation for s in of_lines.steps if isinstance(s, Search)}
    assert followed.isdisjoint({"orders", "orders by c", "customer"})
    assert restrict(plan, set(), ()).steps == ()


def test_a_first_load_follows_each_rule_once():
    plan = lay_out(program_of(circuit_of("sales")))
    first = restrict(plan, {"line", "orders", "customer"}, plan.needs)
    followed = [s.query.delta.relation for s in searches_of(first.steps) if "rows#" in s.query.head]
    assert followed == ["customer by c"]


def test_recursions_are_on_all_shards():
    edges = [(i % 97, (i * 31) % 97) for i in range(300)]
    rows = pa.table({"x": [x for x, _ in set(edges)], "y": [y for _, y in set(edges)]})
    batch = rows.append_column(WEIGHT, pa.array([1] * rows.num_rows))
    held = {}
    for name in ("reach", "doubling"):
        engine = on_shards(circuit_of(name), shards=4)
        engine.apply({"edge": batch})
        held[name] = [len(shard.states["reach"].contents) for shard in engine.executor.shards]
    assert min(held["reach"]) > 0
    assert min(held["doubling"]) > 0
    assert sum(held["reach"]) == sum(held["doubling"])


def test_an_epoch_has_the_steps_that_its_changes_reach():
    circuit = circuit_of("sales")
    placed = on_shards(circuit, shards=2).executor.placed
    of_lines = placed.for_epoch({"line"}, ())
    assert [step.stage for step in of_lines.plan.steps] == [
        step.stage for step in restrict(placed.plan, {"line"}, ()).steps
    ]
    assert len(of_lines.plan.stages) < len(placed.plan.stages)
    assert placed.for_epoch({"line"}, frozenset()) is of_lines
    assert placed.for_epoch({"orders"}, ()) is not of_lines
