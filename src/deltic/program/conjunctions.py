"""Restricting and joining conjunctions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import is_checked, is_literal, is_not_null
from deltic.circuit.expressions.meaning import evaluate
from deltic.program.queries import Body, Term, as_expression, term_of


def is_plain(body: Body) -> bool:
    """Return whether the body is one atom of distinct variables, each of them one result, and nothing else."""
    shown = [t for t in body.out.values() if isinstance(t, int)]
    restricted = body.absent or body.conditions or body.equations or len(set(shown)) != len(body.out)
    return not restricted and set(shown) == body.atoms[0].variables()


def result_names(body: Body) -> dict[int, str]:
    """Return the names of the results that are variables, by variable."""
    return {t: name for name, t in body.out.items() if isinstance(t, int) and not name.startswith("\0")}


def restrict(body: Body, condition: Term) -> list[Body]:
    """Return the body with one more condition; an empty list when the condition is always false."""
    predicate = as_expression(condition)
    if not any(predicate.find_all(exp.Column)) and not is_checked(predicate):
        return [body] if evaluate(predicate, {}, {}) is True else []
    sides = (predicate.this, predicate.expression) if isinstance(predicate, exp.EQ | exp.NullSafeEQ) else ()
    result = [body.infer(side) for side in sides]
    if not result or result[0].type is not result[1].type:
        return [replace(body, conditions=(*body.conditions, predicate))]
    left, right = map(term_of, sides)
    if isinstance(predicate, exp.EQ) and all(value.nullable for value in result):
        body = replace(body, conditions=(*body.conditions, is_not_null(as_expression(left).copy())))
    return _equate(body, left, right)


def _equate(body: Body, left: Term, right: Term) -> list[Body]:
    """Return the body restricted to rows where two terms of one type are equal, or both NULL."""
    if left == right and (isinstance(left, int) or is_literal(left)):
        return [body]
    if not isinstance(left, int):
        left, right = right, left
    if isinstance(left, int) and (isinstance(right, int) or is_literal(right)):
        return [body.substitute(left, right)]
    if isinstance(left, int):
        return [replace(body, equations=(*body.equations, (left, as_expression(right))))]
    if is_literal(left) and is_literal(as_expression(right)):
        same = exp.NullSafeEQ(this=left.copy(), expression=as_expression(right).copy())
        return [body] if evaluate(same, {}, {}) is True else []
    return [replace(body, conditions=(*body.conditions, body.equality(left, as_expression(right))))]


def product(inputs: Iterable[Sequence[Body]]) -> list[Body]:
    """Return the natural joins of one body of each input, in all combinations."""
    joined, *others = inputs
    for right in others:
        joined = [both for a, b in itertools.product(joined, right) for both in _conjoin(a, b)]
    return list(joined)


def _conjoin(a: Body, b: Body) -> list[Body]:
    """Return the natural join of two bodies."""
    shared = [name for name in a.out if name in b.out]
    joined = Body(
        a.sign * b.sign,
        a.atoms + b.atoms,
        a.absent + b.absent,
        a.conditions + b.conditions,
        a.equations + b.equations,
        {**b.out, **a.out, **{f"\0{name}": b.out[name] for name in shared}},
        {**a.types, **b.types},
        {**result_names(b), **result_names(a), **b.names, **a.names},
    )
    bodies = [joined]
    for name in shared:
        bodies = [r for body in bodies for r in _equate(body, body.out[name], body.out[f"\0{name}"])]
    return [replace(body, out={n: t for n, t in body.out.items() if not n.startswith("\0")}) for body in bodies]
