"""The interface of an accumulator: a function of the values of a group that does not depend on their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from deltic.values.types import Column, Type

Parameter = bool | int | float | str
"""A constant that an aggregate is called with."""

# The values of a column, or tuples of the values of several columns, with their total weights; no weight is zero.
Totals = Mapping[Any, int]


class Accumulator(ABC):
    """A function of the values of some columns in one group; rows with NULL in a `needed` column are ignored."""

    name: str
    needs_column: ClassVar[bool] = True
    picks: ClassVar[bool] = False
    """Whether its result is always one of the input values."""
    counts: ClassVar[bool] = False
    """Whether it has a result for an empty group and is never NULL."""
    of_sets: bool = False
    """Whether the result ignores how often a value occurs."""
    keeps: str = "a total"
    """What state is kept for each group, as text for users."""

    @property
    def called(self) -> str:
        """Its name for users."""
        return self.name

    @property
    def like(self) -> str:
        """The name of the accumulator whose state and kernels the engines use for this one."""
        return self.name

    def takes(self, types: Sequence[Type]) -> bool:
        """Return whether it accepts columns of these types; by default, exactly one column."""
        return len(types) == 1

    def accepts(self, parameters: Sequence[Parameter], columns: int) -> bool:
        """Return whether it accepts these constants with `columns` columns; by default, no constants."""
        return not parameters

    def needed(self, columns: int) -> Sequence[int]:
        """Return the positions among `columns` columns that must not be NULL for a row to count; by default all."""
        return range(columns)

    def result(self, types: Sequence[Type]) -> Type:
        """Return the type of its result for values of these types."""
        return types[0]

    @abstractmethod
    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        """Its value for a group's values of these types, at least one unless it `counts`; None for NULL.

        Single weights may be negative. Every engine must agree with this function to the last bit. Raises
        EvaluationError where the value is undefined.
        """

    def column(self, name: str, sources: Sequence[Column]) -> Column:
        """Return the result column for the input columns `sources`; with no columns it aggregates whole rows."""
        types = [column.type for column in sources] or [Type.INT64]
        passed_over = any(sources[i].nullable for i in self.needed(len(sources)))
        return Column(name, self.result(types), not self.counts and (passed_over or self.is_partial(sources)))

    def is_partial(self, sources: Sequence[Column]) -> bool:
        """Return whether the result may be NULL although no input value is NULL."""
        return False


ACCUMULATORS: dict[str, Accumulator] = {}
Kind = TypeVar("Kind", bound=type[Accumulator])


def accumulator(kind: Kind) -> Kind:
    """Register an accumulator under its name."""
    register(kind())
    return kind


def register(*accumulators: Accumulator) -> None:
    """Register accumulators under their names."""
    ACCUMULATORS.update({each.name: each for each in accumulators})
