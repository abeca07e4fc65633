"""Checkers for symbolic derivatives, of the constructs here and of those that users add [FIX Thm 27]."""

from __future__ import annotations

from deltic_theory.boolean import Change
from deltic_theory.formulas.derivative import FIGURE_2, Derivatives
from deltic_theory.formulas.meaning import Columns, denote
from deltic_theory.formulas.relations import NO_ROWS, ROW_CHANGES, Model, Rows
from deltic_theory.formulas.syntax import Formula
from deltic_theory.formulas.text import text
from deltic_theory.law import Counterexample, Domain, Law, LawViolation, counterexample


def formula_change(
    formula: Formula, columns: Columns, model: Model, derivatives: Derivatives = FIGURE_2
) -> Change[Rows]:
    """(⟦Δ(T)⟧, ⟦∇(T)⟧): what the symbolic derivative says that the formula gains and loses."""
    up, down = derivatives.up(formula), derivatives.down(formula)
    return Change(denote(up, columns, model), denote(down, columns, model))


def check_formula_derivative(
    formulas: Domain[Formula],
    models: Domain[Model],
    columns: Columns,
    derivatives: Derivatives = FIGURE_2,
    examples: int = 200,
) -> None:
    """That Δ(T) and ∇(T) are disjoint and a derivative of T; raises LawViolation with the formula and the model.

    The models have a universe and the changes to try; `columns` contains the variables free in the formulas.

    >>> from deltic_theory.formulas.syntax import Or, atom
    >>> from deltic_theory.formulas.derivative import Rule
    >>> grown = Model({"p": {(1,)}, "q": set()}, {"q": Change(frozenset({(2,)}), frozenset())}, (1, 2))
    >>> check_formula_derivative([atom("p", "x") | atom("q", "x")], [grown], ("x",))
    >>> forgetful = FIGURE_2.with_rule(Or, Rule(lambda f, d: d.up(f.left), FIGURE_2.rules[Or].down))
    >>> check_formula_derivative([atom("p", "x") | atom("q", "x")], [grown], ("x",), forgetful)
    Traceback (most recent call last):
    ...
    deltic_theory.law.LawViolation: not a derivative: ⟦T⟧(R ⊕ δR) = ⟦T⟧(R) ⊕ (⟦Δ(T)⟧, ⟦∇(T)⟧) fails
      T     = p(x) ∨ q(x)
      R     = {'p': [(1,)], 'q': []}
      δR    = {'q': (+[(2,)], −[])}
      left  = [(1,), (2,)]
      right = [(1,)]
    """

    def change(formula: Formula, model: Model) -> Change[Rows]:
        return formula_change(formula, columns, model, derivatives)

    equation = Law(
        "not a derivative",
        "⟦T⟧(R ⊕ δR) = ⟦T⟧(R) ⊕ (⟦Δ(T)⟧, ⟦∇(T)⟧)",
        ("T", "R"),
        lambda formula, model: denote(formula, columns, model.changed()),
        lambda formula, model: ROW_CHANGES.plus(denote(formula, columns, model), change(formula, model)),
    )
    disjoint = Law(
        "not disjoint",
        "⟦Δ(T)⟧ ∩ ⟦∇(T)⟧ = ∅",
        ("T", "R"),
        lambda formula, model: change(formula, model).up & change(formula, model).down,
        lambda formula, model: NO_ROWS,
    )
    for law in (equation, disjoint):
        _check(law, formulas, models, examples)


def check_formula_precision(
    formulas: Domain[Formula],
    models: Domain[Model],
    columns: Columns,
    derivatives: Derivatives = FIGURE_2,
    examples: int = 200,
) -> None:
    """That Δ(T) holds only what T gains and ∇(T) only what it loses [FIX §4.2.3].

    The models' changes must be precise themselves, or nothing that depends on them is.
    """
    law = Law(
        "not precise",
        "(⟦Δ(T)⟧, ⟦∇(T)⟧) = ⟦T⟧(R ⊕ δR) ⊖ ⟦T⟧(R)",
        ("T", "R"),
        lambda formula, model: formula_change(formula, columns, model, derivatives),
        lambda formula, model: ROW_CHANGES.minus(
            denote(formula, columns, model.changed()), denote(formula, columns, model)
        ),
    )
    _check(law, formulas, models, examples)


def _check(law: Law, formulas: Domain[Formula], models: Domain[Model], examples: int) -> None:
    result = counterexample(law, {"T": formulas, "R": models}, examples)
    if result is not None:
        raise LawViolation(_readable(result))


def _readable(found: Counterexample) -> Counterexample:
    """Return the counterexample with its formula, relations and rows as text, in a fixed order."""
    formula, model = found.values.values()
    if not isinstance(formula, Formula) or not isinstance(model, Model):
        raise TypeError("the variables of these laws are a formula and a model")
    values = {
        "T": text(formula),
        "R": {name: sorted(rows) for name, rows in model.relations.items()},
        "δR": "{" + ", ".join(f"{name!r}: {_shown(change)}" for name, change in model.changes.items()) + "}",
    }
    return Counterexample(found.law, values, _shown(found.left), _shown(found.right))


def _shown(value: object) -> str:
    """Rows, or a change of rows, in order."""
    if isinstance(value, Change):
        return f"(+{sorted(value.up)}, −{sorted(value.down)})"
    return str(sorted(value)) if isinstance(value, frozenset) else str(value)
