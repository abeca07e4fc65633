"""Recursive relations with histories: the multiplicity of each row, and the iteration from which it holds."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from deltic.calculus.derivatives.table import FALLBACK
from deltic.circuit import operators as ops
from deltic.program.definitions import Definition, OfInputs

BY_ITERATION = " by iteration"
"""The suffix of the name of a recursive relation's history."""


class Historical(Definition):
    """A relation in the body of a recursion that is not monotone, with the changes of its rows at each iteration.

    With a `delay` of 1 its rows appear one iteration after they are derived: the relation closes a cycle.
    """

    delay: int


@dataclass(frozen=True)
class PriorityOrder:
    """The order in which rows enter a recursion: by a column, least or greatest first."""

    column: int
    least: bool

    def __str__(self) -> str:
        return f"{'least' if self.least else 'greatest'} {self.column} first"


class History(Historical):
    """The sum of the rows that the relation's rules derive, at each iteration.

    With an admission it is the sum of the admitted rows.
    """

    admission: PriorityOrder | None = None

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        if self.admission is not None:
            column = names[self.admission.column] if names else f"#{self.admission.column}"
            first = f"the {'least' if self.admission.least else 'greatest'} {column} first"
            yield f"{first}: others follow after its consequences, so that few rows change twice"

    def __str__(self) -> str:
        result = "the next iteration's sum" if self.delay else "sum at each iteration"
        return result if self.admission is None else f"{result}, {self.admission}"


class Examined(Historical):
    """A function of each group of relation `source`, at each iteration; without a function, the set of its rows.

    `keys` are the columns of the groups.
    """

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: str
    keys: tuple[int, ...]
    function: Definition | None

    @property
    def kept(self) -> str:
        return ", kept by group and iteration" if self.function else ""

    def renamed(self, names: Mapping[str, str]) -> Self:
        function = self.function.renamed(names) if self.function else None
        return replace(self, source=names[self.source], function=function)

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        if self.function is None:
            return ((i, self.source, i) for i in range(columns))
        return self.function.shared(columns)

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        what = "row" if self.function is None else "group"
        yield (
            f"{self._what()}: a {what} is examined where its history changes, and at later entries until the "
            "changes before them cancel"
        )

    def _what(self) -> str:
        return str(self.function) if self.function else f"set of {self.source}"

    def __str__(self) -> str:
        return f"{'the next' if self.delay else 'each'} iteration's {self._what()}"


class RelationFunctionDefinition(OfInputs, Historical, ABC):
    """A function of whole relations, at each iteration."""

    @property
    @abstractmethod
    def called(self) -> str:
        """Its name for users."""

    @property
    @abstractmethod
    def cost(self) -> str:
        """How its result is updated from one iteration to another and at which cost, as text for users."""

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        yield (
            f"{self.called}, examined at each iteration at which {', '.join(self.inputs)} change, and at their later "
            "entries until the changes before them add up to nothing:"
        )
        yield f"  {self.cost}"


class Nested(RelationFunctionDefinition):
    """A relation of a nested fixpoint, which is computed at each iteration from its `inputs` there."""

    fixpoint: ops.Fixpoint
    component: str

    @property
    def called(self) -> str:
        return f"{self.component} of a recursion inside this one"

    @property
    def cost(self) -> str:
        return (
            f"{FALLBACK.formula}, where a is its input at the last evaluation: it follows the changes between the two "
            "iterations; keeps its input, and one of its states"
        )

    def __str__(self) -> str:
        digest = hashlib.blake2b(str(self.fixpoint.body).encode(), digest_size=4).hexdigest()
        return f"each iteration's recursion {digest} of {', '.join(self.inputs)}, {self.component}"


class Applied(RelationFunctionDefinition):
    """The result of a user-defined operator at each iteration, from its `inputs` there."""

    operator: ops.Apply

    @property
    def called(self) -> str:
        return self.operator.called

    @property
    def cost(self) -> str:
        custom = self.operator.custom
        if custom.state is not None:
            return (
                "its state follows the changes since the iteration of its last evaluation; keeps "
                "the rows of its inputs, and the state in memory, which is rebuilt after an error or a restart"
            )
        if custom.derivative is not None:
            return (
                "by its derivative, from the epoch's changes up to there; keeps the rows of its inputs, and costs "
                "what it reads of them"
            )
        return (
            f"{FALLBACK.formula}, for it has no derivative: each look costs all rows of its inputs and of its result; "
            "keeps both"
        )

    def __str__(self) -> str:
        return f"each iteration's {self.operator.label} of {', '.join(self.inputs)}"


def delay_of(definition: Definition) -> int:
    """Return the number of iterations after its derivation at which a row of a recursive relation appears."""
    return definition.delay if isinstance(definition, Historical) else 1
