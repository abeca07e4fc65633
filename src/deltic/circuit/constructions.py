"""Circuits that are made of others: what needs no operator of its own [DBSP §8].

Each is a function of a `CircuitBuilder` and the numbers of its nodes, and returns the number of a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.errors import CircuitError
from deltic.values.types import Schema

Part = Callable[[CircuitBuilder, int], int]
"""A circuit of one input that a builder adds: from the number of a node to that of another."""


def delayed(builder: CircuitBuilder, number: int, steps: int) -> int:
    """z⁻ᵏ: the stream of a node `steps` steps ago, zero before; the node itself for 0. It keeps `steps` values."""
    for _ in range(steps):
        number = builder.add(ops.Delay(), number)
    return number


def convolution(builder: CircuitBuilder, number: int, parts: Sequence[Part]) -> int:
    """Σᵢ Tᵢ(z⁻ⁱ(s)), the parts for the newest step first: a convolution filter, an aggregate of the last steps.

    For linear parts it is its own derivative.
    """
    return builder.add(ops.Plus(), *(part(builder, delayed(builder, number, i)) for i, part in enumerate(parts)))


def last_steps(builder: CircuitBuilder, number: int, steps: int) -> int:
    """How a relation has changed in the last `steps` steps: a − z⁻ᵏ(a).

    For a relation to which rows are only added these are the rows of a sliding window of the last `steps` epochs. It is
    linear, so that its change is Δa − z⁻ᵏ(Δa): what enters the window less what leaves it, and it keeps the changes
    of `steps` epochs, not the relation.
    """
    return builder.add(ops.Plus(), number, builder.add(ops.Negate(), delayed(builder, number, steps)))


def stream_join(builder: CircuitBuilder, changes: int, data: int) -> int:
    """T(s, t) = I(s) ⋈ t, for the changes s of a relation and a stream t of data: each matched once, then forgotten.

    For circuits that are run as they are, on changes; `matches` is the view whose derivative this is.
    """
    return builder.add(ops.Join(), builder.add(ops.Integrate(), changes), data)


def matches(builder: CircuitBuilder, relation: int, data: int) -> int:
    """All matches of data with what the relation was when they arrived: I(a ⋈ D(b)).

    `data` is the relation of all data so far. Unlike in a ⋈ b, a later change of the relation does not change them. The
    derivative is `stream_join` of the changes: I and D cancel, and what is kept is the relation alone.
    """
    arrived = builder.add(ops.Differentiate(), data)
    return builder.add(ops.Integrate(), builder.add(ops.Join(), relation, arrived))


Step = Callable[[CircuitBuilder, int, Sequence[int]], int]
"""A query Q: from a builder, the node of x and those of the parameters to the node of Q(x)."""

_NULLARY = Schema(())


def while_changing(builder: CircuitBuilder, start: int, step: Step, *parameters: int) -> int:
    """``x := start; while (x changes) x := Q(x)``, for sets: the set at which the iteration rests.

    `step` adds Q to the loop's body; it may read the parameters, which are the same at each iteration, and need not be
    monotone. A loop may stand in the step of another. Raises CircuitError where Q(x) has not the columns of x. Where x
    changes for ever, so does the loop: interpreters raise UnsupportedError after many iterations.

    It is a fixpoint with a second relation, *begun*, that is empty at the first iteration only: there x is the start,
    after it Q of what it was. So the calculus makes it incremental as it does every fixpoint [DBSP §7.2].
    """
    once = _once(builder)
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
    return builder.add(ops.BundleRelation("x"), builder.add(ops.Fixpoint(body.build()), *outer))


def _once(builder: CircuitBuilder) -> int:
    """The relation of one row without columns; in a body it is one that a loop around it imports."""
    if not builder.depth:
        return builder.add(ops.Constant(_NULLARY, ((),)))
    for number, operator in enumerate(builder.operators):
        if isinstance(operator, ops.Import) and operator.type.schema == _NULLARY and operator.type.is_set:
            return number
    raise CircuitError("while: in a body it may stand only in the step of another while")
