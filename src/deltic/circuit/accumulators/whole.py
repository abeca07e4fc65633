"""Functions that are recomputed from all values of a group whenever the group changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator, register
from deltic.circuit.accumulators.extreme import plain, present
from deltic.values import in_order
from deltic.values.types import Type

DIRECTIONS = ("ASC NULLS FIRST", "ASC NULLS LAST", "DESC NULLS FIRST", "DESC NULLS LAST")
"""The directions in which a column may order the values of `string_agg`."""


class WholeGroup(Accumulator):
    """A function that reads all values of each changed group."""

    keeps = "all values in order; reads those of a changed group, which are all in the result"

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].is_ordered


class Collection(WholeGroup):
    """An array of the values in ascending order, each once if it is `of_sets`; empty for none."""

    counts = True

    def __init__(self, name: str, of_sets: bool) -> None:
        self.name, self.of_sets = name, of_sets

    def result(self, types: Sequence[Type]) -> Type:
        return Type.array(types[0])

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        there = sorted(present(totals), key=in_order)
        return tuple(plain(value) for value in there for _ in range(1 if self.of_sets else totals[value]))


register(
    Collection("collect_list", of_sets=False),
    Collection("collect_set", of_sets=True),
)


@accumulator
class Mode(WholeGroup):
    """The most frequent value; among ties the least, or the greatest where its parameter is true."""

    name = "mode"
    keeps = "all values in order; reads those of a changed group, for any of them may have become the most frequent"

    def accepts(self, parameters: Sequence[Parameter], columns: int) -> bool:
        return len(parameters) == 1 and isinstance(parameters[0], bool)

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        there = sorted(present(totals), key=in_order, reverse=bool(parameters[0]))
        return plain(max(there, key=totals.__getitem__)) if there else None


@accumulator
class StringAgg(WholeGroup):
    """The texts of the first column, joined in the order of the other columns, then in their own order.

    Its parameters are the separator and, for each of the other columns, its direction. A row counts where its text is
    not NULL.
    """

    name = "string_agg"

    def takes(self, types: Sequence[Type]) -> bool:
        return bool(types) and types[0] is Type.STRING and all(type_.is_ordered for type_ in types)

    def accepts(self, parameters: Sequence[Parameter], columns: int) -> bool:
        directions = parameters[1:]
        known = all(direction in DIRECTIONS for direction in directions)
        return len(parameters) == columns and isinstance(parameters[0], str) and known

    def needed(self, columns: int) -> Sequence[int]:
        return (0,)

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        separator, *directions = parameters
        rows = [(row if isinstance(row, tuple) else (row,), row) for row in present(totals)]
        rows.sort(key=lambda pair: in_order(pair[0][0]))
        for position, direction in reversed(list(enumerate(directions, 1))):
            _sort(rows, position, str(direction))
        return str(separator).join(values[0] for values, row in rows for _ in range(totals[row])) if rows else None


def _sort(rows: list[tuple[tuple[Any, ...], Any]], position: int, direction: str) -> None:
    """Sort rows by one of their values; the sort is stable."""
    descending, nulls_first = direction.startswith("DESC"), direction.endswith("FIRST")
    nulls = [row for row in rows if row[0][position] is None]
    others = [row for row in rows if row[0][position] is not None]
    others.sort(key=lambda row: in_order(row[0][position]), reverse=descending)
    rows[:] = [*nulls, *others] if nulls_first else [*others, *nulls]
