"""Relations whose change is no sum of conjunctions, but computed from the changes of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from deltic.circuit import operators as ops


@dataclass(frozen=True)
class Expanded:
    """The rows of relation `source`, each once for every value that the flatmap generates for it."""

    source: str
    operator: ops.FlatMap

    @property
    def sources(self) -> tuple[str, ...]:
        """The relations whose changes it follows."""
        return (self.source,)

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        """Which of its columns hold the values of a column of another relation: (own, relation, its column)."""
        return ((i, self.source, i) for i in range(columns - 1))

    def describe(self, names: Sequence[str]) -> str:
        """A line for a reader."""
        return f"{self.operator.arguments()} of each row of {self.source}; looks at changed rows alone"


@dataclass(frozen=True)
class Windowed:
    """The rows of relation `rows` whose value in `column` is at least the greatest of `clock` so far less `length`."""

    rows: str
    clock: str
    column: int
    length: int

    @property
    def sources(self) -> tuple[str, ...]:
        """The relations whose changes it follows."""
        return (self.rows, self.clock)

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        """Which of its columns hold the values of a column of another relation: (own, relation, its column)."""
        return ((i, self.rows, i) for i in range(columns))

    def describe(self, names: Sequence[str]) -> str:
        """A line for a reader."""
        return (
            f"the rows of {self.rows} with {names[self.column]} at least {self.clock} − {self.length}; "
            "keeps the window alone; looks at changed rows and those that leave it"
        )


@dataclass(frozen=True)
class Delayed:
    """What relation `source` was an epoch ago."""

    source: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The relations whose changes it follows."""
        return (self.source,)

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        """Which of its columns hold the values of a column of another relation: (own, relation, its column)."""
        return ((i, self.source, i) for i in range(columns))

    def describe(self, names: Sequence[str]) -> str:
        """A line for a reader."""
        return f"the change of {self.source} in the epoch before; keeps one change"


Computed: TypeAlias = Expanded | Windowed | Delayed
