"""Theorem 27: Δ and ∇ of random formulas are disjoint and a derivative; and where the paper claims precision.

Catches a conjunct that reads an old value for a new one, and a change that the formula has already or has not.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory.tests.formulas.random_formulas import (
    UNIVERSE,
    VARIABLES,
    WITH_AGGREGATES,
    formulas,
    models,
    precise,
    random_models,
    size,
)

from deltic_theory.boolean import Change
from deltic_theory.formulas.aggregates import Aggregate
from deltic_theory.formulas.derivative import FIGURE_2, PRECISE, Rule, applied
from deltic_theory.formulas.laws import check_formula_derivative, check_formula_precision, formula_change
from deltic_theory.formulas.meaning import denote, meaning
from deltic_theory.formulas.relations import ROW_CHANGES, Model, universal
from deltic_theory.formulas.simplify import simplify
from deltic_theory.formulas.syntax import (
    And,
    Atom,
    Bottom,
    Equal,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    Top,
    Var,
    atom,
    parts,
    relations,
)
from deltic_theory.formulas.text import text
from deltic_theory.law import LawViolation


def change_of(formula, model, derivatives=FIGURE_2, columns=VARIABLES):
    return formula_change(formula, columns, model, derivatives)


def is_derivative(formula, model, derivatives=FIGURE_2, columns=VARIABLES):
    old, change = denote(formula, columns, model), change_of(formula, model, derivatives, columns)
    return not change.up & change.down and ROW_CHANGES.plus(old, change) == denote(formula, columns, model.changed())


def is_precise(formula, model, derivatives=FIGURE_2):
    return ROW_CHANGES.is_precise(denote(formula, VARIABLES, model), change_of(formula, model, derivatives))


@pytest.mark.law("FIX Thm 27", "FIX Fig 2")
@settings(max_examples=300)
@given(formulas(5), models())
def test_symbolic_derivatives_are_derivatives(formula, model):
    old, change = denote(formula, VARIABLES, model), change_of(formula, model)
    assert not change.up & change.down
    assert ROW_CHANGES.plus(old, change) == denote(formula, VARIABLES, model.changed())


@pytest.mark.slow
@pytest.mark.law("FIX Thm 27")
@settings(max_examples=5000)
@given(formulas(5, WITH_AGGREGATES), models())
def test_symbolic_derivatives_are_derivatives_at_length(formula, model):
    assert is_derivative(formula, model)
    assert is_derivative(formula, model, PRECISE)


@pytest.mark.law("FIX Fig 2")
@settings(max_examples=100)
@given(formulas(4), models())
def test_the_next_value_is_the_value_after_the_change(formula, model):
    after = denote(formula, VARIABLES, model.changed())
    assert denote(FIGURE_2.next(formula), VARIABLES, model) == after
    assert denote(applied(formula, FIGURE_2), VARIABLES, model) == after


@pytest.mark.law("FIX Thm 27")
@settings(max_examples=100)
@given(formulas(5), models())
def test_simplified_derivatives_are_the_same(formula, model):
    for derivative in (FIGURE_2.up(formula), FIGURE_2.down(formula)):
        simple = simplify(derivative)
        assert size(simple) <= size(derivative)
        assert denote(simple, VARIABLES, model) == denote(derivative, VARIABLES, model)


@given(formulas(5), models())
def test_relations_that_do_not_change_may_be_said_not_to(formula, model):
    still = Model(model.relations, {"e": model.changes["e"]}, UNIVERSE)
    static = FIGURE_2.without_changes_of("p", "q")
    assert is_derivative(formula, still, static)
    assert change_of(formula, still, static) == change_of(formula, still)


@pytest.mark.law("FIX Precision")
@settings(max_examples=100)
@given(formulas(5, ("and", "and", "not")), models())
def test_without_the_marked_cases_precise_changes_give_precise_derivatives(formula, model):
    assert is_precise(formula, precise(model))


@pytest.mark.law("FIX Precision")
@settings(max_examples=100)
@given(formulas(2), formulas(2), models())
def test_each_unmarked_case_preserves_precision(t, u, model):
    """Whenever the parts happen to be precise, so is the whole, in each case that has no †."""
    model = precise(model)
    if not (is_precise(t, model) and is_precise(u, model)):
        return
    assert is_precise(t & u, model)
    assert is_precise(~t, model)
    old = {f: denote(f, VARIABLES, model) for f in (t | u, Exists("z", t), Forall("z", t))}
    assert change_of(t | u, model).down <= old[t | u]
    assert change_of(Exists("z", t), model).down <= old[Exists("z", t)]
    assert not change_of(Forall("z", t), model).up & old[Forall("z", t)]


@pytest.mark.law("FIX Precision")
@settings(max_examples=120)
@given(formulas(5), models())
def test_with_the_conjuncts_left_out_at_the_marks_all_cases_are_precise(formula, model):
    model = precise(model)
    assert is_derivative(formula, model, PRECISE)
    assert is_precise(formula, model, PRECISE)


P, Q, E = atom("p", "x"), atom("q", "x"), atom("e", "x", "y")
PRECISE_MODELS = [precise(model) for model in random_models(80, universe=(0, 1))]


@pytest.mark.law("FIX Precision")
@pytest.mark.parametrize("formula", [P | Q, Exists("y", E), Forall("y", E)], ids=text)
def test_imprecision_is_found_at_the_two_marks_and_at_their_dual(formula):
    with pytest.raises(LawViolation, match="not precise"):
        check_formula_precision([formula], PRECISE_MODELS, VARIABLES)


@pytest.mark.law("FIX Precision")
@pytest.mark.parametrize("formula", [P & Q, ~P, ~P & E, Q & ~Q], ids=text)
def test_imprecision_is_found_nowhere_else(formula):
    check_formula_precision([formula], PRECISE_MODELS, VARIABLES)
    check_formula_precision([formula], models().map(precise), VARIABLES, examples=50)


@pytest.mark.law("FIX Precision")
def test_what_is_repeated_at_the_marks():
    p, q, e = {(0,), (1,)}, {(0,)}, {(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)}
    changes = {"q": Change(frozenset({(1,)}), frozenset()), "e": Change(frozenset({(0, 0)}), frozenset({(0, 1)}))}
    model = Model({"p": p, "q": q, "e": e}, changes, UNIVERSE)
    assert change_of(P | Q, model, columns=("x",)).up == {(1,)}
    assert change_of(Exists("y", E), model, columns=("x",)).up == {(0,)}
    assert change_of(Forall("y", E), model, columns=("x",)).down == {(0,)}
    for formula in (P | Q, Exists("y", E), Forall("y", E)):
        assert change_of(formula, model, PRECISE, ("x",)) == Change(frozenset(), frozenset())


@pytest.mark.law("FIX Fig 2", "CS Universal quantifier")
@settings(max_examples=100)
@given(formulas(3), models())
def test_the_universal_quantifier_is_the_dual_of_the_existential(body, model):
    forall, encoded = Forall("z", body), ~Exists("z", ~body)
    assert is_derivative(forall, model)
    assert change_of(forall, model) == change_of(encoded, model)


@pytest.mark.law("CS Universal quantifier")
def test_the_drafts_rule_for_the_universal_quantifier_is_wrong():
    """[CS §6.2] has ∇(∀x.T) = ∀x.∇T: then one counterexample among many values goes unnoticed."""
    draft = FIGURE_2.with_rule(
        Forall,
        Rule(FIGURE_2.rules[Forall].up, lambda f, d: Forall(f.variable, d.down(f.body))),
    )
    with pytest.raises(LawViolation, match="not a derivative"):
        check_formula_derivative([Forall("y", ~E)], random_models(80), VARIABLES, draft)


@pytest.mark.law("FIX Aggregates")
@settings(max_examples=150)
@given(formulas(2, WITH_AGGREGATES), models())
def test_formulas_with_aggregates(formula, model):
    assert is_derivative(formula, model)
    assert is_derivative(formula, model, PRECISE)


def test_a_construct_without_a_rule_has_the_minus_derivative():
    class Most(Formula):
        one: Formula
        two: Formula
        three: Formula

    @meaning(Most)
    def _most(formula, columns, model):
        a, b, c = (denote(part, columns, model) for part in parts(formula))
        return (a & b) | (b & c) | (a & c)

    most = Most(P, Q, E)
    check_formula_derivative([most, most & ~Exists("y", most)], random_models(30), VARIABLES)
    assert relations(most) == {"p", "q", "e"}
    assert FIGURE_2.up(most) == FIGURE_2.next(most) & ~most
    assert FIGURE_2.down(most) == most & ~FIGURE_2.next(most)


def test_a_construct_with_a_rule_of_its_own():
    """Symmetric difference: what either part gains or loses flips, unless both do."""

    class Either(Formula):
        left: Formula
        right: Formula

    @meaning(Either)
    def _either(formula, columns, model):
        return denote(formula.left, columns, model) ^ denote(formula.right, columns, model)

    def flipped(formula, d):
        return d.up(formula.left) | d.down(formula.left) | d.up(formula.right) | d.down(formula.right)

    right = Rule(lambda f, d: flipped(f, d) & d.next(f), lambda f, d: flipped(f, d) & f & ~d.next(f))
    wrong = Rule(lambda f, d: flipped(f, d) & ~f, lambda f, d: flipped(f, d) & f)
    either = [Either(P, Q), Exists("y", Either(E, P)), ~Either(P & Q, Q)]
    check_formula_derivative(either, random_models(40), VARIABLES, FIGURE_2.with_rule(Either, right))
    with pytest.raises(LawViolation, match="not a derivative"):
        check_formula_derivative(either, random_models(40), VARIABLES, FIGURE_2.with_rule(Either, wrong))


def test_changes_are_not_changed():
    with pytest.raises(ValueError, match="changes are not changed"):
        FIGURE_2.up(FIGURE_2.up(P))


def test_every_core_construct_has_a_rule():
    assert {Top, Bottom, Atom, And, Or, Not, Exists, Forall, Equal, Aggregate} <= FIGURE_2.rules.keys()


@given(st.permutations(VARIABLES))
def test_the_order_of_the_columns_is_only_an_order(columns):
    model = Model({"e": {(0, 1)}, "p": {(2,)}}, {}, UNIVERSE)
    formula = E & atom("p", "z")
    found = denote(formula, tuple(columns), model)
    assert [dict(zip(columns, row, strict=True)) for row in found] == [{"x": 0, "y": 1, "z": 2}]
    assert len(universal(columns, UNIVERSE)) == 27
    assert Equal(Var("x"), Var("x")).free() == {"x"}
