"""Histories in compiled code: their tables for `kernels.signed`, in addition to those of all components.

Compiled code supports examinations of sets of rows, and of groups whose totals are numbers of 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deltic.engine.kernels import iterate as progress_of
from deltic.engine.kernels import signed as kernel
from deltic.engine.kernels.component import A, R
from deltic.engine.kernels.types import Ints
from deltic.engine.recursion.compiled_loop import CompiledEpoch, CompiledLoop, KernelResult, RelationTables
from deltic.engine.recursion.signed.examination import Examination, Examinations, RowSets
from deltic.engine.recursion.signed.grouped import is_compiled, moves
from deltic.engine.recursion.signed.priority import admission_of, order_of
from deltic.engine.recursion.signed.running import RunningGroups
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.columns import signed
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.histories import delay_of


class HistoryTables(RelationTables):
    """Tables of histories. Each has its rows by iteration, the totals of its groups, and last the drift of its rows."""

    def __init__(self, states: Mapping[str, State], examined: Examinations) -> None:
        self._examined = examined.by_source
        self._none = {name: Arrangement(state.canonical, state.domains) for name, state in states.items()}
        self._running = {n: result for n, result in self._examined.items() if isinstance(result, RunningGroups)}

    def _drift(self, name: str) -> Arrangement:
        examination = self._examined.get(name)
        return self._none[name] if examination is None else examination.drift

    def beside(self, state: State) -> Iterable[Arrangement]:
        by_iteration = (a for (role, _), a in state.auxiliary.items() if role == "iterations")
        return (*by_iteration, self._drift(state.relation.name))

    def slots(self, loop: CompiledLoop) -> Mapping[int, int]:
        return {int(loop.row(name)[R.FOUND]): each.slots.width + 1 for name, each in self._running.items()}

    def arrange(self, loop: CompiledLoop) -> None:
        """Fill the tables that examinations need, and the iterations at which rows are present."""
        loop.untimed = frozenset((loop.relations[:, R.FIRST] + loop.relations[:, R.STORES]).tolist())
        loop.relations[:, R.DELAY] = [delay_of(state.relation.definition) for state in loop.states.values()]
        for name, examination in self._examined.items():
            source, target, row = examination.source, examination.target, loop.row(name)
            row[R.EXAMINED] = loop.names.index(target.relation.name)
            packed = loop.table[row[R.FOUND]]
            packed[A.WIDTH] = target.layout.words
            if isinstance(examination, RowSets) and source.layout != target.layout:
                made = moves(source.layout, source.canonical, target.layout)
                packed[A.MOVES], packed[A.MOVE_COUNT] = loop.groups.add_moves(made)
        self._arrange_groups(loop)
        self._admit(loop)

    def _arrange_groups(self, loop: CompiledLoop) -> None:
        """Fill the tables that locate groups and read their totals."""
        for name, running in self._running.items():
            row = loop.row(name)
            loop.table[row[R.FOUND], A.WIDTH] = running.totals.layout.words
            for index in (running.entries, running.past):
                arranged = loop.table[loop.numbers[id(index.arrangement)]]
                arranged[A.MOVES], arranged[A.MOVE_COUNT] = loop.groups.move_to(index)
                arranged[A.TIME_WORD], arranged[A.TIME_SHIFT] = index.time.word, index.time.shift
            row[R.AGGREGATE] = loop.groups.add(running, int(row[R.FOUND]))

    def _admit(self, loop: CompiledLoop) -> None:
        """Fill the order by which rows are admitted."""
        for name, state in loop.states.items():
            admission = admission_of(state)
            if admission is not None:
                row, place = loop.row(name), state.layout.places[admission.column]
                row[R.ADMISSION], row[R.NULLABLE] = order_of(state, admission), place.nullable
                row[R.BASE], row[R.VALUE : R.VALUE + 3] = signed(place.base), place.found

    def begin(self, loop: CompiledLoop, epoch: CompiledEpoch, progress: Ints) -> None:
        """Put the groups' totals where sets have their lost rows, and read the depth."""
        loop.groups.limit()
        epoch.lost.found.update({name: running.totals.runs for name, running in self._running.items()})
        depth = epoch.termination.depth
        progress[progress_of.AT.LAST], progress[progress_of.AT.DEPTH] = depth.last, depth.depth

    def iterate(self, loop: CompiledLoop, epoch: CompiledEpoch, progress: Ints) -> KernelResult:
        end = epoch.termination
        limits = not epoch.begins, end.depth.jumps, end.watched
        return kernel.follow_histories(loop.arrays, loop.heap, progress, loop.thresholds, *limits)

    def flush(self, loop: CompiledLoop, found: Mapping[str, tuple[Run, ...]]) -> None:
        for name, running in self._running.items():
            running.totals.runs = found[name]

    def end(self, epoch: CompiledEpoch, progress: Ints) -> None:
        depth = epoch.termination.depth
        depth.last, depth.depth = int(progress[progress_of.AT.LAST]), int(progress[progress_of.AT.DEPTH])


def history_tables(states: Mapping[str, State], examined: Examinations) -> HistoryTables | None:
    """Return the tables of a component with histories; None if compiled code does not support an examination."""
    return HistoryTables(states, examined) if all(map(_is_compiled, examined.by_source.values())) else None


def _is_compiled(examination: Examination) -> bool:
    """Return whether compiled code supports an examination."""
    return isinstance(examination, RowSets) or (isinstance(examination, RunningGroups) and is_compiled(examination))
