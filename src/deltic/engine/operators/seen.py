"""Relations as samples of their rows tell: how many values columns have, and what part of the rows tests leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlglot import exp

from deltic.calculus.planning.statistics import thrown
from deltic.engine.operators import scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.plan.planner import by_form
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.layout import Column
from deltic.engine.storage.state import State
from deltic.program.queries import Body, variable_name, variables_of
from deltic.values.types import Type

# Rows of a relation that are looked at.
_DRAWN = 1 << 11


class Samples:
    """The samples of relations, each drawn when it is asked for."""

    def __init__(self, states: Mapping[str, State], interner: Interner) -> None:
        self._states, self._interner = states, interner
        self._samples: dict[str, _Sample] = {}

    def of(self, relation: str) -> _Sample:
        """The sample of a relation."""
        if relation not in self._samples:
            self._samples[relation] = _Sample(self._states[relation])
        return self._samples[relation]

    def part(self, condition: exp.Expression, body: Body, types: Mapping[str, Type]) -> float:
        """The part of the rows that a condition leaves: of those of an atom that has its variables, or by its form."""
        wanted = variables_of(condition)
        for atom in body.atoms:
            if set(wanted) <= atom.variables():
                sample = self.of(atom.relation)
                values = {variable_name(v): sample.column(atom.terms.index(v)) for v in wanted}
                result = passing((condition,), values, types, sample.rows, self._interner)
                return max(1, result) / max(1, sample.rows)
        return by_form(condition)


def passing(
    conditions: Sequence[exp.Expression],
    values: Mapping[str, Column],
    types: Mapping[str, Type],
    count: int,
    interner: Interner,
) -> int:
    """Of how many rows, of `count` that have these values in their columns, all conditions are true."""
    rows = Columns(values, types, count, interner, [], np.arange(count))
    return int(np.count_nonzero(scalar.keep(tuple(conditions), rows)))


class _Sample:
    """Rows of the largest run of a relation: all, or so many at random."""

    def __init__(self, state: State) -> None:
        runs, nothing = state.contents.runs, np.empty((state.layout.words, 0), np.uint64)
        words = max(runs, key=len).words if runs else nothing
        self.count, held = len(state.contents), words.shape[1]
        drawn = np.arange(held) if held <= _DRAWN else np.random.default_rng(0).integers(0, held, _DRAWN)
        self.rows, self._layout = len(drawn), state.layout
        self._words = words[:, drawn]
        self._columns: dict[int, Column] = {}

    def column(self, index: int) -> Column:
        """The values of a column in these rows."""
        if index not in self._columns:
            self._columns[index] = self._layout.value(self._words, index)
        return self._columns[index]

    def distinct(self, index: int) -> float:
        """How many values a column has: of many rows as many as make those that are drawn as different as they are."""
        different = float(len(np.unique(self.column(index)[0])))
        if self.rows < _DRAWN:
            return different
        low, high = different, max(float(self.count), different)
        while high > 1.01 * low:
            middle = (low * high) ** 0.5
            low, high = (middle, high) if thrown(self.rows, middle) < different else (low, middle)
        return low
