"""Where a circuit stands among nested streams, and what its nodes mean there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltic.circuit.oracle.memory import Time
from deltic_theory.circuits.settling import at
from deltic_theory.groups import Z_SETS
from deltic_theory.streams import Stream, lift_repeatedly, nested_streams

Streams = Stream[Any]
Value = Any  # a stream, or a dict of them for a bundle


@dataclass(frozen=True)
class Scope:
    """Where a circuit stands: how deep its streams are nested, which time its delays count, what its leaves read."""

    depth: int
    clock: int
    sources: Mapping[str, Streams] = field(default_factory=dict)
    imports: Sequence[Streams] = ()
    feedback: Mapping[str, Streams] = field(default_factory=dict)

    def lift(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of Z-sets at all times of the scope."""
        return lift_repeatedly(function, Z_SETS, self.depth)

    def raised(self, operator: Callable[[Any], Any], time: int) -> Callable[..., Any]:
        """Return an operator at one of the times; it maps streams to streams as deeply nested."""
        return lift_repeatedly(operator, nested_streams(Z_SETS, self.depth - time), time)


@dataclass(frozen=True)
class Meaning:
    """The streams of all nodes of a circuit, in order, those of its sinks and of its back-edges' beginnings by name.

    `observed` gives the values of all nodes at a time, also of those in circuits inside it.
    """

    nodes: Sequence[Value]
    sinks: dict[str, Streams]
    closes: dict[str, Streams]

    def observed(self, time: Time) -> list[Any]:
        return [_observed(value, time) for value in self.nodes]


class StreamBundle(dict[str, Streams]):
    """The streams of a circuit inside a circuit by name, and what is observed of its nodes."""

    inside: Callable[[Time], Any]


def _observed(value: Value, time: Time) -> Any:
    if isinstance(value, dict):
        relations = {name: at(stream, time) for name, stream in value.items()}
        return (relations, value.inside(time)) if isinstance(value, StreamBundle) else relations
    return at(value, time)
