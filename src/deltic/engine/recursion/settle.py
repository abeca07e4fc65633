"""Settling: how pending changes alter the rows of a relation in a round. Each kind of relation has a settler.

What must hold:

* A round is settled when it is the least pending one: the histories of all relations before it are final.
* A set has a row only at its first iteration. Strategy `nested` stores the counts of derivations at every iteration,
  `elastic` that of the first one, `full` none. A bag or a history has each change of a weight at its iteration.
* Settling changes the state beside the rows, such as counts. New entries for the queue are its `Effects`. They are
  added after the whole round is settled, because a round that lacked room for a value is settled again from the same
  candidates.
* The driver appends a change to the rows, and then calls `entered`: examinations read histories that include it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from deltic.engine.kernels.settle import NEVER, known, settle
from deltic.engine.operators.query import Environment
from deltic.engine.operators.search import Derivations, ExcludedRows
from deltic.engine.parallel import run_all
from deltic.engine.recursion.lost import LostRows
from deltic.engine.recursion.pending import Candidates, PendingQueue
from deltic.engine.recursion.signed.examination import Examination
from deltic.engine.recursion.signed.priority import admission_of, admitted
from deltic.engine.recursion.signed.reading import ByIteration
from deltic.engine.recursion.signed.relation_function import FunctionOutput, RelationFunction
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.storage.arrangement import Descriptors, descriptors, time_array
from deltic.engine.storage.run import Run, Times, Words, consolidate, narrow
from deltic.engine.storage.state import State
from deltic.program.histories import delay_of

Values = np.ndarray[Any, np.dtype[Any]]


class Effects:
    """The new queue entries of a settled round: changes of relations, and rows to look at again."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, Run, int]] = []
        self.again: list[tuple[str, Words, Times]] = []

    def at(self, name: str, now: int) -> Candidates | None:
        """Remove and return the change of a relation at the present iteration, which is settled in the same round."""
        for number, (target, run, time) in enumerate(self.changes):
            if (target, time) == (name, now):
                del self.changes[number]
                return run.words, run.all_weights()
        return None

    def wait_in(self, queue: PendingQueue) -> None:
        """Move all entries into the queue."""
        for name, run, time in self.changes:
            queue.of(name).add(run, time)
        for name, words, times in self.again:
            queue.of(name).reconsider(words, times)


class Settler(ABC):
    """Settles one relation. Its rows are present `delay` iterations after they are derived."""

    def __init__(self, state: State, environment: Environment) -> None:
        self.state, self.environment, self.name = state, environment, state.relation.name
        self.delay = delay_of(state.relation.definition)

    def past(self, now: int) -> ExcludedRows | None:
        """Return the rows that queries need not derive at an iteration."""
        return None

    def admitted(self, derived: Derivations, now: int) -> Derivations:
        """Return the derivations to be queued; those without times are queued for iteration `now` + `delay`."""
        return derived

    @abstractmethod
    def settle(self, candidates: Candidates, now: int, effects: Effects) -> Run | None:
        """Return the change of the relation at an iteration, which is not among its rows yet; None for no change."""

    def entered(self, candidates: Candidates, change: Run | None, now: int, effects: Effects) -> None:
        """Examine what depends on the change in this iteration, after it was added to the rows. Sets have nothing to
        examine.
        """
        return

    def compact(self) -> None:
        """End the change of the round."""
        self.state.compact()

    def begun(self) -> Run:
        """Return the rows of a relation that was computed from nothing."""
        return self.state.whole()

    def _run(self, words: Words, weights: Values, now: int) -> Run | None:
        """Return a change at an iteration; None if it is empty."""
        return Run(words, time_array(len(weights), now), weights) if len(weights) else None


class SetSettler(Settler):
    """Settles a set, whose rows have their first iteration as time. `lost` finds what `elastic` does not store."""

    def __init__(
        self,
        state: State,
        environment: Environment,
        strategy: Strategy = Strategy.NESTED,
        lost: LostRows | None = None,
        begins: bool = False,
    ) -> None:
        super().__init__(state, environment)
        self._lost = lost
        self._keeps_all, self._keeps_counts = strategy is Strategy.NESTED, strategy is not Strategy.FULL
        # In a bootstrap rows only appear, so each has one count, that of its first iteration.
        self._counts_rows = begins and strategy is Strategy.ELASTIC

    def past(self, now: int) -> ExcludedRows | None:
        return None if self._keeps_all else ExcludedRows(self.state.contents.runs, now)

    def admitted(self, derived: Derivations, now: int) -> Derivations:
        """Sum large batches, and drop rows whose first iteration is past, because their derivations are not stored."""
        is_small = len(derived) < self.environment.thresholds.large
        if self._keeps_all or derived.times.size or derived.consolidated or is_small:
            return derived
        words, weights = consolidate(derived.words, derived.weights)
        new = ~known(words, descriptors(self.state.contents.runs), now)
        return Derivations(words[:, new], derived.times, weights[new], consolidated=True)

    def settle(self, candidates: Candidates, now: int, effects: Effects) -> Run | None:
        words, _ = candidates
        settled = self._settled(candidates, now)
        again, times = select(words, settled.later, settled.later - NEVER)
        if len(times):
            effects.again.append((self.name, again, times))
        if self._lost is not None and settled.lost.any():
            effects.again += self._lost.search(self.name, words[:, settled.lost], now)
        change = self._run(*select(words, settled.actions, settled.actions), now)
        if self._keeps_counts:
            self._count(words, settled.counted, now, change)
        return change

    def _settled(self, candidates: Candidates, now: int) -> _Settled:
        assert self.state.counts is not None
        later = () if self._lost is None else self._lost.found[self.name]
        past, counts, result = map(descriptors, (self.state.contents.runs, self.state.counts.runs, later))
        large = self.environment.thresholds.large
        return _settle_all(candidates, now, past, counts, result, self._keeps_all, large)

    def _count(self, words: Words, counted: Values, now: int, change: Run | None) -> None:
        """Add the changes of counts at an iteration. Counts of the rows of the change share its words."""
        rows, weights = select(words, counted, counted)
        if self._counts_rows and change is not None:
            assert self.state.counts is not None
            self.state.counts.append(Run(change.words, change.times, weights))
        elif len(weights):
            self.state.count(Run(rows, time_array(len(weights), now), weights))

    def compact(self) -> None:
        if self._counts_rows:
            self.state.share_counted()
        super().compact()

    def begun(self) -> Run:
        """Return the rows in one run, which becomes the relation's."""
        if self._counts_rows:
            assert self.state.counts is not None
            self.state.counts.merge()
            self.state.share_counted()
        self.state.contents.merge()
        return Run(self.state.contents.runs[0].words) if self.state.contents.runs else self.state.whole()


