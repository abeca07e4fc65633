"""Flat maps: from a change of rows to the change of the rows that a generator produces from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.circuit.expressions import type_of
from deltic.circuit.generators import GENERATORS, generate
from deltic.engine.operators import numbers, scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.query import Environment
from deltic.engine.storage.codec import decode, encode
from deltic.engine.storage.columns import Values, placed
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.run import Run, consolidate
from deltic.engine.storage.state import State
from deltic.errors import UnsupportedError
from deltic.program.operators.linear import Expanded
from deltic.values import from_arrow
from deltic.values.types import Type

Rows = npt.NDArray[np.int64]  # for each value that is generated, the number of the row
Argument = tuple[np.ndarray[Any, Any], Type]
MOST_VALUES = 1 << 28
"""The most values that all ranges of a change may have: 2 GiB for each column of them."""


@kernel_of(Expanded)
class Expansion(RelationUpdater):
    """One flat map between the states of two relations; the last column of `target` has the generated values."""

    def __init__(
        self, expanded: Expanded, states: Mapping[str, State], target: State, environment: Environment
    ) -> None:
        self.flat_map, self.source = expanded.operator, states[expanded.source]
        self.target, self.environment = target, environment

    def change(self) -> Run:
        """Return the change of the target from that of the source. DomainOverflow if a value has no place yet."""
        delta = self.source.delta
        assert delta is not None
        self.environment.visits.rows += len(delta)
        rows, values = self._generated(delta)
        generated = placed(self.target.domains[-1:], [(values, None)])
        columns = (column[rows] for column in self.source.layout.unpack(delta.words))
        words = self.target.layout.pack(columns, len(values), generated)
        words, sums = consolidate(words, delta.all_weights()[rows])
        return Run(words, weights=sums)

    def _generated(self, delta: Run) -> tuple[Rows, Values]:
        """Return the generated values, as stored, in the order of the rows, and the row of each."""
        schema, interner = self.source.relation.schema, self.environment.interner
        values = dict(zip(schema.names, self.source.layout.values(delta.words), strict=True))
        columns = Columns(values, schema.types, len(delta), interner)
        arguments: list[Argument] = []
        defined = np.ones(len(delta), bool)
        for expression in self.flat_map.expressions:
            result, nulls = scalar.evaluate(expression, columns)
            arguments.append((np.broadcast_to(result, (len(delta),)), type_of(expression, schema.types)))
            defined &= True if nulls is None else ~nulls
        if self.flat_map.generator == "range":
            return ranges(defined, *(argument for argument, _ in arguments))
        return _one_by_one(self.flat_map.generator, defined, arguments, interner)


def ranges(
    defined: npt.NDArray[np.bool_], start: Values, stop: Values, step: Values | None = None
) -> tuple[Rows, Values]:
    """Return the values of `range` for all rows at once; none where its arguments are not `defined`.

    Raises UnsupportedError if there are more than `MOST_VALUES`.
    """
    step = np.ones_like(start) if step is None else step
    up = step > 0
    distance = np.where(up, stop - start, start - stop).view(np.uint64)  # right though the difference may wrap around
    size = np.where(up, step, -step).view(np.uint64)
    some = defined & np.where(up, start < stop, (start > stop) & (step < 0))
    counts = np.where(some, (distance - np.uint64(1)) // np.maximum(size, np.uint64(1)) + np.uint64(1), np.uint64(0))
    if (made := float(counts.sum(dtype=np.float64))) > MOST_VALUES:
        message = f"range makes {made:,.0f} values in one change, more than {MOST_VALUES:,}"
        raise UnsupportedError(f"{message}; bring its ends nearer together, or change fewer rows at a time")
    lengths = counts.astype(np.int64)
    rows = np.repeat(np.arange(len(start)), lengths)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return rows, start[rows] + places * step[rows]


def _one_by_one(
    name: str, defined: npt.NDArray[np.bool_], arguments: Sequence[Argument], interner: Interner
) -> tuple[Rows, Values]:
    """Return the values of any generator, computed row by row."""
    chosen = np.flatnonzero(defined)
    stored = [(numbers.stored(result[chosen], type_, interner), type_) for result, type_ in arguments]
    columns = [from_arrow(decode(values, None, type_, interner), type_) for values, type_ in stored]
    rows = zip(*columns, strict=True) if columns else ((),) * len(chosen)
    lists = [list(generate(name, row)) for row in rows]
    type_ = GENERATORS[name].type
    generated = pa.array([value for result in lists for value in result], type_.arrow)
    values, _ = encode(generated, type_, interner)
    return np.repeat(chosen, [len(result) for result in lists]), values
