"""The base of all operators, immutable values that compute their output types, and the types of delta operators."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, NoReturn

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.errors import CircuitError
from deltic.immutable import Immutable
from deltic.values.words import word

if TYPE_CHECKING:
    from deltic.circuit.graph import Circuit


class Operator(Immutable, ABC):
    """A node's label: a frozen dataclass whose fields are its parameters."""

    keyword: ClassVar[str]
    """Its name in the text form: that of the class, unless it has another."""
    rule: ClassVar[str] = "§9.4.1 single node"
    """The rule of [DBSP §9.4] that puts it into a circuit."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.keyword = cls.__dict__.get("keyword", re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower())

    @property
    def reach(self) -> int:
        """Whose time its state counts.

        It is 0 for none or its own circuit's, k for the time of the k-th circuit around it.
        """
        return 0

    @abstractmethod
    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        """Return the type of the output for inputs of these types in a circuit of nesting `depth`.

        Raises CircuitError when the operator cannot take them.
        """

    def arguments(self) -> str:
        """Return the parameters in the text form, "" for none."""
        return ""

    def bodies(self) -> Sequence[tuple[str, Circuit]]:
        """Return the circuits inside this operator, with their labels in the text form."""
        return ()

    @property
    def label(self) -> str:
        """The keyword and the arguments."""
        return f"{self.keyword} {self.arguments()}".strip()

    def refuse(self, reason: str, inputs: Sequence[EdgeType]) -> NoReturn:
        """Raise a CircuitError that the operator does not fit here, with the reason."""
        result = ", ".join(map(str, inputs)) or "nothing"
        raise CircuitError(f"{self.label}: {reason}; its inputs are: {result} [DBSP {self.rule}]")

    def check_columns(self, names: Iterable[str], inputs: Sequence[EdgeType], reader: str = "") -> None:
        """Raise CircuitError unless the one input has the columns of these names, which `reader` reads."""
        known = self.zsets(inputs, 1)[0].schema.types
        if (name := next((name for name in names if name not in known), None)) is not None:
            self.refuse(f"column {name} {reader}is not in its input", inputs)

    def zsets(self, inputs: Sequence[EdgeType], count: int | None = None) -> list[ZSetType]:
        """Return the inputs, checked to be `count` Z-sets (at least one when `count` is None)."""
        zsets = [i for i in inputs if isinstance(i, ZSetType)]
        if len(zsets) != len(inputs) or (len(zsets) != count if count is not None else not zsets):
            wanted = "one or more Z-sets" if count is None else f"{count} Z-set" + "s" * (count != 1)
            self.refuse(f"takes {wanted}", inputs)
        return zsets


class NamedOperator(Operator):
    """An operator whose name is its argument in the text form."""

    name: str

    def arguments(self) -> str:
        return word(self.name)


class Clocked(Operator):
    """An operator with state, which counts the time of some circuit; with `outer` 0 its own circuit's.

    With `outer` k it is the time of the k-th circuit around it. Then the state of a stream of streams is a stream;
    with 0 the operator is lifted to the inner streams [DBSP §5.2.2].
    """

    outer: int = field(default=0, kw_only=True)

    @property
    def reach(self) -> int:
        return self.outer

    def arguments(self) -> str:
        return f"outer {self.outer}" if self.outer else ""

    def check_clock(self, inputs: Sequence[EdgeType], depth: int) -> None:
        """Raise CircuitError where fewer than `outer` circuits surround a circuit of nesting `depth`."""
        if not 0 <= self.outer <= depth:
            self.refuse(f"there are {depth} circuits around its own, not {self.outer}", inputs)


def changes(operator: Operator, inputs: Sequence[EdgeType]) -> list[ZSetType]:
    """Return the types of the changes among inputs a₁, Δa₁, …, aₙ, Δaₙ; raises CircuitError where they are not such
    pairs.
    """
    zsets = operator.zsets(inputs)
    pairs = list(zip(zsets[::2], zsets[1::2], strict=False))
    if 2 * len(pairs) != len(zsets) or any(old.schema != delta.schema for old, delta in pairs):
        operator.refuse("takes pairs of a value and its change, of one schema each", inputs)
    return [delta for _, delta in pairs]


def change_of(type_: EdgeType) -> ZSetType:
    """Return the type of a change of a value of this type: the same Z-set type, not a set."""
    assert isinstance(type_, ZSetType)
    return replace(type_, is_set=False)


def delta_of(operator: Operator, inputs: Sequence[EdgeType]) -> ZSetType:
    """Return the type of d among inputs i and d; raises CircuitError where their schemas differ."""
    old, delta = operator.zsets(inputs, 2)
    if old.schema != delta.schema:
        operator.refuse("both inputs must have one schema", inputs)
    return delta
