"""Nodes for user-defined operators, by their names in `deltic.circuit.custom.CUSTOM`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import NamedOperator, changes
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.circuit.custom import CustomOperator


Input = TypeVar("Input")


class Apply(NamedOperator):
    """A user's operator without a derivative or a state; it is recomputed."""

    @property
    def called(self) -> str:
        """Its name for users."""
        return self.name.rpartition("__")[0]

    @property
    def custom(self) -> CustomOperator:
        """The registered operator of that name. Raises CircuitError where there is none."""
        from deltic.circuit.custom import CUSTOM
        from deltic.errors import CircuitError

        if self.name not in CUSTOM:
            raise CircuitError(f"{self.label}: there is no such operator; make {self.called} by deltic.operator first")
        return CUSTOM[self.name]

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return self._checked(self.zsets(inputs), inputs)

    def _checked(self, zsets: Sequence[ZSetType], inputs: Sequence[EdgeType]) -> ZSetType:
        takes = self.custom.takes
        if len(zsets) != len(takes) or not all(map(_fits, (z.schema for z in zsets), takes)):
            wanted = ", ".join(str(ZSetType(schema, False)) for schema in takes)
            self.refuse(f"takes {wanted}", inputs)
        return ZSetType(self.custom.gives, False, max((z.depth for z in zsets), default=0))

    def __reduce__(self) -> Any:
        """Pickle it together with the user's operator, so that another process has the code."""
        return _received, (type(self), self.custom, self.name)


def _received(kind: type[Apply], custom: CustomOperator, name: str) -> Apply:
    from deltic.circuit.custom import CUSTOM

    CUSTOM.setdefault(name, custom)
    return kind(name)


class Maintain(Apply):
    """A user's operator that has a derivative or a state."""


class MaintainDelta(Apply):
    """The change of `Maintain` from a₁, Δa₁, …, aₙ, Δaₙ, and optionally the change of a relation without columns.

    When that relation gets its one row, the function's value for empty inputs is added.
    """

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        zsets, pairs = self.zsets(inputs), self.pairs(inputs)
        if any(len(first.schema) for first in zsets[len(pairs) :]):
            self.refuse("takes the change of a row of no columns last", inputs)
        return self._checked(changes(self, pairs), inputs)

    def pairs(self, inputs: Sequence[Input]) -> Sequence[Input]:
        """Return the inputs a₁, Δa₁, …, aₙ, Δaₙ alone."""
        return inputs[: len(inputs) // 2 * 2]

    def begins(self, inputs: Sequence[Any]) -> bool:
        """Return whether it has the last, optional input, the relation without columns."""
        return len(inputs) % 2 == 1


def applied(custom: CustomOperator) -> Apply:
    """Return the node operator for a user-defined operator."""
    return Maintain(custom.entry) if custom.is_maintained else Apply(custom.entry)


def _fits(given: Schema, wanted: Schema) -> bool:
    """Return whether rows of one schema may be used as rows of another, whatever the names of the columns."""
    pairs = list(zip(given, wanted, strict=False))
    return len(given) == len(wanted) and all(a.type is b.type and (b.nullable or not a.nullable) for a, b in pairs)
