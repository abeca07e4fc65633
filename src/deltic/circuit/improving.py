"""Recursions whose minima and maxima only improve, in any order of evaluation.

Let a row with the least value of something stand for itself and for those with greater values, and likewise for maxima;
such a value is a *bound*. In this reading `distance(x, min d)` is a set that grows when d falls. A body that grows with
all of its relations in this reading has a least fixpoint, and every fair order of evaluation reaches it. Only the
bounds themselves may not be on a cycle without an aggregate, because outdated bounds must leave no rows.

NULL, which minima and maxima ignore, counts as worse than all values. Sums are assumed not to wrap around.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.expressions import Checked, columns_of, conjuncts
from deltic.circuit.graph import Circuit, Node

Bounds = Mapping[str, int]
"""The columns of a node that are bounds: -1 where they fall during the recursion, 1 where they rise."""

_FALLING, _RISING = -1, 1
_TURNS = {"min": _FALLING, "max": _RISING}
# Comparisons that stay true as the left side falls, or rises.
_KEEPING: Mapping[type[exp.Expression], int] = {exp.LT: _FALLING, exp.LTE: _FALLING, exp.GT: _RISING, exp.GTE: _RISING}


class _Unknown(Exception):
    """The analysis cannot exclude that a node retracts something as a bound improves."""


def improves(body: Circuit) -> bool:
    """Return whether a fixpoint's body grows with its relations, where a better minimum or maximum counts as growth."""
    if not body.are_sets:
        return False
    assumed: dict[str, Bounds] = {name: {} for name in body.sinks}
    try:
        while True:
            result = _bounds(body, assumed)
            closed = {name: result.get(number, {}) for name, number in body.sinks.items()}
            if closed == assumed:
                return not _circles(body, result)
            assumed = closed
    except _Unknown:
        return False


def _bounds(body: Circuit, assumed: Mapping[str, Bounds]) -> dict[int, Bounds]:
    """Return the bounds of the nodes that depend on the recursion, given those of its relations. Raises _Unknown."""
    result: dict[int, Bounds] = {}
    for number, node in enumerate(body.nodes):
        if isinstance(node.operator, ops.Feedback):
            result[number] = assumed[node.operator.name]
        elif any(n in result for n in node.inputs):
            result[number] = _turned(body, node, result)
    return result


def _turned(body: Circuit, node: Node, known: Mapping[int, Bounds]) -> Bounds:
    """Return the bounds of a node from those of its inputs.

    Inputs outside of the recursion are constant over the iterations.
    """
    operator, inputs = node.operator, [known.get(n, {}) for n in node.inputs]
    if isinstance(operator, ops.Map):
        turns = {c.name: _turn(e, inputs[0]) for c, e in zip(operator.columns, operator.expressions, strict=True)}
        return {name: turn for name, turn in turns.items() if turn}
    if isinstance(operator, ops.Filter):
        for condition in conjuncts(operator.predicate):
            _check(condition, inputs[0])
        return inputs[0]
    if isinstance(operator, ops.Join | ops.Semijoin | ops.Antijoin):
        return _joined(body, node, known, inputs)
    if isinstance(operator, ops.Plus | ops.Distinct | ops.Keep | ops.Sink):
        return _together(inputs)
    if isinstance(operator, ops.Aggregate):
        return _picked(operator, inputs[0])
    raise _Unknown


def _joined(body: Circuit, node: Node, known: Mapping[int, Bounds], inputs: Sequence[Bounds]) -> Bounds:
    """Return the bounds of a join, which must not join on a bound; an antijoin must subtract a constant relation."""
    names = [set(body.type_of(n).schema.names) for n in node.inputs]
    for i, bounds in enumerate(inputs):
        if any(names[i] & names[j] & set(bounds) for j in range(len(inputs)) if j != i):
            raise _Unknown
    if isinstance(node.operator, ops.Antijoin) and node.inputs[1] in known:
        raise _Unknown
    return _together(inputs)


def _together(inputs: Sequence[Bounds]) -> Bounds:
    """Merge the bounds of several inputs, which must agree."""
    both: dict[str, int] = {}
    for bounds in inputs:
        for name, turn in bounds.items():
            if both.setdefault(name, turn) != turn:
                raise _Unknown
    return both


def _picked(operator: ops.Aggregate, bounds: Bounds) -> Bounds:
    """Return the bounds of an aggregate of minima and maxima; each must have the direction of its column."""
    result = {}
    for call in operator.calls:
        like = ACCUMULATORS[call.function].like
        if like not in _TURNS or bounds.get(call.column, _TURNS[like]) != _TURNS[like]:
            raise _Unknown
        result[call.name] = _TURNS[like]
    if any(key in bounds for key in operator.keys):
        raise _Unknown
    return result


def _turn(expression: exp.Expression, bounds: Bounds) -> int:
    """Return the direction of an expression as its bounds improve, 0 if it reads none. Raises _Unknown."""
    if not any(name in bounds for name in columns_of(expression)):
        return 0
    if isinstance(expression, exp.Column):
        return bounds[expression.name]
    if isinstance(expression, exp.Paren | Checked):
        return _turn(expression.this, bounds)
    if isinstance(expression, exp.Add | exp.SafeAdd | exp.Least | exp.Greatest):
        operands = [expression.this, *filter(None, [expression.args.get("expression")]), *expression.expressions]
        return _agreed([_turn(operand, bounds) for operand in operands])
    if isinstance(expression, exp.Sub | exp.SafeSubtract):
        return _agreed([_turn(expression.this, bounds), -_turn(expression.expression, bounds)])
    raise _Unknown


def _agreed(turns: Sequence[int]) -> int:
    result = set(turns) - {0}
    if len(result) != 1:
        raise _Unknown
    return result.pop()


def _check(condition: exp.Expression, bounds: Bounds) -> None:
    """Raise _Unknown where a condition may become false as bounds improve."""
    if not any(name in bounds for name in columns_of(condition)):
        return
    turn = _KEEPING.get(type(condition))
    if turn is None or _agreed([_turn(condition.this, bounds), -_turn(condition.expression, bounds)]) != turn:
        raise _Unknown


def _circles(body: Circuit, known: Mapping[int, Bounds]) -> bool:
    """Return whether a bound depends on itself without an aggregate on the way."""
    reached: dict[int, set[str]] = {}
    for number, node in enumerate(body.nodes):
        if isinstance(node.operator, ops.Feedback):
            reached[number] = {node.operator.name} if known[number] else set()
        elif known.get(number) and not isinstance(node.operator, ops.Aggregate):
            reached[number] = set().union(*(reached.get(n, set()) for n in node.inputs))
    handed = {name: reached.get(number, set()) for name, number in body.sinks.items()}
    while leaves := [name for name, others in handed.items() if not others & handed.keys()]:
        for name in leaves:
            del handed[name]
    return bool(handed)
