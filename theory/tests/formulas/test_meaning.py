"""What formulas mean: Fig. 1 equation by equation, and evaluation without a universe against it.

Catches a schema that is mixed up by a quantifier, a complement over the wrong universe, and a join that loses rows.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from theory.tests.formulas.random_formulas import CORE, UNIVERSE, VARIABLES, formulas, models

from deltic_theory.formulas.aggregates import Aggregate
from deltic_theory.formulas.derivative import FIGURE_2
from deltic_theory.formulas.meaning import denote, meaning
from deltic_theory.formulas.range_restricted import NotRangeRestrictedError, evaluable, evaluate
from deltic_theory.formulas.relations import Model, relation_algebra, select, universal
from deltic_theory.formulas.simplify import simplify
from deltic_theory.formulas.syntax import (
    BOTTOM,
    TOP,
    Compare,
    Const,
    Equal,
    Exists,
    Forall,
    Plus,
    Var,
    atom,
    exists,
)
from deltic_theory.formulas.text import text
from deltic_theory.lattices import below

EVERYTHING = universal(VARIABLES, UNIVERSE)


@pytest.mark.law("FIX Def 24")
def test_selection_restricts_named_tuples():
    rows = {(1, 2, 3), (1, 5, 3)}
    assert select(rows, ("x", "y", "z"), ("z", "x")) == {(3, 1)}
    assert select(rows, ("x", "y", "z"), ("y",)) == {(2,), (5,)}
    assert select(rows, ("x", "y", "z"), ()) == {()}


rows_xy = st.frozensets(st.sampled_from(sorted(universal(("x", "y"), UNIVERSE))))


@pytest.mark.law("FIX Prop 49")
@given(rows_xy, rows_xy)
def test_distributivity_of_selection(a, b):
    def onto(rows):
        return select(rows, ("x", "y"), ("x",))

    assert onto(a | b) == onto(a) | onto(b)
    assert onto(a - b) == (onto(a) - onto(b)) | onto(a - b)


@pytest.mark.law("FIX Def 25")
@given(rows_xy)
def test_relations_are_a_boolean_algebra(rows):
    algebra = relation_algebra(("x", "y"), UNIVERSE)
    assert algebra.complement(algebra.complement(rows)) == rows
    assert below(algebra, rows, algebra.top)
    model = Model({"e": rows}, universe=UNIVERSE)
    assert denote(~atom("e", "x", "y"), ("x", "y"), model) == algebra.complement(rows)


@pytest.mark.law("FIX Def 26", "FIX Fig 1")
@given(formulas(3), formulas(3), models())
def test_figure_1(t, u, model):
    def means(formula, columns=VARIABLES):
        return denote(formula, columns, model)

    assert means(TOP) == EVERYTHING
    assert means(BOTTOM) == frozenset()
    assert means(atom("e", "x", "y"), ("x", "y")) == model.relations["e"]
    assert means(t & u) == means(t) & means(u)
    assert means(t | u) == means(t) | means(u)
    assert means(~t) == EVERYTHING - means(t)
    assert means(Exists("z", t), ("x", "y")) == select(means(t), VARIABLES, ("x", "y"))
    assert means(Forall("z", t), ("x", "y")) == frozenset(
        row for row in universal(("x", "y"), UNIVERSE) if all((*row, v) in means(t) for v in UNIVERSE)
    )


@given(formulas(3), models())
def test_a_column_of_the_quantified_name_is_another_variable(t, model):
    inner = denote(Exists("z", t), ("x", "y"), model)
    assert denote(Exists("z", t), VARIABLES, model) == {(*row, v) for row in inner for v in UNIVERSE}


@pytest.mark.law("CS Equality")
@given(models())
def test_equality_and_comparisons(model):
    assert denote(Equal(Var("x"), Var("y")), ("x", "y"), model) == {(v, v) for v in UNIVERSE}
    assert denote(Compare("<", Var("x"), Const(1)), ("x",), model) == {(0,)}
    assert denote(Compare("≥", Plus(Var("x"), Const(1)), Var("y")), ("x", "y"), model) == {
        (x, y) for x in UNIVERSE for y in UNIVERSE if x + 1 >= y
    }


def test_a_meaning_needs_a_universe():
    with pytest.raises(ValueError, match="finite universe"):
        denote(TOP, ("x",), Model({}))
    with pytest.raises(KeyError):
        denote(atom("unknown", "x"), ("x",), Model({}, universe=UNIVERSE))


@settings(max_examples=100)
@given(formulas(4), models())
def test_evaluation_agrees_with_the_meaning_where_it_is_defined(t, model):
    """Next to atoms that bind its variables, almost every formula is range-restricted."""
    simple = simplify(atom("e", "x", "y") & atom("e", "y", "z") & t)
    assume(evaluable(simple, frozenset()))
    columns = tuple(sorted(simple.free()))
    without_universe = Model(model.relations, model.changes)
    assert evaluate(simple, columns, without_universe) == denote(simple, columns, model)


RANGE_RESTRICTED = [
    atom("e", "x", "y"),
    atom("e", "x", "x") | (atom("p", "x") & ~atom("q", "x")),
    atom("p", "x") & Equal(Var("y"), Plus(Var("x"), Const(1))),
    exists("y", "z", atom("e", "x", "y") & atom("e", "y", "z") & Compare("≠", Var("x"), Var("z"))),
    atom("p", "x") & Forall("y", ~atom("e", "x", "y") | atom("q", "y")),
    atom("p", "x") & ~Exists("y", atom("e", "x", "y") & ~atom("q", "y")),
    ~atom("q", "x") & atom("p", "x"),
    Equal(Const(1), Var("x")),
    atom("e", "x", "y") & (atom("p", "x") | ~atom("q", "y")),
    atom("p", "y") & Aggregate("x", "max", "z", ("w",), atom("e", "y", "w"), Equal(Var("z"), Var("w"))),
    Aggregate("x", "min", "z", ("w",), atom("e", "y", "w"), Equal(Var("z"), Var("w"))),
    atom("q", "y") & Aggregate("x", "count", "z", ("w",), atom("e", "y", "w"), Equal(Var("z"), Var("w"))),
]


@pytest.mark.parametrize("formula", RANGE_RESTRICTED, ids=text)
@given(models())
def test_range_restricted_formulas_are_evaluated_without_a_universe(formula, model):
    columns = tuple(sorted(formula.free()))
    wide = Model(model.relations, model.changes, tuple(range(5)))
    assert evaluate(formula, columns, Model(model.relations)) == denote(formula, columns, wide)


@pytest.mark.law("FIX Thm 27")
@pytest.mark.parametrize("formula", RANGE_RESTRICTED, ids=text)
@settings(max_examples=15)
@given(models())
def test_derivatives_of_range_restricted_formulas_are_range_restricted(formula, model):
    columns = tuple(sorted(formula.free()))
    wide = Model(model.relations, model.changes, tuple(range(5)))
    for derivative in (FIGURE_2.up(formula), FIGURE_2.down(formula), FIGURE_2.next(formula)):
        without_universe = Model(model.relations, model.changes)
        assert evaluate(derivative, columns, without_universe) == denote(derivative, columns, wide)


@settings(max_examples=100)
@given(formulas(4, [kind for kind in CORE if kind != "forall"]), models())
def test_derivatives_of_random_range_restricted_formulas(t, model):
    """Without ∀: the product rule keeps in each disjunct the atoms that bind its variables."""
    formula = simplify(atom("e", "x", "y") & atom("e", "y", "z") & t)
    assume(evaluable(formula, frozenset()))
    columns = tuple(sorted(formula.free()))
    for derivative in (FIGURE_2.up(formula), FIGURE_2.down(formula)):
        without_universe = Model(model.relations, model.changes)
        assert evaluate(derivative, columns, without_universe) == denote(derivative, columns, model)


def test_the_derivative_of_a_range_restricted_forall_may_not_be():
    """∀z.(¬p(z) ∨ e(x, x)) is ¬∃z.(p(z) ∧ ¬e(x, x)), where p binds z; in ∃z.Δ(¬p(z) ∨ e(x, x)), Δ(e(x, x)) does not."""
    formula = atom("q", "x") & Forall("z", ~atom("p", "z") | atom("e", "x", "x"))
    assert evaluable(formula, frozenset())
    with pytest.raises(NotRangeRestrictedError):
        evaluate(FIGURE_2.up(formula), ("x",), Model({"p": set(), "q": set(), "e": set()}))


NOT_RANGE_RESTRICTED = [
    ~atom("p", "x"),
    atom("p", "x") | atom("q", "y"),
    Compare("<", Var("x"), Const(3)),
    Equal(Var("x"), Var("y")),
    Forall("y", atom("e", "x", "y")),
    TOP,
    Aggregate("x", "sum", "z", ("w",), atom("e", "y", "w"), Equal(Var("z"), Var("w"))),
    atom("p", "y") & Aggregate("x", "sum", "z", ("w",), atom("p", "y"), atom("e", "w", "z")),
]


@pytest.mark.parametrize("formula", NOT_RANGE_RESTRICTED, ids=text)
def test_other_formulas_are_refused(formula):
    with pytest.raises(NotRangeRestrictedError, match="not range-restricted in x"):
        evaluate(formula, ("x", "y"), Model({"p": set(), "q": set(), "e": set()}))


def test_a_construct_is_known_by_its_registration():
    class Odd(type(TOP)):
        """The rows whose first value is odd."""

    with pytest.raises(KeyError):
        denote(Odd(), ("x",), Model({}, universe=UNIVERSE))

    @meaning(Odd)
    def _odd(formula, columns, model):
        return frozenset(row for row in universal(columns, UNIVERSE) if row[0] % 2)

    assert denote(Odd() & TOP, ("x",), Model({}, universe=UNIVERSE)) == {(1,)}
