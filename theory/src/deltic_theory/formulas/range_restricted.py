"""Evaluation of range-restricted formulas, without a universe: variables get their values from atoms.

A formula is range-restricted when its conjuncts can be put in an order in which each is evaluable with the variables
bound before it: atoms bind, an equation binds one side from the other, negation and comparisons only test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from deltic_theory.formulas import syntax as s
from deltic_theory.formulas.aggregates import Aggregate, results
from deltic_theory.formulas.meaning import COMPARISONS, Columns
from deltic_theory.formulas.relations import Model, Rows
from deltic_theory.formulas.simplify import conjuncts, simplify
from deltic_theory.formulas.text import text

Binding = dict[str, Any]
Names = frozenset[str]
F = TypeVar("F", bound=s.Formula)


class NotRangeRestrictedError(ValueError):
    """A formula whose variables are not all bound by atoms; it has a meaning only over a finite universe."""


@dataclass(frozen=True)
class Solver(Generic[F]):
    """How a construct is evaluated: whether it can be once some variables are bound, and the bindings it then yields.

    A solved formula has all of its free variables bound.
    """

    evaluable: Callable[[F, Names], bool]
    solve: Callable[[F, Binding, Model], Iterator[Binding]]


SOLVERS: dict[type[s.Formula], Solver[Any]] = {}


def evaluable(formula: s.Formula, bound: Names) -> bool:
    """Return whether `formula` can be evaluated once the variables in `bound` are."""
    solver = SOLVERS.get(type(formula))
    return solver is not None and solver.evaluable(formula, bound)


def solve(formula: s.Formula, binding: Binding, model: Model) -> Iterator[Binding]:
    """Return the extensions of `binding` to the free variables of `formula` that satisfy it; some may come
    repeatedly.
    """
    return SOLVERS[type(formula)].solve(formula, binding, model)


def holds(formula: s.Formula, binding: Binding, model: Model) -> bool:
    """Return whether some extension of `binding` satisfies `formula`."""
    return next(solve(formula, binding, model), None) is not None


def evaluate(formula: s.Formula, columns: Columns, model: Model) -> Rows:
    """⟦formula⟧ over `columns`, its free variables in any order; NotRangeRestrictedError where it has no such value.

    >>> from deltic_theory.formulas.syntax import atom, exists
    >>> model = Model({"e": {(1, 2), (2, 3)}})
    >>> sorted(evaluate(exists("z", atom("e", "x", "z") & atom("e", "z", "y")), ("x", "y"), model))
    [(1, 3)]
    >>> evaluate(~atom("e", "x", "y"), ("x", "y"), model)
    Traceback (most recent call last):
    ...
    deltic_theory.formulas.range_restricted.NotRangeRestrictedError: not range-restricted in x, y: ¬e(x, y)
    """
    simple = simplify(formula)
    if isinstance(simple, s.Bottom):
        return frozenset()
    if not evaluable(simple, frozenset()) or not simple.free() >= set(columns):
        raise NotRangeRestrictedError(f"not range-restricted in {', '.join(columns)}: {text(formula)}")
    return frozenset(tuple(result[name] for name in columns) for result in solve(simple, {}, model))


def ordered(formula: s.And, bound: Names) -> list[s.Formula] | None:
    """Return the conjuncts in an order in which each is evaluable; None where there is none."""
    waiting, order = conjuncts(formula), []
    while waiting:
        ready = next((t for t in waiting if evaluable(t, bound)), None)
        if ready is None:
            return None
        waiting.remove(ready)
        order.append(ready)
        bound |= ready.free()
    return order


def negated(formula: s.Formula) -> s.Formula:
    """¬T with the negation moved inwards, so that what T forbids can bind variables."""
    match formula:
        case s.Not(body):
            return body
        case s.And(left, right):
            return negated(left) | negated(right)
        case s.Or(left, right):
            return negated(left) & negated(right)
        case s.Forall(variable, body):
            return s.Exists(variable, negated(body))
        case _:
            return s.Not(formula)


def _atom_evaluable(formula: s.Atom, bound: Names) -> bool:
    plain = {term.name for term in formula.terms if isinstance(term, s.Var)}
    return formula.free() <= bound | plain


def _atom(formula: s.Atom, binding: Binding, model: Model) -> Iterator[Binding]:
    for row in model.rows(formula.relation, formula.version):
        extended = dict(binding)
        for term, value in zip(formula.terms, row, strict=True):
            if isinstance(term, s.Var):
                extended.setdefault(term.name, value)
        if row == tuple(s.term_value(term, extended) for term in formula.terms):
            yield extended


def _and(formula: s.And, binding: Binding, model: Model) -> Iterator[Binding]:
    def follow(order: list[s.Formula], found: Binding) -> Iterator[Binding]:
        if not order:
            yield found
            return
        for extended in solve(order[0], found, model):
            yield from follow(order[1:], extended)

    return follow(ordered(formula, frozenset(binding)) or [], binding)


def _or_evaluable(formula: s.Or, bound: Names) -> bool:
    same = formula.left.free() | bound == formula.right.free() | bound
    return same and evaluable(formula.left, bound) and evaluable(formula.right, bound)


def _or(formula: s.Or, binding: Binding, model: Model) -> Iterator[Binding]:
    yield from solve(formula.left, binding, model)
    yield from solve(formula.right, binding, model)


def _absent(part: Callable[[Any], s.Formula]) -> Solver[Any]:
    """Return the solver of a formula that holds where the part does not, which it only tests."""

    def solved(formula: s.Formula, binding: Binding, model: Model) -> Iterator[Binding]:
        return iter([] if holds(part(formula), binding, model) else [binding])

    return Solver(lambda formula, bound: formula.free() <= bound and evaluable(part(formula), bound), solved)


def _exists(formula: s.Exists, binding: Binding, model: Model) -> Iterator[Binding]:
    x = formula.variable
    outside = {name: value for name, value in binding.items() if name != x}
    for result in solve(formula.body, outside, model):
        yield {**{name: value for name, value in result.items() if name != x}, **binding}


def _equal_evaluable(formula: s.Equal, bound: Names) -> bool:
    return any(
        s.term_variables(known) <= bound and (isinstance(other, s.Var) or s.term_variables(other) <= bound)
        for known, other in _sides(formula)
    )


def _equal(formula: s.Equal, binding: Binding, model: Model) -> Iterator[Binding]:
    for known, other in _sides(formula):
        if s.term_variables(known) <= binding.keys():
            value = s.term_value(known, binding)
            extended = {other.name: value, **binding} if isinstance(other, s.Var) else binding
            if s.term_value(other, extended) == value:
                yield extended
            return


def _sides(formula: s.Equal) -> tuple[tuple[s.Term, s.Term], tuple[s.Term, s.Term]]:
    return (formula.left, formula.right), (formula.right, formula.left)


def _compare(formula: s.Compare, binding: Binding, model: Model) -> Iterator[Binding]:
    if COMPARISONS[formula.operator](s.term_value(formula.left, binding), s.term_value(formula.right, binding)):
        yield binding


def _aggregate_evaluable(formula: Aggregate, bound: Names) -> bool:
    outside = bound - {*formula.variables, formula.value}
    inside = outside | formula.outer() | set(formula.variables)
    by_range = formula.outer() <= formula.range.free() | outside and (
        formula.outer() <= outside or not results(formula.function, [])
    )
    binds = set(formula.variables) <= formula.range.free()
    return by_range and binds and evaluable(formula.range, outside) and evaluable(formula.body, inside)


def _aggregate(formula: Aggregate, binding: Binding, model: Model) -> Iterator[Binding]:
    """Yield where the outer variables are not all bound the range binds them; an empty range then has no result."""
    hidden = {*formula.variables, formula.value}
    outside = {name: value for name, value in binding.items() if name not in hidden}
    groups: dict[tuple[Any, ...], tuple[Binding, dict[tuple[Any, ...], set[Any]]]] = {}
    outer = sorted(formula.outer())
    if formula.outer() <= outside.keys():
        groups[tuple(outside[name] for name in outer)] = (outside, {})
    for found in solve(formula.range, outside, model):
        group = {name: value for name, value in found.items() if name not in hidden}
        _, choices = groups.setdefault(tuple(group[name] for name in outer), (group, {}))
        values = {inner[formula.value] for inner in solve(formula.body, found, model)}
        choices[tuple(found[name] for name in formula.variables)] = values
    for group, choices in groups.values():
        for result in results(formula.function, choices.values()):
            if binding.get(formula.result, result) == result:
                yield {**group, **binding, formula.result: result}


SOLVERS.update(
    {
        s.Top: Solver(lambda formula, bound: True, lambda formula, binding, model: iter([binding])),
        s.Bottom: Solver(lambda formula, bound: True, lambda formula, binding, model: iter(())),
        s.Atom: Solver(_atom_evaluable, _atom),
        s.And: Solver(lambda formula, bound: ordered(formula, bound) is not None, _and),
        s.Or: Solver(_or_evaluable, _or),
        s.Not: _absent(lambda formula: formula.body),
        s.Exists: Solver(lambda formula, bound: evaluable(formula.body, bound - {formula.variable}), _exists),
        s.Forall: _absent(negated),
        s.Equal: Solver(_equal_evaluable, _equal),
        s.Compare: Solver(lambda formula, bound: formula.free() <= bound, _compare),
        Aggregate: Solver(_aggregate_evaluable, _aggregate),
    }
)
