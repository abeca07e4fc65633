"""The rows of the Boolean table: Fig. 2 of the paper for the operators of circuits."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.theory.circuits.boolean.table import GAINS, Pair, Sides, gains

__all__ = ["GAINS"]


@gains(ops.Constant, "c at first", "∅", "FIX Fig. 2, ⊤ and ⊥")
def constant_gains(op: ops.Constant, node: Node, sides: Sides) -> Pair:
    """A constant is there from the first step on."""
    rows = sides.apply(op)
    before = sides.builder.add(ops.Delay(), rows)
    return sides.without(rows, before), sides.without(before, rows)


@gains(ops.Distinct, "⁺a", "⁻a", "FIX Def. 1")
@gains(ops.Filter, "σ(⁺a)", "σ(⁻a)", "FIX Fig. 2, ∧ with what does not change")
def filter_gains(op: ops.Operator, node: Node, sides: Sides) -> Pair:
    """Row by row."""
    (source,) = node.inputs
    return sides.apply(op, sides.up(source)), sides.apply(op, sides.down(source))


@gains(ops.Map, "f(⁺a)", "f(⁻a) ∖ f(a')", "FIX Fig. 2, ∃")
def map_gains(op: ops.Map, node: Node, sides: Sides) -> Pair:
    """A row is lost when none is left that has it for its image."""
    (source,) = node.inputs
    lost = sides.apply(op, sides.down(source))
    return sides.apply(op, sides.up(source)), sides.without(lost, sides.apply(op, sides.new(source)))


@gains(ops.Plus, "⋃ᵢ ⁺aᵢ", "(⋃ᵢ ⁻aᵢ) ∖ ⋃ᵢ aᵢ'", "FIX Fig. 2, ∨")
def plus_gains(op: ops.Plus, node: Node, sides: Sides) -> Pair:
    """A union loses what no part has any more."""
    lost = sides.union(*map(sides.down, node.inputs))
    return sides.union(*map(sides.up, node.inputs)), sides.without(lost, *map(sides.new, node.inputs))


@gains(ops.Join, "⋃ᵢ a₁' ⋈ … ⋈ ⁺aᵢ ⋈ … ⋈ aₙ'", "⋃ᵢ a₁ ⋈ … ⋈ ⁻aᵢ ⋈ … ⋈ aₙ", "FIX Fig. 2, ∧")
def join_gains(op: ops.Join, node: Node, sides: Sides) -> Pair:
    """One gain with the new values, or one loss with the old ones."""
    inputs = node.inputs
    gained, lost = [], []
    for i in range(len(inputs)):
        new = [sides.up(n) if j == i else sides.new(n) for j, n in enumerate(inputs)]
        old = [sides.down(n) if j == i else sides.old(n) for j, n in enumerate(inputs)]
        gained.append(sides.apply(op, *new))
        lost.append(sides.apply(op, *old))
    return sides.union(*gained), sides.union(*lost)


@gains(ops.Antijoin, "⁺a ▷ b' ∪ a' ⋈ ⁻b", "⁻a ▷ b ∪ a ⋈ ⁺b", "FIX Fig. 2, ∧ and ¬")
def antijoin_gains(op: ops.Antijoin, node: Node, sides: Sides) -> Pair:
    """¬ exchanges gains and losses."""
    a, b = node.inputs
    join = ops.Join()
    gained = sides.apply(op, sides.up(a), sides.new(b)), sides.apply(join, sides.new(a), sides.down(b))
    lost = sides.apply(op, sides.down(a), sides.old(b)), sides.apply(join, sides.old(a), sides.up(b))
    return sides.union(*gained), sides.union(*lost)
