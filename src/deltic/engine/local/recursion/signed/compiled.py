"""Following small changes of histories in compiled code: the tables of `compiled_loop`, for `kernels.signed`.

Entered when few rows wait, in a component all of whose examinations compiled code knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from deltic.engine.interrupts import postponed
from deltic.engine.local.kernels import iterate as statuses
from deltic.engine.local.kernels import signed as kernel
from deltic.engine.local.kernels.component import (
    A_MOVE_COUNT,
    A_MOVES,
    A_TIME_SHIFT,
    A_TIME_WORD,
    A_WIDTH,
    R_ADMISSION,
    R_AGGREGATE,
    R_BASE,
    R_DELAY,
    R_EXAMINED,
    R_FIRST,
    R_FOUND,
    R_NULLABLE,
    R_STORES,
    R_VALUE,
    R_WIDTH,
)
from deltic.engine.local.kernels.heap import Heap
from deltic.engine.local.kernels.types import Ints
from deltic.engine.local.operators.query import Evaluation
from deltic.engine.local.recursion.compiled_loop import CompiledLoop, moves
from deltic.engine.local.recursion.pending import Agenda
from deltic.engine.local.recursion.signed.admission import Depth, admission_of, order_of
from deltic.engine.local.recursion.signed.examination import Examination, RowSets
from deltic.engine.local.recursion.signed.grouped import GroupTables, is_compiled
from deltic.engine.local.recursion.signed.running import RunningGroups
from deltic.engine.local.storage.arrangement import Arrangement
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.run import Run, add_runs
from deltic.engine.local.storage.state import State

_GOES_ON = statuses.PAUSED, statuses.LARGE, statuses.ASKS


class HistoryLoop(CompiledLoop):
    """The tables of a component with histories. What it has last of each relation is the drift of its rows."""

    kernels: ClassVar[Sequence[str]] = ("signed.follow_histories", "join.search")

    def __init__(
        self,
        states: Mapping[str, State],
        inner: Mapping[str, Sequence[Evaluation]],
        examined: Mapping[str, Examination],
        delays: Mapping[str, int],
    ) -> None:
        super().__init__(states, inner, {})
        self._examined, self._delays = examined, delays
        self._none = {name: Arrangement(state.canonical, state.domains) for name, state in states.items()}

    def _drift(self, name: str) -> Arrangement:
        examination = self._examined.get(name)
        return self._none[name] if examination is None else examination.drift

    def _own(self, state: State) -> Iterator[Arrangement]:
        """The arrangements of a relation: its contents, other orders, that by iteration, and its drift last."""
        yield state.contents
        yield from (a for a in state.built.values() if a is not state.contents)
        yield from (a for (role, _), a in state.auxiliary.items() if role == "iterations")
        yield self._drift(state.relation.name)

    @property
    def _running(self) -> dict[str, RunningGroups]:
        """The examinations of groups, by what they examine."""
        return {name: found for name, found in self._examined.items() if isinstance(found, RunningGroups)}

    def _changing(self) -> dict[int, int]:
        """The component's own, and the totals of groups: all slots of each."""
        found = {self.relations[self.names.index(n), R_FOUND]: r.slots.width + 1 for n, r in self._running.items()}
        return dict.fromkeys(range(len(self.own)), 1) | {int(a): slots for a, slots in found.items()}

    def _arrange(self, total: int) -> None:
        """As in any component; and how rows are made for what examines them."""
        super()._arrange(total)
        self.relations[:, R_DELAY] = [self._delays[name] for name in self.names]
        for name, examination in self._examined.items():
            source, target, row = examination.source, examination.target, self.relations[self.names.index(name)]
            row[R_EXAMINED] = self.names.index(target.relation.name)
            packed = self.table[row[R_FOUND]]
            packed[A_WIDTH] = target.layout.words
            if isinstance(examination, RowSets) and source.layout != target.layout:
                packed[A_MOVES], packed[A_MOVE_COUNT] = len(self.moves), len(source.canonical)
                self.moves = np.concatenate([self.moves, moves(source.layout, source.canonical, target.layout)])
        self._arrange_groups()
        self._admit()

    def _arrange_groups(self) -> None:
        """How groups are found, and their totals read."""
        self._groups = GroupTables(len(self.moves), self._numbers)
        for name, running in self._running.items():
            row = self.relations[self.names.index(name)]
            self.table[row[R_FOUND], A_WIDTH] = running.totals.layout.words
            for index in (running.entries, running.past):
                arranged = self.table[self._numbers[id(index.arrangement)]]
                arranged[A_MOVES], arranged[A_MOVE_COUNT] = self._groups.move_to(index)
                arranged[A_TIME_WORD], arranged[A_TIME_SHIFT] = index.time.word, index.time.shift
            row[R_AGGREGATE] = self._groups.add(running, int(row[R_FOUND]))
        self.moves = np.concatenate([self.moves, self._groups.moves()])
        self.grouped = self._groups.tables()

    def _admit(self) -> None:
        """By what rows are admitted."""
        for name, state in self.states.items():
            admission = admission_of(state)
            if admission is not None:
                row, place = self.relations[self.names.index(name)], state.layout.places[admission.column]
                row[R_ADMISSION], row[R_NULLABLE] = order_of(state, admission), place.nullable
                row[R_BASE] = np.array(place.base % (1 << 64), np.uint64).view(np.int64)
                row[R_VALUE : R_VALUE + 3] = place.word, place.shift, place.mask

    def follow(
        self,
        agendas: Mapping[str, Agenda],
        changes: Mapping[str, Batch],
        updates: bool,
        depth: Depth,
        limit: int,
        check: Callable[[int], None],
    ) -> int:
        """Follow changes as long as they are small and no delayed relation is deeper than `limit`: how many were.

        `updates` says that this is no computation from nothing. `check` is called with the iteration reached, and may
        raise. Raises DomainOverflow when a computed value has no place.
        """
        waiting = [agendas[name] for name in self.names]
        self._enter(waiting)
        self._groups.limit()
        totals = {name: self._running[name].totals.runs if name in self._running else () for name in self.names}
        self._attach(totals, lambda arrangement: arrangement.runs)
        progress, status = self._begun(), statuses.PAUSED
        progress[statuses.P_LAST], progress[statuses.P_DEPTH] = depth.last, depth.depth
        try:
            while status in _GOES_ON:
                status = self._follow(progress, updates, depth.jumps, limit)
                now = int(progress[statuses.P_NOW])
                if status == statuses.OVERFLOW:
                    check(now)
                    raise self._overflow()
                if status == statuses.ASKS:
                    self._answer(progress)
                else:
                    self._report(progress, changes)
                if status not in (statuses.PAUSED, statuses.ASKS):
                    self._flush(totals)
                if status == statuses.LARGE:
                    self._attach(totals, lambda arrangement: arrangement.runs)
                postponed.check()
                check(now)
        finally:
            self._count(progress)
        depth.last, depth.depth = int(progress[statuses.P_LAST]), int(progress[statuses.P_DEPTH])
        self.waiting.hand_back(waiting, self.relations[:, R_WIDTH].tolist())
        return int(progress[statuses.P_DONE])

    def _follow(self, progress: Ints, updates: bool, admits: bool, limit: int) -> int:
        heap, thresholds = self.waiting.heap, self.thresholds
        found = kernel.follow_histories(self._arrays, heap, progress, thresholds, updates, admits, limit)
        status, keys, rows, weights, size = found
        self.waiting.heap = Heap(keys, rows, weights, size)
        return int(status)

    def _flush(self, found: dict[str, tuple[Run, ...]]) -> None:
        """Let what changed be part of the histories, of totals, and of the drifts, which have no iterations."""
        drifts = (self.relations[:, R_FIRST] + self.relations[:, R_STORES]).tolist()
        for name, a in zip(self.names, drifts, strict=True):
            drift = self._drift(name)
            for run in self.levels.take(a):
                drift.runs = add_runs(drift.runs, Run(run.words, weights=run.weights))
        super()._flush(found)
        for name, running in self._running.items():
            running.totals.runs = found[name]


def history_loop(
    states: Mapping[str, State],
    inner: Mapping[str, Sequence[Evaluation]],
    examined: Mapping[str, Examination],
    delays: Mapping[str, int],
) -> HistoryLoop | None:
    """The compiled loop of a component; None where an examination is not one that it knows."""
    if not inner or not all(map(_is_compiled, examined.values())):
        return None
    return HistoryLoop(states, inner, examined, delays)


def _is_compiled(examination: Examination) -> bool:
    """Whether compiled code knows an examination."""
    return isinstance(examination, RowSets) or (isinstance(examination, RunningGroups) and is_compiled(examination))
