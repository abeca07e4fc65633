"""Formulas as text: the paper's two derivatives of treeP, and simplifications as pairs of before and after.

Catches a rule of Fig. 2 whose conjuncts come in another order than the paper's, and a pair of brackets too few.
"""

from __future__ import annotations

import pytest
from theory.tests.formulas.random_formulas import CLOSURE, TREE_P

from deltic_theory.formulas.aggregates import Aggregate
from deltic_theory.formulas.derivative import FIGURE_2
from deltic_theory.formulas.simplify import simplify
from deltic_theory.formulas.syntax import (
    BOTTOM,
    TOP,
    Atom,
    Compare,
    Const,
    Equal,
    Exists,
    Forall,
    Plus,
    Var,
    Version,
    atom,
    exists,
)
from deltic_theory.formulas.text import text

P, Q, R = atom("p", "x"), atom("q", "x"), atom("r", "x", "y")


@pytest.mark.law("FIX §4.2.2 treeP")
def test_the_derivatives_of_treeP():
    d = FIGURE_2.without_changes_of("p", "child")
    assert text(TREE_P) == "p(x) ∧ ¬∃y.(child(x, y) ∧ ¬treeP(y))"
    assert text(simplify(d.up(TREE_P))) == ("p(x) ∧ ∃y.(child(x, y) ∧ Δ(treeP(y))) ∧ ¬∃y.(child(x, y) ∧ ¬X(treeP(y)))")
    assert text(simplify(d.down(TREE_P))) == "p(x) ∧ ∃y.(child(x, y) ∧ ∇(treeP(y)))"


@pytest.mark.law("FIX §7.2.1 derivative of tc")
def test_the_derivative_of_the_closure():
    d = FIGURE_2.without_changes_of("e")
    assert text(simplify(d.up(CLOSURE))) == "∃z.(e(x, z) ∧ Δ(tc(z, y)))"
    assert text(simplify(d.down(CLOSURE))) == ("¬e(x, y) ∧ ∃z.(e(x, z) ∧ ∇(tc(z, y))) ∧ ¬∃z.(e(x, z) ∧ X(tc(z, y)))")


@pytest.mark.law("FIX Fig 2")
def test_figure_2_as_printed():
    t, u = P, Q
    printed = {
        "⊥": (BOTTOM, "⊥", "⊥"),
        "⊤": (TOP, "⊥", "⊥"),
        "R": (t, "Δ(p(x))", "∇(p(x))"),
        "T ∨ U": (t | u, "Δ(p(x)) ∨ Δ(q(x))", "(∇(p(x)) ∧ ¬X(q(x))) ∨ (¬X(p(x)) ∧ ∇(q(x)))"),
        "T ∧ U": (t & u, "(Δ(p(x)) ∧ X(q(x))) ∨ (X(p(x)) ∧ Δ(q(x)))", "(∇(p(x)) ∧ q(x)) ∨ (p(x) ∧ ∇(q(x)))"),
        "¬T": (~t, "∇(p(x))", "Δ(p(x))"),
        "∃x.T": (Exists("x", t), "∃x.Δ(p(x))", "∃x.∇(p(x)) ∧ ¬∃x.X(p(x))"),
        "∀x.T": (Forall("x", t), "∃x.Δ(p(x)) ∧ ∀x.X(p(x))", "∃x.∇(p(x))"),
    }
    for formula, up, down in printed.values():
        assert text(FIGURE_2.up(formula)) == up
        assert text(FIGURE_2.down(formula)) == down


TEXTS = [
    (P & Q & R, "p(x) ∧ q(x) ∧ r(x, y)"),
    ((P | Q) & ~R, "(p(x) ∨ q(x)) ∧ ¬r(x, y)"),
    ((P & Q) | R, "(p(x) ∧ q(x)) ∨ r(x, y)"),
    (~(P | Q), "¬(p(x) ∨ q(x))"),
    (~~P, "¬¬p(x)"),
    (exists("x", "y", R), "∃x.∃y.r(x, y)"),
    (Forall("y", ~R | P), "∀y.(¬r(x, y) ∨ p(x))"),
    (Equal(Var("x"), Plus(Var("y"), Const(1))), "x = y + 1"),
    (~Compare("≤", Var("x"), Const(2)), "¬(x ≤ 2)"),
    (Atom("p", (Const("ada"),), Version.DOWN), "∇(p(ada))"),
    (Aggregate("s", "sum", "v", ("c", "d"), P, R), "s = sum(v)(c, d | p(x) | r(x, y))"),
]


@pytest.mark.parametrize(("formula", "expected"), TEXTS, ids=[expected for _, expected in TEXTS])
def test_text(formula, expected):
    assert text(formula) == expected


SIMPLIFIED = [
    (P & TOP, "p(x)"),
    (P & BOTTOM, "⊥"),
    (BOTTOM | P, "p(x)"),
    (P | TOP, "⊤"),
    (P & (Q & P), "p(x) ∧ q(x)"),
    (P | (Q | P), "p(x) ∨ q(x)"),
    (P & Q & ~P, "⊥"),
    (~Q | P | Q, "⊤"),
    (P & (P | Q), "p(x)"),
    ((P & Q) | P, "p(x)"),
    (~~~P, "¬p(x)"),
    (~TOP, "⊥"),
    (~BOTTOM, "⊤"),
    (Exists("x", BOTTOM), "⊥"),
    (Forall("x", TOP), "⊤"),
    (Exists("y", P & TOP), "p(x)"),
    (Forall("z", R), "r(x, y)"),
    (exists("y", R & (Q | ~BOTTOM)), "∃y.r(x, y)"),
    ((P | BOTTOM) & ~(Q & BOTTOM), "p(x)"),
    (Aggregate("s", "sum", "v", ("c",), P & TOP, R | BOTTOM), "s = sum(v)(c | p(x) | r(x, y))"),
]


@pytest.mark.parametrize(("before", "after"), SIMPLIFIED, ids=[text(before) for before, _ in SIMPLIFIED])
def test_simplification(before, after):
    assert text(simplify(before)) == after
    assert simplify(simplify(before)) == simplify(before)
