"""Forgetting: at the end of an epoch, rows are removed that were before the frontiers when it started.

Rows are removed from every arrangement of their relation at once. So the present rows depend on the watermarks alone,
not on when runs were merged. In an arrangement that is sorted by the frontier's column, the removed rows are adjacent.
These removals are not reported as changes. State beside the rows, such as totals of groups, is not visible to users; it
is cleaned up once half of a sample of it is before the frontier. So the cost of both is proportional to the rows that
were added.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from deltic import values
from deltic.circuit.expressions.meaning import Meaning, meaning
from deltic.engine.executors.forgotten_rows import Marks
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.codec import encode
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.layout import LEAST
from deltic.engine.storage.run import Run, consolidate
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Store
from deltic.errors import EvaluationError
from deltic.program.definitions import Table
from deltic.program.frontiers import MARK, Bound, Forgettable, Frontier, Frontiers
from deltic.values.types import Type

_FEW = 1 << 10
"""The most entries of groups that are never cleaned up."""
_SAMPLE = 64


@dataclass(frozen=True)
class Forget:
    """The watermarks before an epoch, and those before the last epoch that has forgotten rows."""

    marks: Marks
    done: Marks = field(default_factory=dict)


class Forgetting:
    """Forgets the rows of a store before the frontiers of its relations."""

    def __init__(self, frontiers: Frontiers, store: Store) -> None:
        self._frontiers, self._store = frontiers, store
        stored = {n: each for n, each in frontiers.rows.items() if store.states[n].kind is not RelationKind.TRANSIENT}
        self._rows = [_Rows(store.states[name], each) for name, each in stored.items()]
        self._meanings: dict[Bound, Meaning] = {}
        self._bounds: dict[tuple[Bound, Any], int | None] = {}

    def build(self) -> None:
        """Build the column orders by which rows are removed."""
        for rows in self._rows:
            rows.by_time()

    def run(self, forget: Forget) -> None:
        """Remove rows at the end of an epoch, whose changes are in the rows. They are readable until then."""
        bounds, self._bounds = self._bounds, {}
        for rows in self._rows:
            frontier, type_ = rows.found.frontier, rows.type
            start, end = (self._least(frontier, each, type_, bounds) for each in (forget.done, forget.marks))
            start = LEAST if start is None else start
            if end is not None and start < end and rows.forget(start, end):
                self._store.has_rewritten(rows.state)
        for groups in self._groups:
            if (end := self._least(groups.found.frontier, forget.marks, groups.type, bounds)) is not None:
                groups.forget(end)

    @cached_property
    def _groups(self) -> list[_Groups]:
        """The state of groups, and the surplus of tables. It exists once the program has its steps."""
        tables = {
            name: each
            for name, each in self._frontiers.rows.items()
            if isinstance(self._store.states[name].relation.definition, Table)
        }
        both = (*self._frontiers.groups.items(), *tables.items())
        return [_Groups(a, found) for name, found in both for a in self._store.states[name].auxiliary.values()]

    def _least(
        self, frontier: Frontier, marks: Marks, type_: Type, known: dict[tuple[Bound, Any], int | None]
    ) -> int | None:
        """Return the least of the bounds as a stored value; None if one of them is not known."""
        result = []
        for bound in frontier:
            key = bound, marks.get(bound.watermark)
            if key not in self._bounds:
                self._bounds[key] = known[key] if key in known else self._bound(*key, type_)
            result.append(self._bounds[key])
        return None if any(value is None for value in result) else min(value for value in result if value is not None)

    def _bound(self, bound: Bound, mark: Any, type_: Type) -> int | None:
        """Return the value of a bound for this watermark."""
        if mark is None:
            return None
        if bound not in self._meanings:
            type_of_mark = self._store.states[bound.watermark].domains[0].type
            self._meanings[bound] = meaning(bound.expression, {MARK: type_of_mark})
        try:
            value = self._meanings[bound]({MARK: mark})
        except EvaluationError:
            return None
        if value is None:
            return None
        (result, _) = encode(values.to_arrow([value], type_), type_, self._store.interner)
        return int(result[0])


class _Rows:
    """The rows of a relation, sorted by the column that has a frontier."""

    def __init__(self, state: State, found: Forgettable) -> None:
        self.state, self.found = state, found
        self._order = found.column, *(column for column in state.canonical if column != found.column)
        state.declare(self._order)
        self.type = state.domains[found.column].type

    def by_time(self) -> Arrangement:
        """Return the rows in the order of the frontier's column, which is built if it is new."""
        return self.state.arrangement(self._order)

    def forget(self, start: int, end: int) -> bool:
        """Remove the rows whose value is in [start, end). Return whether there are any."""
        batch, by_time = CountChanges(), self.by_time()
        place = by_time.layout.places[0]
        for run in by_time.runs:
            for first, last in by_time.between(run, start, end):
                words = run.words[:, first:last]
                there = place.within(by_time.layout.column(words, 0), start, end - 1)
                weights = run.weights[first:last] if run.weights.size else np.ones(last - first, np.int64)
                columns = [column[there] for column in by_time.sorted().columns(words)]
                batch.add(*consolidate(self.state.layout.pack(columns, int(there.sum())), -weights[there]))
        gone = batch.run()
        if gone is not None:
            self.state.forget(gone)
        return gone is not None


@dataclass
class _Groups:
    """State of groups beside the rows, whose key includes a column with a frontier."""

    arrangement: Arrangement
    found: Forgettable

    @property
    def type(self) -> Type:
        """The type of that column."""
        return self.arrangement.domains[self.found.column].type

    def forget(self, end: int) -> None:
        """Remove the entries whose key is less than `end`, if they are half of a sample."""
        if len(self.arrangement) >= _FEW and self._before(end, len(self.arrangement) // _SAMPLE) >= 0.5:
            left = [self._without(run, end) for run in self.arrangement.runs]
            self.arrangement.runs = self.arrangement.before = tuple(run for run in left if len(run))

    def _before(self, end: int, step: int) -> float:
        """Return the part of every `step`-th entry whose key is less than `end`."""
        masks = [self._is_before(run, end, max(1, step)) for run in self.arrangement.runs]
        return float(np.concatenate(masks).mean())

    def _is_before(self, run: Run, end: int, step: int = 1) -> np.ndarray[Any, np.dtype[np.bool_]]:
        layout, column = self.arrangement.layout, self.found.column
        return layout.places[column].within(layout.column(run.words[:, ::step], column), LEAST, end - 1)

    def _without(self, run: Run, end: int) -> Run:
        gone = self._is_before(run, end)
        return run.taken(~gone) if gone.any() else run
