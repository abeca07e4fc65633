"""The rows of a relation of Spark Connect: a query, and the names by which its columns are known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from deltic.pipeline.spark.plan_errors import PlanErrors
from deltic.pipeline.spark.spark import quoted

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


@dataclass(frozen=True)
class PlanColumn:
    """A column: its name, what the query calls it, and the DataFrame's alias."""

    name: str
    number: str
    qualifier: str = ""

    def is_called(self, name: str, qualifier: str | None = None) -> bool:
        is_there = qualifier is None or self.qualifier.lower() == qualifier.lower()
        return is_there and self.name.lower() == name.lower()


@dataclass(frozen=True)
class PlanRows:
    """A query whose columns have unique numbers.

    `hidden` columns are the other side's keys of a join by names: an expression may name them, and `*` does not.
    `plans` has the columns of each DataFrame below, by its number; `order` is that of the rows, for a limit.
    """

    query: str
    columns: tuple[PlanColumn, ...]
    hidden: tuple[PlanColumn, ...] = ()
    plans: Mapping[int, tuple[PlanColumn, ...]] = field(default_factory=dict)
    order: str = ""

    @property
    def numbers(self) -> str:
        """The columns of `*`."""
        return ", ".join(c.number for c in self.columns) or "1"

    def within(self, query: str) -> PlanRows:
        """Return the same columns of another query."""
        return replace(self, query=query)

    def called(self, names: Sequence[str]) -> PlanRows:
        """Return the columns under other names."""
        columns = tuple(replace(c, name=name) for c, name in zip(self.columns, names, strict=True))
        return replace(self, columns=columns)

    def of_plan(self, plan: int) -> PlanRows:
        """Return the rows as those of a DataFrame with that number."""
        return replace(self, plans={**self.plans, plan: self.columns + self.plans.get(plan, ())})

    def column(self, identifier: str, plan: int | None, errors: PlanErrors) -> tuple[PlanColumn, Sequence[str]]:
        """Return the column that an identifier names, and the names of fields after it. Raises CatalogError."""
        parts = parts_of(identifier)
        for visible in (self.columns, self.hidden):
            known = visible if plan is None else [c for c in self.plans.get(plan, ()) if self._has(c, visible)]
            if len(parts) > 1 and (column := _only(known, parts[1], parts[0])) is not None:
                return column, parts[2:]
            if (column := _only(known, parts[0])) is not None:
                return column, parts[1:]
        names = ", ".join(c.name for c in self.columns)
        raise errors.error(f"no column {identifier} is left: the DataFrame has {names}; select it before, or use SQL")

    def _has(self, column: PlanColumn, visible: Sequence[PlanColumn]) -> bool:
        return any(c.number == column.number for c in visible)


def parts_of(identifier: str) -> list[str]:
    """Return the names of an identifier, which may be in backticks."""
    return [ticked.replace("``", "`") or plain for ticked, plain in _PART.findall(identifier)]


def _only(columns: Sequence[PlanColumn], name: str, qualifier: str | None = None) -> PlanColumn | None:
    """Return the column with a name, if exactly one has it."""
    numbers = {c.number: c for c in columns if c.is_called(name, qualifier)}
    return next(iter(numbers.values())) if len(numbers) == 1 else None


def together(*several: PlanRows) -> Mapping[int, tuple[PlanColumn, ...]]:
    """Return the DataFrames below several rows; one on both sides has the columns of both."""
    made: dict[int, tuple[PlanColumn, ...]] = {}
    for rows in several:
        for plan, columns in rows.plans.items():
            made[plan] = made.get(plan, ()) + columns
    return made


def field_of(column: str, names: Sequence[str]) -> str:
    """Return a field of a field of a column."""
    return ".".join([column, *map(quoted, names)])
