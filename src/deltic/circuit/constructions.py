"""Circuits composed of other operators, so that no new operator is needed [DBSP §8].

Each is a function of a `CircuitBuilder` and the numbers of its nodes, and returns the number of a new node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.errors import CircuitError
from deltic.values.types import Schema


def delayed(builder: CircuitBuilder, number: int, steps: int) -> int:
    """z⁻ᵏ: the stream of a node `steps` steps ago, zero before; the node itself for 0. It stores `steps` values."""
    for _ in range(steps):
        number = builder.add(ops.Delay(), number)
    return number


def last_steps(builder: CircuitBuilder, number: int, steps: int) -> int:
    """Return the change of a relation over the last `steps` steps: a − z⁻ᵏ(a).

    For an append-only relation these are the rows of a sliding window of the last `steps` epochs. It is linear, so its
    change is Δa − z⁻ᵏ(Δa): the rows that enter the window less those that leave it. It stores the changes of `steps`
    epochs, not the relation.
    """
    return builder.add(ops.Plus(), number, builder.add(ops.Negate(), delayed(builder, number, steps)))


def matches(builder: CircuitBuilder, relation: int, data: int) -> int:
    """Return the matches of data rows with the relation as it was when they arrived: I(a ⋈ D(b)).

    `data` is the relation of all data so far. Unlike in a ⋈ b, later changes of the relation do not change the result.
    Its derivative is I(Δa) ⋈ Δb: I and D cancel, so only the relation is stored.
    """
    arrived = builder.add(ops.Differentiate(), data)
    return builder.add(ops.Integrate(), builder.add(ops.Join(), relation, arrived))


Step = Callable[[CircuitBuilder, int, Sequence[int]], int]
"""A query Q: from a builder, the node of x and the nodes of the parameters to the node of Q(x)."""

_NULLARY = Schema(())


def while_changing(builder: CircuitBuilder, start: int, step: Step, *parameters: int) -> int:
    """``x := start; while (x changes) x := Q(x)``, for sets: the set at which the iteration stops changing.

    `step` adds Q to the loop's body. It may read the parameters, which are constant over the iterations, and need not
    be monotone. A loop may be nested in the step of another. Raises CircuitError where the columns of Q(x) differ from
    those of x. A loop that never reaches a fixpoint does not terminate: interpreters raise an error after many
    iterations.

    It is a fixpoint with a second relation, *begun*, that is empty only at the first iteration: there x is the start,
    afterwards Q of the previous x. So the calculus makes it incremental like every fixpoint [DBSP §7.2].
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
    """Return the relation of one row without columns; inside a body, the one that the surrounding loop imports."""
    if not builder.depth:
        return builder.add(ops.Constant(_NULLARY, ((),)))
    for number, operator in enumerate(builder.operators):
        if isinstance(operator, ops.Import) and operator.type.schema == _NULLARY and operator.type.is_set:
            return number
    raise CircuitError("while: in a body it may stand only in the step of another while")
