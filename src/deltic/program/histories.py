"""Relations of a recursion whose rows come and go: how often each row is there, from which iteration on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from deltic.circuit import operators as ops
from deltic.program.definitions import Definition

BY_ITERATION = " by iteration"
"""What the history of a recursive relation is called after it."""


@dataclass(frozen=True)
class Historical(Definition):
    """A relation in the body of a recursion that is not monotone, with the changes of its rows at each iteration.

    One with a `delay` of 1 is there an iteration later than its rows are derived: it closes a cycle.
    """

    delay: int


@dataclass(frozen=True)
class History(Historical):
    """The sum of what the relation's rules derive, at each iteration."""

    def __str__(self) -> str:
        return "the next iteration's sum" if self.delay else "sum at each iteration"


@dataclass(frozen=True)
class Examined(Historical):
    """What a function makes of each group of relation `source`, at each iteration; of each row its set, for None.

    `keys` are the columns of the source that tell groups apart.
    """

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: str
    keys: tuple[int, ...]
    function: Definition | None

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
            f"{self._what()}: a {what} is looked at where its history changes, and at its later entries until the "
            "changes before them add up to nothing"
        )

    def _what(self) -> str:
        return str(self.function) if self.function else f"set of {self.source}"

    def __str__(self) -> str:
        return f"{'the next' if self.delay else 'each'} iteration's {self._what()}"


@dataclass(frozen=True)
class Nested(Historical):
    """One relation of a fixpoint that is computed at each iteration, from what its `inputs` are there."""

    inputs: tuple[str, ...]
    fixpoint: ops.Fixpoint
    component: str

    @property
    def sources(self) -> tuple[str, ...]:
        return self.inputs

    @property
    def contents(self) -> tuple[str, ...]:
        return self.inputs

    def renamed(self, names: Mapping[str, str]) -> Self:
        return replace(self, inputs=tuple(names[name] for name in self.inputs))

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        read = ", ".join(self.inputs)
        yield (
            f"{self.component} of a recursion inside this one, by f(a ⊕ δ) ⊖ f(a): at each iteration at which {read} "
            "change, and at their later entries until the changes before them add up to nothing, it follows how they "
            "differ from where it was looked at before, and all of their rows are read; keeps what enters it, and one "
            "of its states"
        )

    def __str__(self) -> str:
        digest = hashlib.blake2b(str(self.fixpoint.body).encode(), digest_size=4).hexdigest()
        return f"each iteration's recursion {digest} of {', '.join(self.inputs)}, {self.component}"