class HistorySettler(Settler):
    """Settles a bag or a history, whose weights change at many iterations.

    `examination` computes a non-linear function of a history's groups. `output` is set if a function of whole relations
    computes the relation; the relation is an input of `functions`. A computation from nothing needs no `drifts`,
    because the changes of the epoch are all rows.
    """

    def __init__(
        self,
        state: State,
        environment: Environment,
        examination: Examination | None = None,
        by_iteration: ByIteration | None = None,
        drifts: bool = True,
        output: FunctionOutput | None = None,
        functions: Sequence[RelationFunction] = (),
    ) -> None:
        super().__init__(state, environment)
        self._examination, self._by_iteration, self._drifts = examination, by_iteration, drifts
        self._output, self._functions = output, functions
        self._admission = admission_of(state)

    def admitted(self, derived: Derivations, now: int) -> Derivations:
        """Move derivations to their iterations: a query counts one iteration too many, that of a delayed relation."""
        early = 1 - self.delay
        times = derived.times - np.int32(early) if derived.times.size else derived.times
        moved = Derivations(derived.words, times, derived.weights, derived.consolidated)
        if self._admission is None or not len(moved):
            return moved
        return admitted(self.state, self._admission, moved, now + self.delay)

    def settle(self, candidates: Candidates, now: int, effects: Effects) -> Run | None:
        if self._output is not None:
            change = self._output.change(now)
            return self._run(change.words, change.all_weights(), now)
        words, weights = candidates
        return self._run(*select(words, weights, weights), now)

    def entered(self, candidates: Candidates, change: Run | None, now: int, effects: Effects) -> None:
        if change is not None:
            self._enter(change, now, effects)
        if self._output is not None:
            if (later := self._output.function.following(now)) is not None:
                look_at(self._output.function, later, effects)
            candidates = change.words if change is not None else candidates[0][:, :0], candidates[1]
        if self._examination is not None and candidates[0].shape[1]:
            self._examine(self._examination, candidates[0], change or Run(self.state.layout.no_rows()[0]), now, effects)

    def _enter(self, change: Run, now: int, effects: Effects) -> None:
        """Add a change to the rows by iteration and to the drifts, and mark the functions that read it as due."""
        if self._by_iteration is not None:
            self._by_iteration.add(change, now)
        if self._examination is not None and self._drifts:
            self._examination.drifts(change)
        for function in self._functions:
            if self._drifts:
                function.drift(self.state, change)
            look_at(function, now, effects)

    def _examine(self, examination: Examination, words: Words, change: Run, now: int, effects: Effects) -> None:
        """Queue the change of the examined relation, and the groups to look at again."""
        result = examination.examine(words, change, now)
        target = examination.target.relation
        effects.changes.append((target.name, result.change, now + delay_of(target.definition)))
        if len(result.times):
            effects.again.append((self.name, result.again, result.times))


def look_at(function: RelationFunction, time: int, effects: Effects) -> None:
    """Mark all outputs of a function as due at an iteration."""
    effects.again += [(each.target.relation.name, each.probe, time_array(1, time)) for each in function.outputs]


class _Settled(NamedTuple):
    """The results of the kernel `settle` for some candidates, in arrays as narrow as possible."""

    actions: Values
    counted: Values
    later: Values
    lost: Values


def _settle_all(
    candidates: Candidates,
    now: int,
    past: Descriptors,
    counts: Descriptors,
    found: Descriptors,
    keeps_all: bool,
    large: int,
) -> _Settled:
    """Settle the candidates of an iteration. More than `large` of them are split among threads."""
    words, change = candidates
    if len(change) <= large:
        return _Settled(*settle(words, change, now, past, counts, found, keeps_all))

    def decide(part: slice) -> _Settled:
        actions, counted, again, lost = settle(words[:, part], change[part], now, past, counts, found, keeps_all)
        return _Settled(narrow(actions), narrow(counted), again, lost)

    cut = [slice(start, start + large) for start in range(0, len(change), large)]
    parts = run_all([partial(decide, part) for part in cut])
    return _Settled(*map(np.concatenate, zip(*parts, strict=True)))


def select(words: Words, values: Values, mark: Values) -> tuple[Words, Values]:
    """Return the rows and values whose mark is not zero."""
    chosen = np.flatnonzero(mark)
    if len(chosen) == len(mark):
        return words, values
    return words[:, chosen], values[chosen]
