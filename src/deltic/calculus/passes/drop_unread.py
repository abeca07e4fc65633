"""Nodes that no sink depends on are not computed."""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.inside import inside
from deltic.calculus.passes.rewriting import without_unread
from deltic.circuit.graph import Circuit


def drop_unread(circuit: Circuit) -> Circuit:
    """The circuit without the nodes, in bodies too, that no sink depends on; tables stay, read or not."""
    return without_unread(inside(circuit, lambda operator: replace(operator, body=without_unread(operator.body))))
