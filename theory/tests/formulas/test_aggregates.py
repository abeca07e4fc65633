"""Aggregates, a construct that is registered [FIX §4.3], inside recursion: against their definition, and maintained.

Catches a choice of values that is missed or made twice, a guard that overlooks a change of the range or of a value, and
changes of tables and of derived values that are taken against the wrong ones.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltic_theory.boolean import Change
from deltic_theory.formulas.aggregates import AGGREGATES, Aggregate
from deltic_theory.formulas.derivative import FIGURE_2
from deltic_theory.formulas.meaning import denote
from deltic_theory.formulas.over_deletion import over_deletion
from deltic_theory.formulas.programs import (
    FACT_CHANGES,
    FormulaProgram,
    Predicate,
    changed_tables,
    everything_removed,
    maintain,
    rows_of,
    semantics,
    semantics_incrementally,
)
from deltic_theory.formulas.relations import ROW_CHANGES, Model
from deltic_theory.formulas.syntax import Const, Equal, Exists, Plus, Var, atom, exists
from deltic_theory.law import Law, check

NODES = range(5)


def rows(*pairs):
    return frozenset(pairs)


HEIGHT = Aggregate("k", "max", "p", ("c",), atom("child", "n", "c"), atom("height", "c", "p"))
HEIGHTS = FormulaProgram(
    {
        "height": Predicate(
            ("n", "h"),
            (atom("node", "n") & ~Exists("c", atom("child", "n", "c")) & Equal(Var("h"), Const(0)))
            | (Exists("k", HEIGHT & Equal(Var("h"), Plus(Var("k"), Const(1))))),
        )
    }
)


@pytest.mark.law("FIX Aggregates")
def test_the_height_of_a_tree():
    tables = {
        "node": frozenset((n,) for n in range(6)),
        "child": rows((0, 1), (0, 2), (2, 3), (3, 4)),
    }
    wanted = {(0, 3), (1, 0), (2, 2), (3, 1), (4, 0), (5, 0)}
    assert set(rows_of(semantics(HEIGHTS, tables), "height")) == wanted
    assert semantics_incrementally(HEIGHTS, tables) == semantics(HEIGHTS, tables)
    changes = {"child": Change(rows((4, 5)), rows((0, 1)))}
    old = semantics(HEIGHTS, tables)
    start = over_deletion(HEIGHTS, tables, changes, old)
    assert start == everything_removed(old)
    new = FACT_CHANGES.plus(old, maintain(HEIGHTS, tables, changes, old, start))
    assert new == semantics(HEIGHTS, changed_tables(tables, changes))
    assert set(rows_of(new, "height")) == {(0, 4), (1, 0), (2, 3), (3, 2), (4, 1), (5, 0)}


def program_of(function, more):
    """Values of nodes: those of a table, and an aggregate of their children's values with `more` added."""
    found = Aggregate("k", function, "w", ("c",), atom("child", "n", "c"), atom("value", "c", "w"))
    step = Exists("k", atom("node", "n") & found & Equal(Var("v"), Plus(Var("k"), Const(more))))
    return FormulaProgram({"value": Predicate(("n", "v"), atom("base", "n", "v") | step)})


def values_by_definition(function, more, tables):
    """The same without formulas, round by round: one value for each choice of the children's values."""
    children = {n: [c for m, c in tables["child"] if m == n] for (n,) in tables["node"]}
    found = {n: {v for m, v in tables["base"] if m == n} for n in NODES}
    while True:
        grown = {n: set(values) for n, values in found.items()}
        for n, of in children.items():
            results = {AGGREGATES[function](choice) for choice in product(*(found[c] for c in of))}
            grown[n] |= {result + more for result in results - {None}}
        if grown == found:
            return {(n, v) for n, values in found.items() for v in values}
        found = grown


@st.composite
def updates(draw, cyclic):
    """Tables of nodes, of their children and of values of theirs, several to a node now and then, with changes."""
    some = {
        "node": [(n,) for n in NODES],
        "child": [(n, c) for n in NODES for c in NODES if n < c or cyclic],
        "base": [(n, v) for n in NODES for v in range(3)],
    }
    tables = {name: draw(st.frozensets(st.sampled_from(of), min_size=3, max_size=5)) for name, of in some.items()}
    changes = {}
    for name, of in some.items():
        up, down = (draw(st.frozensets(st.sampled_from(of), max_size=2)) for _ in range(2))
        changes[name] = Change(up - down, down)
    return tables, changes


@pytest.mark.law("FIX Aggregates", "FIX Cor 46", "FIX Cor 47")
@pytest.mark.parametrize(
    ("function", "more", "cyclic"),
    [(function, more, False) for function in AGGREGATES for more in (0, 1)] + [("min", 0, True), ("max", 0, True)],
)
@settings(max_examples=15)
@given(st.data())
def test_random_aggregates_in_recursion(function, more, cyclic, data):
    """On graphs without cycles, and on any where nothing grows around a cycle."""
    program, (tables, changes) = program_of(function, more), data.draw(updates(cyclic))
    changed = changed_tables(tables, changes)
    old, new = semantics(program, tables), semantics(program, changed)
    assert set(rows_of(old, "value")) == values_by_definition(function, more, tables)
    assert set(rows_of(new, "value")) == values_by_definition(function, more, changed)
    assert semantics_incrementally(program, tables) == old
    start = over_deletion(program, tables, changes, old)
    assert FACT_CHANGES.plus(old, maintain(program, tables, changes, old, start)) == new


@pytest.mark.law("FIX Aggregates")
def test_the_papers_rule_for_aggregates_holds_for_growing_values_read_new():
    """Δ(r = agg(p)(vs | T | U)) = ∃vs.(T ∧ ΔU) ∧ r = agg(p)(vs | T | U), where T stays, U only grows, and the second
    conjunct is read after the change. Read before it, as it is printed, it finds nothing new."""
    height = Aggregate("h", "max", "p", ("c",), atom("child", "n", "c"), atom("height", "c", "p"))
    d = FIGURE_2.without_changes_of("child")
    guard = exists("c", "p", height.range & d.up(height.body))
    read_new, read_old = guard & d.next(height), guard & height
    columns = ("n", "h")

    def with_values(before, added):
        relations = {"child": rows((0, 1), (0, 2)), "height": before}
        return Model(relations, {"height": Change(added, frozenset())}, (0, 1, 2))

    def gains(formula):
        def result(before, added):
            model = with_values(before, added)
            change = Change(denote(formula, columns, model), frozenset())
            return ROW_CHANGES.plus(denote(height, columns, model), change)

        return result

    values = st.frozensets(st.tuples(st.sampled_from([1, 2]), st.integers(0, 2)), max_size=4)
    law = Law(
        "not a derivative",
        "f(U ∪ ΔU) = f(U) ∪ Δf",
        ("U", "ΔU"),
        lambda before, added: denote(height, columns, with_values(before, added).changed()),
        gains(read_new),
    )
    check([law], {"U": values, "ΔU": values}, examples=100)
    none, all_values = rows(), rows((1, 0), (2, 1))
    assert denote(read_old, columns, with_values(none, all_values)) == set()
    assert denote(read_new, columns, with_values(none, all_values)) == {(0, 1)}
