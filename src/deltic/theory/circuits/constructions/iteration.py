"""Relational while [DBSP §8.6]."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.types import Schema
from deltic.errors import CircuitError

Step = Callable[[CircuitBuilder, int, Sequence[int]], int]
"""A query Q: from a builder, the node of x and those of the parameters to the node of Q(x)."""

_NULLARY = Schema(())


def while_changing(builder: CircuitBuilder, start: int, step: Step, *parameters: int) -> int:
    """``x := start; while (x changes) x := Q(x)``, for sets: the set at which the iteration rests.

    `step` adds Q to the loop's body; it may read the parameters, which are the same at each iteration, and need not be
    monotone. Raises CircuitError where Q(x) has not the columns of x. Where x changes for ever, so does the loop:
    interpreters raise UnsupportedError after many iterations.

    It is a fixpoint with a second relation, *begun*, that is empty at the first iteration only: there x is the start,
    after it Q of what it was. So the calculus makes it incremental as it does every fixpoint [DBSP §7.2].
    """
    once = builder.add(ops.Constant(_NULLARY, ((),)))
    outer = [builder.add(ops.Distinct(), start), once, *parameters]
    body = CircuitBuilder(builder.depth + 1)
    first, always, *given = (body.add(ops.Import(i, builder.type_of(n))) for i, n in enumerate(outer))
    schema = builder.type_of(start).schema
    begun = body.add(ops.Feedback("begun", _NULLARY))
    following = step(body, body.add(ops.Feedback("x", schema)), given)
    if body.type_of(following).schema != schema:
        raise CircuitError(f"while: x is {schema}, but one step makes {body.type_of(following).schema} of it")
    initial = body.add(ops.Antijoin(), first, begun)
    body.add(
        ops.Sink("x"), body.add(ops.Distinct(), body.add(ops.Plus(), initial, body.add(ops.Join(), following, begun)))
    )
    body.add(ops.Sink("begun"), body.add(ops.Distinct(), always))
    return builder.add(ops.Component("x"), builder.add(ops.Fixpoint(body.build()), *outer))
