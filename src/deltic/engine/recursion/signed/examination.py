"""Non-linear functions of groups at each iteration, which are examined where they may have changed.

A group is examined at each iteration at which its history changes. Its drift is the sum of the epoch's changes before
an iteration. While the drift is not zero, the group is examined again at each later iteration at which its rows have an
entry: between two of them input and output stay the same. Without drift, nothing changes from there on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deltic.engine.kernels.histories import examine_rows
from deltic.engine.operators.kernel import KERNELS
from deltic.engine.operators.query import Environment
from deltic.engine.recursion.signed.reading import ByIteration, GroupEntries, HistoryGroups
from deltic.engine.storage.arrangement import Arrangement, descriptors
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.run import NO_TIMES, Run, Times, Words, add_runs, consolidate
from deltic.engine.storage.state import State
from deltic.program.definitions import Definition
from deltic.program.histories import Examined


class ExaminationResult(NamedTuple):
    """The result of an examination: a change of the examined relation, and rows of its source to look at again."""

    change: Run
    again: Words
    times: Times


class Examination(ABC):
    """Computes relation `target` from `source`; `drift` is what the epoch has changed in the source so far."""

    def __init__(self, definition: Examined, source: State, target: State, environment: Environment) -> None:
        self.definition, self.source, self.target, self.environment = definition, source, target, environment
        self.read: tuple[HistoryGroups, ...] = ()
        self.by_iteration: tuple[ByIteration, ...] = ()
        self.drift = Arrangement(source.canonical, source.domains)

    def build(self) -> None:
        """Build the orders in which groups are read."""
        for groups in self.read:
            groups.build()

    @property
    def order(self) -> Arrangement:
        """The arrangement of the source whose order the drift has."""
        return self.source.contents

    def begin(self) -> None:
        """Start an epoch."""
        self.drift.layout, self.drift.runs = self.order.layout, ()

    def drifts(self, change: Run) -> None:
        """Add a change of the source to the drift. Not called in a bootstrap."""
        self.drift.runs = add_runs(self.drift.runs, Run(change.words, weights=change.weights))

    @abstractmethod
    def examine(self, words: Words, change: Run, now: int) -> ExaminationResult:
        """Examine the groups of these rows, sorted and distinct, at an iteration; `change` is that of the source."""


@dataclass(frozen=True)
class Examinations:
    """The examinations of a recursion, by the relation that each examines."""

    by_source: Mapping[str, Examination] = field(default_factory=dict)

    @cached_property
    def by_iteration(self) -> Mapping[str, ByIteration]:
        """The relations whose rows are also stored by iteration."""
        return {i.state.relation.name: i for each in self.by_source.values() for i in each.by_iteration}

    def of(self, name: str) -> tuple[Examination | None, ByIteration | None]:
        """Return the examination of a relation, and its rows by iteration."""
        return self.by_source.get(name), self.by_iteration.get(name)

    def begin(self) -> None:
        """Start an epoch."""
        for examination in self.by_source.values():
            examination.begin()

    def build(self) -> None:
        """Build the orders in which groups are read."""
        for examination in self.by_source.values():
            examination.build()


class RowSets(Examination):
    """The set of the source's rows: each row is a group."""

    def examine(self, words: Words, change: Run, now: int) -> ExaminationResult:
        own = words
        if self.source.layout is not self.target.layout:
            own = self.target.layout.pack(self.source.layout.unpack(words), words.shape[1])
        kept = self.source.contents.runs, self.target.contents.runs, self.drift.runs
        actions, following, visited = examine_rows(words, own, now, self.definition.delay, *map(descriptors, kept))
        self.environment.visits.rows += visited
        moved, again = np.flatnonzero(actions), following >= 0
        change = Run(own[:, moved], weights=actions[moved])
        return ExaminationResult(change, words[:, again], following[again].astype(np.int32))


class GroupKernel:
    """A kernel between two relations that are empty before and after each use, with the layouts of other relations."""

    def __init__(self, definition: Definition, source: State, target: State, environment: Environment) -> None:
        self._source, self._target = _like(source), _like(target)
        (read,) = definition.sources
        self._kernel = KERNELS[type(definition)](definition, {read: self._source}, self._target, environment)

    def apply(self, rows: Run) -> Run:
        """Return the value of the definition for these rows."""
        nothing = Run(self._target.layout.no_rows()[0])
        if not len(rows):
            return nothing
        self._source.delta, self._source.contents.runs = rows, (rows,)
        try:
            return self._kernel.change() or nothing
        finally:
            self._source.delta, self._source.contents.runs = None, ()
            for arrangement in self._target.auxiliary.values():
                arrangement.runs = arrangement.before = ()


def _like(state: State) -> State:
    """Return an empty relation with the layout of another."""
    made = State(state.relation, RelationKind.TRANSIENT, state.domains, state.is_set)
    made.contents.layout = state.layout
    return made


class GroupFunction(Examination):
    """A function of groups, computed from whole groups by the kernel of its definition."""

    def __init__(self, definition: Examined, source: State, target: State, environment: Environment) -> None:
        super().__init__(definition, source, target, environment)
        self.rows, self.results = self.read = (
            HistoryGroups(source, definition.keys),
            HistoryGroups(target, definition.keys),
        )
        self.kernel: GroupKernel | None = None

    @property
    def order(self) -> Arrangement:
        return self.rows.arrangement

    def begin(self) -> None:
        super().begin()
        self.kernel = None

    def drifts(self, change: Run) -> None:
        arranged = self.rows.arranged(change)
        words, weights = consolidate(arranged.words, arranged.all_weights())
        self.drift.runs = add_runs(self.drift.runs, Run(words, weights=weights))

    def examine(self, words: Words, change: Run, now: int) -> ExaminationResult:
        groups = self.rows.groups(words)
        entries = self.rows.entries(groups)
        past = self.results.entries(self.results.groups_like(self.rows, groups))
        self.environment.visits.rows += len(entries) + len(past)
        result, old = self._function(entries.until(now)), past.until(now + self.definition.delay)
        lost = self.results.canonical(old.words, old.weights)
        rows = np.concatenate([result.words, lost.words], axis=1)
        moved, sums = consolidate(rows, np.concatenate([result.all_weights(), -lost.all_weights()]))
        following = entries.next(now, groups.shape[1])
        again = following >= 0
        if again.any():
            again &= self.rows.changed(groups, self.drift.runs)
        probes = self.rows.canonical(groups[:, again], np.zeros(int(again.sum()), np.int64))
        times = following[again].astype(np.int32)
        return ExaminationResult(Run(moved, weights=sums), probes.words, times)

    def _function(self, present: GroupEntries) -> Run:
        """Return the function of all groups' rows at one iteration."""
        rows = self.rows.canonical(present.words, present.weights)
        if self.kernel is None:
            assert self.definition.function is not None
            self.kernel = GroupKernel(self.definition.function, self.source, self.target, self.environment)
        return self.kernel.apply(rows)


class EachRow(Examination):
    """A linear operator on each row, independent of other rows."""

    def drifts(self, change: Run) -> None:
        """Do nothing: each row is examined once."""

    def examine(self, words: Words, change: Run, now: int) -> ExaminationResult:
        assert self.definition.function is not None
        kernel = GroupKernel(self.definition.function, self.source, self.target, self.environment)
        made = kernel.apply(Run(change.words, NO_TIMES, change.weights))
        return ExaminationResult(made, words[:, :0], np.empty(0, np.int32))
