"""Operators of a user's own: relations that read all rows of what they follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from deltic.calculus.derivatives.table import FALLBACK
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.circuit.operators.custom import Apply, MaintainDelta
from deltic.program.definitions import Definition
from deltic.program.scope import Scope, relation_of
from deltic.program.unsupported import in_recursion, needs_fallback


@dataclass(frozen=True)
class Recomputed(Definition):
    """What a user's operator without a derivative makes of relations: computed from scratch when one changes.

    It may make something of nothing: where it looks at all rows it `begins` with a relation of the first epoch.
    """

    inputs: tuple[str, ...]
    operator: Apply
    begins: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        return (*self.inputs, self.begins) if self.begins else self.inputs

    @property
    def contents(self) -> tuple[str, ...]:
        return self.inputs

    def renamed(self, names: Mapping[str, str]) -> Self:
        begins = names[self.begins] if self.begins else ""
        return replace(self, inputs=tuple(names[name] for name in self.inputs), begins=begins)

    @property
    def kept(self) -> str:
        return "begins" if self.begins else ""

    @property
    def keys(self) -> int:
        """How many columns those are by which it looks at each group alone; 0 where it looks at all rows."""
        return 0

    @property
    def called(self) -> str:
        """What a reader calls the operator."""
        return self.operator.called

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        read = ", ".join(self.inputs)
        yield f"{self.called} by {FALLBACK.formula}, for it has no derivative:"
        yield f"  each change of {read} costs all of their rows and all rows of the result; keeps both"

    def __str__(self) -> str:
        return f"{self.operator.label} of {', '.join(self.inputs)}"


@dataclass(frozen=True)
class Maintained(Recomputed):
    """What a user's operator that says how it changes makes of relations."""

    @property
    def keys(self) -> int:
        return self.operator.custom.keys

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        custom, read = self.operator.custom, ", ".join(self.inputs)
        if custom.state is not None:
            yield (
                f"{custom.name} of {read}, by what its state makes of their changes; keeps their rows, and the state "
                "in memory, which is rebuilt from all rows after an error or a restart"
            )
        else:
            yield f"{custom.name} of {read}, by its derivative; keeps their rows, and costs what it reads of them"


def recomputed(scope: Scope, node: Node, number: int, wanted: str) -> str:
    """The relation of D(f(I(Δa), …)): the value of a user's operator without a derivative."""
    (below,) = node.inputs
    fallen = scope.circuit.nodes[below]
    if scope.component is not None and scope.is_recursive(number):
        raise in_recursion(below, fallen.operator)
    kept = [scope.circuit.nodes[i] for i in fallen.inputs]
    if not (isinstance(fallen.operator, Apply) and all(isinstance(k.operator, ops.Integrate) for k in kept)):
        raise needs_fallback(below, fallen.operator)
    inputs = tuple(scope.relation(k.inputs[0]) for k in kept)
    return scope.defined(wanted, number, Recomputed(inputs, fallen.operator, scope.drafts.beginning()))


@relation_of(MaintainDelta)
def maintain_delta(scope: Scope, op: MaintainDelta, node: Node, number: int, wanted: str) -> str:
    """What the derivative or the state makes of the changes."""
    if scope.component is not None and scope.is_recursive(number):
        raise in_recursion(number, op)
    begins = scope.drafts.beginning() if op.begins(node.inputs) else ""
    return scope.defined(
        wanted, number, Maintained(tuple(map(scope.relation, op.pairs(node.inputs)[1::2])), op, begins)
    )
