"""Nodes that no sink depends on are not computed."""

from __future__ import annotations

from deltic.calculus.passes.rewriting import rewrite
from deltic.circuit.graph import Circuit


def drop_unread(circuit: Circuit) -> Circuit:
    """The circuit without the nodes, in bodies too, that no sink depends on; tables stay, read or not."""
    return rewrite(circuit, lambda rewriting, node: None)
