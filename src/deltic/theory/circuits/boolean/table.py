"""The derivative table for the Boolean change action: what each operator on sets gains and loses [FIX §4.2, Fig. 2].

A change (p, q) of a set a makes it (a ∪ p) ∖ q. Nodes are read as sets: a map is an image, a sum a union. For circuits
without negative weights that is the support of their Z-sets, by [DBSP Prop. 6.10, 6.11].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder, Node

Pair = tuple[int, int]
"""The nodes that carry what is added and what is removed."""


class Sides(Protocol):
    """The views of the nodes of the circuit that is being differentiated, as nodes of the new one; all are sets."""

    builder: CircuitBuilder

    def up(self, number: int) -> int:
        """What node `number` gains; it may repeat what was there."""

    def down(self, number: int) -> int:
        """What it loses; it may name what was not there, and never what is there after the change."""

    def new(self, number: int) -> int:
        """Its value after the change."""

    def old(self, number: int) -> int:
        """Its value before the change."""

    def union(self, *numbers: int) -> int:
        """The union of new nodes."""

    def without(self, number: int, *others: int) -> int:
        """The rows of a new node that are in none of the others."""

    def apply(self, operator: ops.Operator, *numbers: int) -> int:
        """The set of what the operator makes of new nodes."""


Rule = Callable[[Any, Node, Sides], Pair]


@dataclass(frozen=True)
class Gains:
    """A row of the table: the rule, the formulas for gains and losses, and their source."""

    rule: Rule
    up: str
    down: str
    source: str


GAINS: dict[type[ops.Operator], Gains] = {}


def gains(operator: type[ops.Operator], up: str, down: str, source: str) -> Callable[[Rule], Rule]:
    """Enter a rule for an operator into the table."""

    def enter(rule: Rule) -> Rule:
        GAINS[operator] = Gains(rule, up, down, source)
        return rule

    return enter
