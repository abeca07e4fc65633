"""The sizes and values of tables and recursive relations, for the planner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from sqlglot import exp

from deltic.calculus.planning.statistics import place_name, recursive
from deltic.engine.operators.seen import passing
from deltic.engine.plan.measured import Relations, Values
from deltic.engine.storage.arrow import Encoded
from deltic.engine.storage.columns import Column, Nulls, concatenated
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.state import State
from deltic.program.program import Program

NO_BATCHES: Mapping[str, Encoded] = MappingProxyType({})
# The number of sampled rows on which conditions are tested.
_TRIED = 1 << 12


@dataclass(frozen=True)
class Contents:
    """The rows of the relations of a program in these states; for the planner, of tables together with `batches`."""

    program: Program
    states: Mapping[str, State]
    interner: Interner
    batches: Mapping[str, Encoded] = field(default_factory=dict)
    _columns: dict[str, list[Column]] = field(default_factory=dict, init=False)

    def held(self, table: str) -> int:
        """Return the approximate number of rows of a table: rows that cancel count twice until runs are merged."""
        return len(self.states[self.program.tables[table]].contents)

    def recursive(self) -> dict[str, int]:
        """Return the number of rows of each nonempty recursive relation, by the name that statistics use."""
        result = {recursive(name): len(self.states[name].contents) for name in sorted(self.program.recursive)}
        return {name: rows for name, rows in result.items() if rows}

    def relations(self, batches: Mapping[str, Encoded] = NO_BATCHES) -> Relations:
        """Return the relations for the planner, as they are after these batches for tables."""
        return replace(self, batches=batches)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """The tables and recursive relations by their names in statistics."""
        return {**{recursive(relation): relation for relation in self.program.recursive}, **self.program.tables}

    def columns(self, name: str) -> list[Values]:
        """Return the columns of a relation by its name in statistics, NULL as the least value."""
        return [_plain(*column) for column in self._all(name)]

    def passing(self, name: str, conditions: Sequence[exp.Expression]) -> tuple[int, int]:
        """Return how many of the tested rows meet all conditions, and how many rows were tested: all, or a random
        sample.
        """
        schema, columns = self.states[self._names[name]].relation.schema, self._all(name)
        count = len(columns[0][0]) if columns else 0
        tried = np.arange(count) if count <= _TRIED else np.random.default_rng(0).integers(0, count, _TRIED)
        values = {place_name(i): (v[tried], None if n is None else n[tried]) for i, (v, n) in enumerate(columns)}
        types = {place_name(i): column.type for i, column in enumerate(schema)}
        return passing(conditions, values, types, len(tried), self.interner), len(tried)

    def _all(self, name: str) -> list[Column]:
        if name not in self._columns:
            state = self.states[self._names[name]]
            parts: list[Sequence[Column]] = [state.layout.values(state.rows()[0])]
            parts += [self.batches[name][0]] if name in self.batches else []
            self._columns[name] = [concatenated(column) for column in zip(*parts, strict=True)]
        return self._columns[name]


def _plain(values: Values, nulls: Nulls) -> Values:
    """Return the values of a column, with the least int64 for NULL."""
    return values if nulls is None else np.where(nulls, np.iinfo(np.int64).min, values)
