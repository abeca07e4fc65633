"""Joins of a stream of data with a relation [DBSP §8.2]."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder


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
