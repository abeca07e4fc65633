"""What every operator is: an immutable value that knows the type of its output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn

from deltic.circuit.types import EdgeType, ZSetType
from deltic.errors import CircuitError

if TYPE_CHECKING:
    from deltic.circuit.graph import Circuit


@dataclass(frozen=True)
class Operator(ABC):
    """A node's label: a frozen dataclass whose fields are its parameters."""

    keyword: ClassVar[str]

    @abstractmethod
    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        """The type of the output for inputs of these types in a circuit of nesting `depth`.

        Raises CircuitError when the operator cannot take them.
        """

    def arguments(self) -> str:
        """The parameters as they stand in the text form, "" for none."""
        return ""

    def bodies(self) -> Sequence[tuple[str, Circuit]]:
        """The circuits inside this one, with their labels in the text form."""
        return ()

    def refuse(self, rule: str, inputs: Sequence[EdgeType]) -> NoReturn:
        """Raise the CircuitError of a violated rule."""
        found = ", ".join(map(str, inputs)) or "nothing"
        label = f"{self.keyword} {self.arguments()}".strip()
        raise CircuitError(f"{label}: {rule}; its inputs are: {found}")

    def zsets(self, inputs: Sequence[EdgeType], count: int | None = None) -> list[ZSetType]:
        """The inputs, checked to be `count` Z-sets (at least one when `count` is None)."""
        zsets = [i for i in inputs if isinstance(i, ZSetType)]
        if len(zsets) != len(inputs) or (len(zsets) != count if count is not None else not zsets):
            wanted = "one or more Z-sets" if count is None else f"{count} Z-set" + "s" * (count != 1)
            self.refuse(f"takes {wanted}", inputs)
        return zsets
