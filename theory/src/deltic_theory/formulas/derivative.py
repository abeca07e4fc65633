"""Symbolic derivatives of formulas: Δ(T) computes what T gains, ∇(T) what it loses [FIX Fig. 2].

Δ and ∇ turn a formula into formulas whose atoms read old values, changes and next values of the relations; X turns it
into one that reads next values only. Each construct has a rule, registered by its class. One without a rule has the
minus derivative, Δ = X(T) ∧ ¬T and ∇ = T ∧ ¬X(T), which is always right and recomputes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from deltic_theory.formulas.syntax import (
    BOTTOM,
    And,
    Atom,
    Bottom,
    Compare,
    Equal,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    Top,
    Version,
    rebuild,
)

F = TypeVar("F", bound=Formula)


@dataclass(frozen=True)
class Rule(Generic[F]):
    """The derivative of a construct: Δ and ∇ of a formula, given the derivatives of its parts."""

    up: Callable[[F, Derivatives], Formula]
    down: Callable[[F, Derivatives], Formula]


@dataclass(frozen=True)
class Derivatives:
    """The mutually recursive functions Δ, ∇ and X for a table of rules.

    Relations named in `static` do not change: their Δ and ∇ are ⊥, and X leaves them as they are.

    Examples
    --------
    >>> from deltic_theory.formulas.simplify import simplify
    >>> from deltic_theory.formulas.syntax import atom
    >>> from deltic_theory.formulas.text import text
    >>> text(FIGURE_2.up(atom("p", "x") & atom("q", "x")))
    '(Δ(p(x)) ∧ X(q(x))) ∨ (X(p(x)) ∧ Δ(q(x)))'
    >>> text(simplify(FIGURE_2.without_changes_of("q").up(atom("p", "x") & atom("q", "x"))))
    'Δ(p(x)) ∧ q(x)'
    """

    rules: Mapping[type[Formula], Rule[Any]]
    static: frozenset[str] = frozenset()

    def up(self, formula: Formula) -> Formula:
        """Δ(T): what T gains."""
        rule = self.rules.get(type(formula))
        if rule is not None:
            return rule.up(formula, self)
        return self.next(formula) & ~formula

    def down(self, formula: Formula) -> Formula:
        """∇(T): what T loses."""
        rule = self.rules.get(type(formula))
        if rule is not None:
            return rule.down(formula, self)
        return formula & ~self.next(formula)

    def next(self, formula: Formula) -> Formula:
        """X(T), the next value of T: as T, but reading the next value of every relation."""
        if isinstance(formula, Atom):
            return self.version(formula, Version.NEXT)
        return rebuild(formula, self.next)

    def version(self, formula: Atom, version: Version) -> Formula:
        """The atom read in another version, ValueError where it does not read the old one."""
        if formula.version is not Version.OLD:
            raise ValueError("the derivative of a derivative is not defined: changes are not changed")
        if formula.relation not in self.static:
            return replace(formula, version=version)
        return formula if version is Version.NEXT else BOTTOM

    def without_changes_of(self, *relations: str) -> Derivatives:
        """The same rules for changes that leave these relations alone."""
        return replace(self, static=self.static | set(relations))

    def with_rule(self, construct: type[Formula], rule: Rule[Any]) -> Derivatives:
        """The same table with another rule for one construct."""
        return replace(self, rules={**self.rules, construct: rule})


RULES: dict[type[Formula], Rule[Any]] = {}
"""The rules of Fig. 2, of the constructs dual to its, and of those registered by `differentiates`."""


def differentiates(construct: type[Formula], rule: Rule[Any]) -> None:
    """Registers the rule of a new construct."""
    RULES[construct] = rule


def applied(formula: Formula, derivatives: Derivatives) -> Formula:
    """X(T) by its definition, (T ∨ Δ(T)) ∧ ¬∇(T); `Derivatives.next` has the same meaning and is smaller."""
    return (formula | derivatives.up(formula)) & ~derivatives.down(formula)


def _no_change(formula: Formula, d: Derivatives) -> Formula:
    return BOTTOM


def _up_and(formula: And, d: Derivatives) -> Formula:
    t, u = formula.left, formula.right
    return (d.up(t) & d.next(u)) | (d.next(t) & d.up(u))


def _down_and(formula: And, d: Derivatives) -> Formula:
    t, u = formula.left, formula.right
    return (d.down(t) & u) | (t & d.down(u))


def _up_or(formula: Or, d: Derivatives) -> Formula:
    return d.up(formula.left) | d.up(formula.right)


def _down_or(formula: Or, d: Derivatives) -> Formula:
    t, u = formula.left, formula.right
    return (d.down(t) & ~d.next(u)) | (~d.next(t) & d.down(u))


def _up_exists(formula: Exists, d: Derivatives) -> Formula:
    return Exists(formula.variable, d.up(formula.body))


def _down_exists(formula: Exists, d: Derivatives) -> Formula:
    x, body = formula.variable, formula.body
    return Exists(x, d.down(body)) & ~Exists(x, d.next(body))


def _up_forall(formula: Forall, d: Derivatives) -> Formula:
    x, body = formula.variable, formula.body
    return Exists(x, d.up(body)) & Forall(x, d.next(body))


def _down_forall(formula: Forall, d: Derivatives) -> Formula:
    return Exists(formula.variable, d.down(formula.body))


for _constant in (Top, Bottom, Equal, Compare):
    differentiates(_constant, Rule(_no_change, _no_change))
differentiates(Atom, Rule(lambda f, d: d.version(f, Version.UP), lambda f, d: d.version(f, Version.DOWN)))
differentiates(Not, Rule(lambda f, d: d.down(f.body), lambda f, d: d.up(f.body)))
differentiates(And, Rule(_up_and, _down_and))
differentiates(Or, Rule(_up_or, _down_or))
differentiates(Exists, Rule(_up_exists, _down_exists))
differentiates(Forall, Rule(_up_forall, _down_forall))

FIGURE_2 = Derivatives(RULES)
"""Fig. 2 and the duals for ∀. Imprecise in Δ(T ∨ U), Δ(∃x.T) and ∇(∀x.T), which may repeat what is known."""


def _precise_up_or(formula: Or, d: Derivatives) -> Formula:
    t, u = formula.left, formula.right
    return (d.up(t) & ~u) | (~t & d.up(u))


def _precise_up_exists(formula: Exists, d: Derivatives) -> Formula:
    return _up_exists(formula, d) & ~formula


def _precise_down_forall(formula: Forall, d: Derivatives) -> Formula:
    return _down_forall(formula, d) & formula


PRECISE = Derivatives(
    {
        **RULES,
        Or: Rule(_precise_up_or, _down_or),
        Exists: Rule(_precise_up_exists, _down_exists),
        Forall: Rule(_up_forall, _precise_down_forall),
    }
)
"""The rules with the conjuncts that Fig. 2 leaves out at †: precise when their parts are [FIX §4.2.3, note 11]."""
