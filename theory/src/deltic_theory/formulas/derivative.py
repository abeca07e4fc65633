"""Symbolic derivatives of formulas: Δ(T) computes what T gains, ∇(T) what it loses [FIX Fig. 2].

Δ and ∇ turn a formula into formulas whose atoms read old values, changes and next values of the relations; X turns it
into one that reads next values only. Each construct has a rule, registered by its class. One without a rule has the
minus derivative, Δ = X(T) ∧ ¬T and ∇ = T ∧ ¬X(T), which is always right and recomputes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from deltic_theory.formulas import syntax as s

F = TypeVar("F", bound=s.Formula)


@dataclass(frozen=True)
class Rule(Generic[F]):
    """The derivative of a construct: Δ and ∇ of a formula, given the derivatives of its parts."""

    up: Callable[[F, Derivatives], s.Formula]
    down: Callable[[F, Derivatives], s.Formula]


@dataclass(frozen=True)
class Derivatives:
    """The mutually recursive functions Δ, ∇ and X for a table of rules.

    Relations named in `static` do not change: their Δ and ∇ are ⊥, and X leaves them as they are.

    >>> from deltic_theory.formulas.simplify import simplify
    >>> from deltic_theory.formulas.syntax import atom
    >>> from deltic_theory.formulas.text import text
    >>> text(FIGURE_2.up(atom("p", "x") & atom("q", "x")))
    '(Δ(p(x)) ∧ X(q(x))) ∨ (X(p(x)) ∧ Δ(q(x)))'
    >>> text(simplify(FIGURE_2.without_changes_of("q").up(atom("p", "x") & atom("q", "x"))))
    'Δ(p(x)) ∧ q(x)'
    """

    rules: Mapping[type[s.Formula], Rule[Any]]
    static: frozenset[str] = frozenset()

    def up(self, formula: s.Formula) -> s.Formula:
        """Δ(T): what T gains."""
        rule = self.rules.get(type(formula))
        if rule is not None:
            return rule.up(formula, self)
        return self.next(formula) & ~formula

    def down(self, formula: s.Formula) -> s.Formula:
        """∇(T): what T loses."""
        rule = self.rules.get(type(formula))
        if rule is not None:
            return rule.down(formula, self)
        return formula & ~self.next(formula)

    def next(self, formula: s.Formula) -> s.Formula:
        """X(T), the next value of T: as T, but reading the next value of every relation."""
        if isinstance(formula, s.Atom):
            return self.version(formula, s.Version.NEXT)
        return s.rebuild(formula, self.next)

    def version(self, formula: s.Atom, version: s.Version) -> s.Formula:
        """Return the atom read in another version, ValueError where it does not read the old one."""
        if formula.version is not s.Version.OLD:
            raise ValueError("the derivative of a derivative is not defined: changes are not changed")
        if formula.relation not in self.static:
            return replace(formula, version=version)
        return formula if version is s.Version.NEXT else s.BOTTOM

    def without_changes_of(self, *relations: str) -> Derivatives:
        """Return the same rules for changes that leave these relations alone."""
        return replace(self, static=self.static | set(relations))

    def with_rule(self, construct: type[s.Formula], rule: Rule[Any]) -> Derivatives:
        """Return the same table with another rule for one construct."""
        return replace(self, rules={**self.rules, construct: rule})


RULES: dict[type[s.Formula], Rule[Any]] = {}
"""The rules of Fig. 2, of the constructs dual to its, and of those registered by `differentiates`."""


def differentiates(construct: type[s.Formula], rule: Rule[Any]) -> None:
    """Registers the rule of a new construct."""
    RULES[construct] = rule


def applied(formula: s.Formula, derivatives: Derivatives) -> s.Formula:
    """X(T) by its definition, (T ∨ Δ(T)) ∧ ¬∇(T); `Derivatives.next` has the same meaning and is smaller."""
    return (formula | derivatives.up(formula)) & ~derivatives.down(formula)


def _up_and(formula: s.And, d: Derivatives) -> s.Formula:
    t, u = formula.left, formula.right
    return (d.up(t) & d.next(u)) | (d.next(t) & d.up(u))


def _down_and(formula: s.And, d: Derivatives) -> s.Formula:
    t, u = formula.left, formula.right
    return (d.down(t) & u) | (t & d.down(u))


def _down_or(formula: s.Or, d: Derivatives) -> s.Formula:
    t, u = formula.left, formula.right
    return (d.down(t) & ~d.next(u)) | (~d.next(t) & d.down(u))


def _up_exists(formula: s.Exists, d: Derivatives) -> s.Formula:
    return s.Exists(formula.variable, d.up(formula.body))


def _down_exists(formula: s.Exists, d: Derivatives) -> s.Formula:
    x, body = formula.variable, formula.body
    return s.Exists(x, d.down(body)) & ~s.Exists(x, d.next(body))


def _up_forall(formula: s.Forall, d: Derivatives) -> s.Formula:
    x, body = formula.variable, formula.body
    return s.Exists(x, d.up(body)) & s.Forall(x, d.next(body))


def _down_forall(formula: s.Forall, d: Derivatives) -> s.Formula:
    return s.Exists(formula.variable, d.down(formula.body))


_NO_CHANGE: Rule[s.Formula] = Rule(lambda f, d: s.BOTTOM, lambda f, d: s.BOTTOM)
RULES |= {
    **dict.fromkeys((s.Top, s.Bottom, s.Equal, s.Compare), _NO_CHANGE),
    s.Atom: Rule(lambda f, d: d.version(f, s.Version.UP), lambda f, d: d.version(f, s.Version.DOWN)),
    s.Not: Rule(lambda f, d: d.down(f.body), lambda f, d: d.up(f.body)),
    s.And: Rule(_up_and, _down_and),
    s.Or: Rule(lambda f, d: d.up(f.left) | d.up(f.right), _down_or),
    s.Exists: Rule(_up_exists, _down_exists),
    s.Forall: Rule(_up_forall, _down_forall),
}

FIGURE_2 = Derivatives(RULES)
"""Fig. 2 and the duals for ∀. Imprecise in Δ(T ∨ U), Δ(∃x.T) and ∇(∀x.T), which may repeat what is known."""

PRECISE = Derivatives(
    {
        **RULES,
        s.Or: Rule(lambda f, d: (d.up(f.left) & ~f.right) | (~f.left & d.up(f.right)), _down_or),
        s.Exists: Rule(lambda f, d: _up_exists(f, d) & ~f, _down_exists),
        s.Forall: Rule(_up_forall, lambda f, d: _down_forall(f, d) & f),
    }
)
"""The rules with the conjuncts that Fig. 2 leaves out at †: precise when their parts are [FIX §4.2.3, note 11]."""
