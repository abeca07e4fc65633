"""User-defined operators become relations that read all rows of their inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self

from deltic.calculus.derivatives.table import FALLBACK
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.definitions import OfInputs
from deltic.program.scope import Scope, relation_of
from deltic.program.unsupported import in_recursion, needs_fallback


class Recomputed(OfInputs):
    """The result of a user's operator without a derivative, recomputed from scratch when an input changes.

    It may have rows for empty inputs. So unless it works by groups, it also reads the relation `begins`, whose row is
    inserted in the first epoch.
    """

    operator: ops.Apply
    begins: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        return (*self.inputs, self.begins) if self.begins else self.inputs

    def renamed(self, names: Mapping[str, str]) -> Self:
        return replace(super().renamed(names), begins=names[self.begins] if self.begins else "")

    @property
    def kept(self) -> str:
        return "begins" if self.begins else ""

    @property
    def keys(self) -> int:
        """The number of leading key columns if groups are independent; 0 if it needs all rows."""
        return 0

    @property
    def called(self) -> str:
        """The operator's name for users."""
        return self.operator.called

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        read = ", ".join(self.inputs)
        yield f"{self.called} by {FALLBACK.formula}, for it has no derivative:"
        yield f"  each change of {read} costs all of their rows and all rows of the result; keeps both"

    def __str__(self) -> str:
        return f"{self.operator.label} of {', '.join(self.inputs)}"


class Maintained(Recomputed):
    """The result of a user's operator that has a derivative or a state."""

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
    """Return the relation of D(f(I(Δa), …)), for a user's operator f without a derivative."""
    (below,) = node.inputs
    fallen = scope.circuit.nodes[below]
    if scope.component is not None and scope.is_recursive(number):
        raise in_recursion(below, fallen.operator)
    kept = [scope.circuit.nodes[i] for i in fallen.inputs]
    if not (isinstance(fallen.operator, ops.Apply) and all(isinstance(k.operator, ops.Integrate) for k in kept)):
        raise needs_fallback(below, fallen.operator)
    inputs = tuple(scope.relation(k.inputs[0]) for k in kept)
    return scope.defined(wanted, number, Recomputed(inputs, fallen.operator, scope.drafts.beginning()))


@relation_of(ops.MaintainDelta)
def maintain_delta(scope: Scope, op: ops.MaintainDelta, node: Node, number: int, wanted: str) -> str:
    """The relation of the changes that the derivative or the state computes."""
    if scope.component is not None and scope.is_recursive(number):
        raise in_recursion(number, op)
    begins = scope.drafts.beginning() if op.begins(node.inputs) else ""
    return scope.defined(
        wanted, number, Maintained(tuple(map(scope.relation, op.pairs(node.inputs)[1::2])), op, begins)
    )
