"""What every accumulator is: a function of the values of a group, whatever their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from deltic.values.types import Column, Type

Parameter = bool | int | float | str
"""A constant that an aggregate is called with."""

# The values of a column, or the tuples of values of several, with their weights added up; no zeros.
Totals = Mapping[Any, int]


class Accumulator(ABC):
    """A function of the values of some columns in one group; it passes over rows in which one that `needed` is NULL."""

    name: str
    needs_column: ClassVar[bool] = True
    picks: ClassVar[bool] = False
    """Whether its result is one of the values."""
    counts: ClassVar[bool] = False
    """Whether it has a result also where there is no value, and is not NULL."""
    of_sets: ClassVar[bool] = False
    """Whether it makes no difference how often a value is there."""
    keeps: str = "a total"
    """What has to be kept of a group to keep it fresh, for a reader."""

    @property
    def called(self) -> str:
        """What a reader calls it."""
        return self.name

    @property
    def like(self) -> str:
        """The accumulator whose way of being kept and read in engines is its own, too."""
        return self.name

    def takes(self, types: Sequence[Type]) -> bool:
        """Whether it is defined for values of columns of these types; by default, of one column."""
        return len(types) == 1

    def accepts(self, parameters: Sequence[Parameter], columns: int) -> bool:
        """Whether it can be called with these constants for so many columns; by default with none."""
        return not parameters

    def needed(self, columns: int) -> Sequence[int]:
        """The positions, of so many columns, at which a counted row has no NULL; by default all."""
        return range(columns)

    def result(self, types: Sequence[Type]) -> Type:
        """The type of its result for values of these types."""
        return types[0]

    @abstractmethod
    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        """Its value for a group's values of these types, at least one unless it `counts`; None for NULL.

        Weights may be negative in between. Every engine must agree with it to the last bit. Raises EvaluationError
        where a value is missing.
        """

    def column(self, name: str, sources: Sequence[Column]) -> Column:
        """The column of its results for values of the columns `sources`, none for whole rows."""
        types = [column.type for column in sources] or [Type.INT64]
        passed_over = any(sources[i].nullable for i in self.needed(len(sources)))
        return Column(name, self.result(types), not self.counts and (passed_over or self.is_partial(sources)))

    def is_partial(self, sources: Sequence[Column]) -> bool:
        """Whether it may be NULL although there are values in these columns."""
        return False


ACCUMULATORS: dict[str, Accumulator] = {}
Kind = TypeVar("Kind", bound=type[Accumulator])


def accumulator(kind: Kind) -> Kind:
    """Enter an accumulator under its name."""
    ACCUMULATORS[kind.name] = kind()
    return kind
