"""Recursion [DBSP §7]: the chain of rewrites from naive evaluation to the form that engines maintain.

naive ─► semi-naive ─► maintained ─► lowered to the operator that engines run
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from deltic.calculus.incrementalize import lift
from deltic.calculus.inside import inside
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node
from deltic.errors import UnsupportedError


def naive(circuit: Circuit) -> Circuit:
    """Return the circuit with ∫ ∘ D ∘ (fix α. T(·, z⁻¹(α))) ∘ I ∘ δ₀ written out for each fixpoint of a body T.

    Every iteration computes all rows from all rows of the previous one; the last is the value [DBSP Thm 7.1, 7.2].
    """
    return inside(circuit, _bracket)


def _bracket(operator: ops.Fixpoint | ops.Bracket) -> ops.Operator:
    cycles = {inner.name for inner in operator.body.operators if isinstance(inner, ops.Feedback)}
    looped = partial(_looped, cycles=cycles)
    return ops.Bracket(operator.body.rebuilt(looped)) if isinstance(operator, ops.Fixpoint) else operator


def _looped(builder: CircuitBuilder, node: Node, inputs: list[int], cycles: set[str]) -> int:
    operator = node.operator
    if isinstance(operator, ops.Import):
        return builder.add(ops.Integrate(operator.type.is_set), builder.add(operator))
    if isinstance(operator, ops.Feedback):
        return builder.add(ops.BackEdge(operator.name, operator.schema, operator.is_set))
    if isinstance(operator, ops.Sink):
        if operator.name in cycles:
            builder.add(ops.Close(operator.name), *inputs)
        return builder.add(operator, builder.add(ops.Differentiate(), *inputs))
    return builder.add(operator, *inputs)


def semi_naive(circuit: Circuit) -> Circuit:
    """Return the circuit with D pushed through the body of each bracket, from its sinks to the I of its imports.

    D ∘ (fix α. T(·, z⁻¹(α))) ∘ I = fix α. T^Δ(·, z⁻¹(α)) [DBSP Prop. 4.2 cycle]: every iteration computes only from
    the new rows of the previous one. The changes are those from one iteration to the next.
    """
    return inside(circuit, _changes)


def _changes(operator: ops.Fixpoint | ops.Bracket) -> ops.Operator:
    if not isinstance(operator, ops.Bracket):
        return operator
    return replace(operator, body=push(operator.body), is_set=operator.sums_to_sets)


def maintained(circuit: Circuit) -> Circuit:
    """Steps 3 to 5 of [DBSP Alg. 6.13] for a circuit with brackets, whose inner edges become streams of streams.

    In a body, an operator with `outer 1` has the state of the previous step, others that of the previous iteration; the
    changes are changes in both, D(↑D(·)).
    """
    return push(surround(lift(circuit)))


def lowered(circuit: Circuit, query: Circuit) -> Circuit:
    """Return the maintained form of a query, with a `FixpointDelta` for each bracket that maintains a fixpoint of the
    query.

    D and ↑D commute [DBSP §5.2.4], so by the cycle rule from right to left the changes between iterations can be left
    to the engine: a FixpointDelta has only the changes of each iteration between steps, and the local engine stores the
    iteration of each row instead. Raises UnsupportedError for a bracket that is no fixpoint's.
    """
    deltas = _deltas(query)

    def delta(number: int, operator: ops.Operator) -> ops.Operator:
        if isinstance(operator, ops.Bracket) and operator not in deltas:
            raise UnsupportedError(f"%{number} {operator.keyword}: it maintains no fixpoint of the query")
        return deltas.get(operator, operator)

    return circuit.with_operators(delta)


def _deltas(query: Circuit) -> dict[ops.Operator, ops.Operator]:
    """Return the bracket that maintains each fixpoint of the query, mapped to the derivative that engines run."""
    brackets = _inner(maintained(semi_naive(naive(query))), ops.Bracket)
    return dict(zip(brackets, _inner(maintained(query), ops.FixpointDelta), strict=True))


def _inner(circuit: Circuit, kind: type[ops.Operator]) -> list[ops.Operator]:
    return [operator for operator in circuit.operators if isinstance(operator, kind)]


def chain(query: Circuit) -> dict[str, Circuit]:
    """Return the circuits of a query by the names of the steps that make them; the last two compute on changes.

    The last one is the result of `incrementalize` for the optimized query.
    """
    steps = {"naive": naive(query)}
    steps["semi_naive"] = semi_naive(steps["naive"])
    steps["maintained"] = maintained(steps["semi_naive"])
    steps["lowered"] = lowered(steps["maintained"], query)
    return steps
