"""Statistics of relations from samples of their rows: distinct values of columns, and selectivities of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from sqlglot import exp

from deltic.calculus.planning.statistics import thrown
from deltic.engine.operators import scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.plan.planner import by_form
from deltic.engine.storage.columns import Column
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.state import State
from deltic.program.queries import Body, variable_name, variables_of
from deltic.values.types import Type

# The number of rows in a sample.
_DRAWN = 1 << 11


class Samples:
    """The samples of relations, each drawn at first use."""

    def __init__(self, states: Mapping[str, State], interner: Interner) -> None:
        self._states, self._interner = states, interner
        self._samples: dict[str, _Sample] = {}

    def of(self, relation: str) -> _Sample:
        """Return the sample of a relation."""
        if relation not in self._samples:
            self._samples[relation] = _Sample(self._states[relation])
        return self._samples[relation]

    def matches(self, relation: str, columns: Sequence[int]) -> float:
        """Return the mean number of rows of a relation that agree in these columns, over the values; at least 1."""
        sample = self.of(relation)
        values = prod(max(1.0, sample.distinct(column)) for column in columns)
        return max(1.0, sample.count / min(values, max(1, sample.count)))

    def part(self, condition: exp.Expression, body: Body, types: Mapping[str, Type]) -> float:
        """Return the selectivity of a condition: on a sample of an atom with its variables, or else guessed by its
        form.
        """
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
    """Return how many of `count` rows, with these values in their columns, meet all conditions."""
    rows = Columns(values, types, count, interner, [], np.arange(count))
    return int(np.count_nonzero(scalar.keep(tuple(conditions), rows)))


class _Sample:
    """A sample of the largest run of a relation: all rows, or a limited number at random."""

    def __init__(self, state: State) -> None:
        runs, nothing = state.contents.runs, np.empty((state.layout.words, 0), np.uint64)
        words = max(runs, key=len).words if runs else nothing
        self.count, held = len(state.contents), words.shape[1]
        drawn = np.arange(held) if held <= _DRAWN else np.random.default_rng(0).integers(0, held, _DRAWN)
        self.rows, self._layout = len(drawn), state.layout
        self._words = words[:, drawn]
        self._columns: dict[int, Column] = {}

    def column(self, index: int) -> Column:
        """Return the values of a column in the sample."""
        if index not in self._columns:
            self._columns[index] = self._layout.value(self._words, index)
        return self._columns[index]

    def distinct(self, index: int) -> float:
        """Estimate a column's distinct values: the number for which random draws are as distinct as the sample."""
        different = float(len(np.unique(self.column(index)[0])))
        if self.rows < _DRAWN:
            return different
        low, high = different, max(float(self.count), different)
        while high > 1.01 * low:
            middle = (low * high) ** 0.5
            low, high = (middle, high) if thrown(self.rows, middle) < different else (low, middle)
        return low
