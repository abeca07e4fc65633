"""What every accumulator is: a function of the values of a group, whatever their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from deltic.circuit.types import Column, Type

# The values of a column, NULL left out, with their weights added up; no zeros.
Totals = Mapping[Any, int]


class Accumulator(ABC):
    """A function of the values of a column in one group; it passes NULLs over."""

    name: ClassVar[str]
    needs_column: ClassVar[bool] = True
    picks: ClassVar[bool] = False
    """Whether its result is one of the values."""
    counts: ClassVar[bool] = False
    """Whether it is a number also where there is no value, and not NULL."""
    keeps: ClassVar[str] = "a total"
    """What has to be kept of a group to keep it fresh, for a reader."""

    def takes(self, type_: Type) -> bool:
        """Whether it is defined for values of this type."""
        return True

    def result(self, type_: Type) -> Type:
        """The type of its result for values of this type."""
        return type_

    @abstractmethod
    def value(self, totals: Totals, type_: Type) -> Any:
        """Its value for a group's values of this type, of which there are some unless it `counts`; None for NULL.

        Weights may be negative in between; what every engine must agree with is this, to the last bit.
        """

    def column(self, name: str, source: Column | None) -> Column:
        """The column of its results for values of the column `source`; None stands for whole rows."""
        type_ = self.result(source.type if source else Type.INT64)
        return Column(name, type_, not self.counts and source is not None and source.nullable)


ACCUMULATORS: dict[str, Accumulator] = {}
Kind = TypeVar("Kind", bound=type[Accumulator])


def accumulator(kind: Kind) -> Kind:
    """Enter an accumulator under its name."""
    ACCUMULATORS[kind.name] = kind()
    return kind
