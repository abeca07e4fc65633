"""Settling: what becomes of the rows of a relation in a round, one settler for each kind of relation.

What must hold:

* A round is settled when it is the least that waits: the histories of all relations before it are final.
* A set has a row at its first iteration alone. Strategy `nested` keeps the counts of derivations at every iteration,
  `elastic` that of the first one, `full` none. A bag or a history has each change of a weight at its iteration.
* Settling changes what is kept beside the rows, such as counts. What it leads to in the queue are its `Effects`, which
  wait until the whole round is settled: a round that lacked room for a value is settled again from the same candidates.
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
from deltic.engine.recursion.signed.by_iteration import ByIteration
from deltic.engine.recursion.signed.examination import Examination
from deltic.engine.recursion.signed.priority import admission_of, admitted
from deltic.engine.recursion.signed.relation_function import FunctionOutput, RelationFunction
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.storage.arrangement import Descriptors, descriptors, time_array
from deltic.engine.storage.run import Run, Times, Words, consolidate, narrow, plain
from deltic.engine.storage.state import State
from deltic.program.histories import delay_of

Values = np.ndarray[Any, np.dtype[Any]]


class Effects:
    """What settling a round leads to: changes of relations, and rows to look at again, each at its iteration."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, Run, int]] = []
        self.again: list[tuple[str, Words, Times]] = []

    def at(self, name: str, now: int) -> Candidates | None:
        """The change of a relation at the present iteration, which is settled in the same round; it is removed."""
        for number, (target, run, time) in enumerate(self.changes):
            if (target, time) == (name, now):
                del self.changes[number]
                return run.words, run.all_weights()
        return None

    def wait_in(self, queue: PendingQueue) -> None:
        """Move all of them into the queue."""
        for name, run, time in self.changes:
            queue.of(name).add(run, time)
        for name, words, times in self.again:
            queue.of(name).reconsider(words, times)


class Settler(ABC):
    """How one relation is settled; its rows are there `delay` iterations after they are derived."""

    def __init__(self, state: State, environment: Environment) -> None:
        self.state, self.environment, self.name = state, environment, state.relation.name
        self.delay = delay_of(state.relation.definition)

    def past(self, now: int) -> ExcludedRows | None:
        """The rows that queries need not derive at an iteration."""
        return None

    def admitted(self, derived: Derivations, now: int) -> Derivations:
        """Derivations of iteration `now` + 1, or of their own times, as they are to wait, `delay` after `now`."""
        return derived

    @abstractmethod
    def settle(self, candidates: Candidates, now: int, effects: Effects) -> Run | None:
        """The change of the relation at an iteration, which is not yet among its rows; None for no change."""

    def entered(self, candidates: Candidates, change: Run | None, now: int, effects: Effects) -> None:
        """The change is among the rows: examine what depends on it in this iteration. For sets nothing does."""
        return

    def compact(self) -> None:
        """End the change of the round."""
        self.state.compact()

    def begun(self) -> Run:
        """The rows of a relation that has been computed from nothing."""
        return self.state.whole()

    def _run(self, words: Words, weights: Values, now: int) -> Run | None:
        """A change at an iteration."""
        return Run(words, time_array(len(weights), now), plain(weights)) if len(weights) else None


class SetSettler(Settler):
    """Settles a set, whose rows carry their first iterations; `lost` finds what elastic does not keep."""

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
        # A row that only ever appears has one count, that of its first iteration.
        self._counts_rows = begins and strategy is Strategy.ELASTIC

    def past(self, now: int) -> ExcludedRows | None:
        return None if self._keeps_all else ExcludedRows(self.state.contents.runs, now)

    def admitted(self, derived: Derivations, now: int) -> Derivations:
        """Sums large batches up, without rows whose first iteration is past: their derivations are not kept."""
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
        """Add the changes of counts at an iteration; where they are of the rows of the change, with its words."""
        rows, weights = select(words, counted, counted)
        if self._counts_rows and change is not None:
            assert self.state.counts is not None
            self.state.counts.append(Run(change.words, change.times, plain(weights)))
        elif len(weights):
            self.state.count(Run(rows, time_array(len(weights), now), plain(weights)))

    def compact(self) -> None:
        if self._counts_rows:
            self.state.share_counted()
        super().compact()

    def begun(self) -> Run:
        """The rows in one run, which is the relation's then."""
        if self._counts_rows:
            assert self.state.counts is not None
            self.state.counts.merge()
            self.state.share_counted()
        self.state.contents.merge()
        return Run(self.state.contents.runs[0].words) if self.state.contents.runs else self.state.whole()


class HistorySettler(Settler):
    """Settles a bag or a history, whose weights change at many iterations.

    `examination` looks at groups of a history. `output` says that a function of whole relations computes it; it is an
    input of `functions`. A computation from nothing needs no `drifts`: the changes of the epoch are all rows.
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
        """A query counts an iteration more than the greatest that it meets: that of a delayed relation."""
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
            self._examine(self._examination, candidates[0], change or Run(self.state.no_rows()[0]), now, effects)

    def _enter(self, change: Run, now: int, effects: Effects) -> None:
        """Enter a change where it is read by iteration, and let functions of which it is an input be looked at."""
        if self._by_iteration is not None:
            self._by_iteration.add(change, now)
        if self._examination is not None and self._drifts:
            self._examination.drifts(change)
        for function in self._functions:
            if self._drifts:
                function.drift(self.state, change)
            look_at(function, now, effects)

    def _examine(self, examination: Examination, words: Words, change: Run, now: int, effects: Effects) -> None:
        """Let the change of what is examined wait for its iteration, and groups for their next one."""
        result = examination.examine(words, change, now)
        target = examination.target.relation
        effects.changes.append((target.name, result.change, now + delay_of(target.definition)))
        if len(result.times):
            effects.again.append((self.name, result.again, result.times))


def look_at(function: RelationFunction, time: int, effects: Effects) -> None:
    """Let all outputs of a function be looked at at an iteration."""
    effects.again += [(each.target.relation.name, each.probe, time_array(1, time)) for each in function.outputs]


class _Settled(NamedTuple):
    """What the kernel `settle` finds of some candidates, in arrays as narrow as they can be."""

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
    """What becomes of the candidates of an iteration; more than `large` are cut among threads."""
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
    """The rows and values that are marked by something other than zero."""
    chosen = np.flatnonzero(mark)
    if len(chosen) == len(mark):
        return words, values
    return words[:, chosen], values[chosen]
