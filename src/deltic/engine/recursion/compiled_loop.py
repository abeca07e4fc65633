"""Runs the small rounds of a component in compiled code: builds the tables of `kernels.iterate`, and reads the results.

The loop starts when few rows are pending, and ends when an iteration is too large for it or nothing is pending. In
between the kernel returns regularly, so that its rows become part of the arrangements' runs and the caller can
abandon the epoch.
"""

from __future__ import annotations

import itertools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deltic.engine.interrupts import postponed
from deltic.engine.kernels import iterate as kernel
from deltic.engine.kernels.component import (
    NOBODY,
    START,
    WITH,
    WITHOUT,
    A,
    Component,
    Log,
    M,
    Q,
    R,
    Scratch,
    T,
    addresses,
)
from deltic.engine.kernels.heap import Heap
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.kernels.types import Ints, Table, Words2
from deltic.engine.operators.binding import Binding
from deltic.engine.operators.query import Environment, Evaluation
from deltic.engine.recursion.levels import LevelBuffers
from deltic.engine.recursion.lost import LostRows
from deltic.engine.recursion.pending import PendingQueue
from deltic.engine.recursion.signed.grouped import GroupTables, moves
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.recursion.termination import Termination
from deltic.engine.storage.arrangement import Arrangement, descriptors
from deltic.engine.storage.basis import Basis
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.run import Run, add_runs
from deltic.engine.storage.state import State
from deltic.program.queries import When

# The reason why a kernel ended, and the fields of the heap, whose arrays may be new.
KernelResult = tuple[int, Ints, Words2, Ints, Ints]
# The number of runs that an arrangement may have in addition to those of `base`: its levels.
_LEVELS = 3
# The index of the runs in the table of addresses. Only this array is new in each call.
_BASE = Component._fields.index("base")


@dataclass(frozen=True)
class CompiledEpoch:
    """The epoch that compiled code continues: its pending rows and its changes. `begins`: it computes from nothing.

    `check` is called with the iteration reached, and may raise.
    """

    queue: PendingQueue
    changes: Mapping[str, CountChanges]
    lost: LostRows
    termination: Termination
    begins: bool
    check: Callable[[int], None]


class RelationTables(ABC):
    """The tables that compiled code needs for one kind of relation, beside the common ones, and its kernel."""

    def own(self, state: State) -> Iterator[Arrangement]:
        """Yield the arrangements of a relation: its contents, other orders, and those beside them."""
        yield state.contents
        yield from (a for a in state.built.values() if a is not state.contents)
        yield from self.beside(state)

    @abstractmethod
    def beside(self, state: State) -> Iterable[Arrangement]:
        """Return further arrangements of a relation, the last that of its counts, or of its drift."""

    def slots(self, loop: CompiledLoop) -> Mapping[int, int]:
        """Return the `found` arrangements with several rows for each key: their numbers, and how many rows."""
        return {}

    def arrange(self, loop: CompiledLoop) -> None:
        """Fill the tables that relations of this kind need beside the common ones."""
        return

    def begin(self, loop: CompiledLoop, epoch: CompiledEpoch, progress: Ints) -> None:
        """Start to continue an epoch; the loop itself has filled the common fields of the progress."""
        return

    @abstractmethod
    def iterate(self, loop: CompiledLoop, epoch: CompiledEpoch, progress: Ints) -> KernelResult:
        """Call the kernel."""

    def flush(self, loop: CompiledLoop, found: Mapping[str, tuple[Run, ...]]) -> None:
        """Handle the rows of the `found` arrangements, which have become runs. The epoch keeps those of lost rows."""
        return

    def end(self, epoch: CompiledEpoch, progress: Ints) -> None:
        """Return the epoch to vectorised code."""
        return


class SetTables(RelationTables):
    """Tables of recursive sets. Each has its counts, as far as the strategy stores them."""

    def __init__(self, strategy: Strategy) -> None:
        self._keeps = strategy is Strategy.NESTED, strategy is not Strategy.FULL

    def beside(self, state: State) -> Iterable[Arrangement]:
        assert state.counts is not None
        return (state.counts,)

    def iterate(self, loop: CompiledLoop, epoch: CompiledEpoch, progress: Ints) -> KernelResult:
        return kernel.iterate(loop.arrays, loop.heap, progress, loop.thresholds, *self._keeps)


class CompiledLoop:
    """The tables of a component. They are rebuilt when one of its arrangements was repacked."""

    def __init__(
        self,
        states: Mapping[str, State],
        inner: Mapping[str, Sequence[Evaluation]],
        searches: Mapping[str, Sequence[Evaluation]],
        kind: RelationTables,
    ) -> None:
        self.states, self.kind = states, kind
        self.names = list(states)
        self._following = [inner.get(name, ()) for name in self.names]
        self._searching = [searches.get(name, ()) for name in self.names]
        self.following = [e for result in self._following for e in result]
        self.evaluations = [*self.following, *(e for result in self._searching for e in result)]
        self.environment: Environment = self.evaluations[0].environment
        self.thresholds: Thresholds = self.environment.thresholds
        self.own: list[Arrangement] = []
        self._bindings: list[Binding] = []
        self._basis: Basis | None = None

    def _build(self) -> None:
        """Build all tables that depend on layouts: of the component's relations and of those that its queries read."""
        self._basis = Basis()
        for state in self.states.values():
            self._basis.relation(state)
        self._bindings = [evaluation.binding for evaluation in self.evaluations]
        own = [list(self.kind.own(state)) for state in self.states.values()]
        self.own = [a for arrangements in own for a in arrangements]
        accesses = ((e, access) for e in self.evaluations for access in e.plan.segments[0].accesses[1:])
        lower = {
            id(a): a for e, access in accesses if access.relation not in self.states for a in [e.arrangement(access)]
        }
        self.arrangements = [*self.own, *lower.values()]
        self.numbers = {id(a): i for i, a in enumerate(self.arrangements)}
        count, widths = len(own), [state.layout.words for state in self.states.values()]
        total = len(self.arrangements) + count
        self.relations = np.zeros((count, R.COLUMNS), np.int64)
        stores, queries = [len(result) - 1 for result in own], [len(q) for q in (*self._following, *self._searching)]
        firsts = _starts(queries)
        for column, values in (
            (R.WIDTH, widths),
            (R.FIRST, _starts([n + 1 for n in stores])),
            (R.STORES, stores),
            (R.QUERIES, firsts[:count]),
            (R.QUERY_COUNT, queries[:count]),
            (R.SEARCHES, firsts[count:]),
            (R.SEARCH_COUNT, queries[count:]),
            (R.FOUND, range(len(self.arrangements), total)),
            (R.EXAMINED, NOBODY),
            (R.DELAY, 1),
            (R.AGGREGATE, NOBODY),
            (R.ADMISSION, NOBODY),
        ):
            self.relations[:, column] = values
        self._arrange(total)
        self._bind()
        self.levels = LevelBuffers(self.table[:, A.WIDTH].tolist(), self._changing(), self.thresholds)
        width = max(widths)
        logged = self.thresholds.logged
        self._log = Log(np.empty(logged, np.int64), np.empty((logged, width), np.uint64), np.empty(logged, np.int64))
        self._scratch = self._make_scratch(0)
        self._asking = [binding for binding in self._bindings if binding.tables.questions]

    def _changing(self) -> dict[int, int]:
        """Return the arrangements that change, by number, and their rows for each key: the component's own and the
        found ones.
        """
        changing = [*range(len(self.own)), *self.relations[:, R.FOUND].tolist()]
        return dict.fromkeys(changing, 1) | dict(self.kind.slots(self))

    def _make_scratch(self, runs: int) -> Scratch:
        """Allocate the memory of searches over `runs` runs."""
        width, handed, most = int(self.relations[:, R.WIDTH].max()), self.thresholds.handed, self.thresholds.most_rows
        return Scratch(
            np.empty((runs, 4), np.int64),
            np.empty((1 + max(map(len, self._atoms_of)), 2), np.int64),
            np.empty(width * handed, np.uint64),
            np.empty(handed, np.int32),
            np.empty(handed, np.int64),
            np.empty((most, width), np.uint64),
            np.empty(most, np.int64),
            np.zeros(len(self.relations) + 1, np.int64),
        )

    def _arrange(self, total: int) -> None:
        """Fill the tables of how the rows of each arrangement are made from canonical rows."""
        self.table = np.zeros((total, A.COLUMNS), np.int64)
        self.table[:, A.TIME_WORD] = NOBODY
        self.table[:, A.WIDTH] = [*(a.layout.words for a in self.arrangements), *self.relations[:, R.WIDTH].tolist()]
        result = [np.empty((0, M.COLUMNS), np.int64)]
        for state in self.states.values():
            for order, arrangement in state.built.items():
                if order != state.canonical:
                    row = self.table[self.numbers[id(arrangement)]]
                    row[A.MOVES], row[A.MOVE_COUNT] = sum(map(len, result)), len(order)
                    result.append(moves(state.layout, order, arrangement.layout))
        self.moves = np.concatenate(result)
        self.groups, self.untimed = GroupTables(len(self.moves), self.numbers), frozenset[int]()
        self.kind.arrange(self)
        self.moves = np.concatenate([self.moves, self.groups.moves()])
        self.grouped = self.groups.tables()

    def row(self, name: str) -> Ints:
        """Return the row of a relation in `relations`."""
        result: Ints = self.relations[self.names.index(name)]
        return result

    def _bind(self) -> None:
        """Fill the addresses of the queries' tables, and their atoms."""
        atoms: list[tuple[int, int, bool]] = []
        following = sum(map(len, self._following))
        self.queries = np.zeros((len(self.evaluations), Q.COLUMNS), np.int64)
        self._atoms_of: list[list[int]] = []
        bound = zip(self.queries, self.evaluations, self._bindings, strict=True)
        for number, (row, evaluation, binding) in enumerate(bound):
            accesses, packed = evaluation.plan.segments[0].accesses[1:], binding.tables.query
            head = self.names.index(evaluation.query.head)
            sign = evaluation.query.body.sign
            row[: Q.FINGERS] = (head, sign, len(atoms), len(accesses), packed.ctypes.data, packed.size)
            read = [self.numbers[id(evaluation.arrangement(access))] for access in accesses]
            self._atoms_of.append(read)
            for access, a in zip(accesses, read, strict=True):
                version = START if number >= following else WITH if access.when is When.NEW else WITHOUT
                atoms.append((a, version, access.relation in self.states))
        self.atoms = np.array(atoms, np.int64).reshape(-1, T.COLUMNS)
        self._fingers = np.zeros((len(self.queries), 0), np.int64)

    def _attach(self, lost: LostRows) -> None:
        """Read the runs of all arrangements, and allocate memory for searches over them."""
        runs: list[Run] = []

        def put(row: Table, first: int, count: int, some: Sequence[Run]) -> None:
            row[first], row[count] = len(runs), len(some)
            runs.extend(some)

        for row, arrangement in zip(self.table, self.arrangements, strict=False):
            put(row, A.BASE, A.BASE_COUNT, arrangement.runs)
            row[A.BASE_TIME] = max((run.max_time for run in arrangement.runs), default=0)
            if any(self._searching):
                put(row, A.START, A.START_COUNT, lost.before(arrangement))
        for number, name in zip(self.relations[:, R.FOUND], self.names, strict=True):
            put(self.table[number], A.BASE, A.BASE_COUNT, lost.found[name])
        counts = np.maximum(self.table[:, A.BASE_COUNT] + _LEVELS, self.table[:, A.START_COUNT]).tolist()
        most: int = max(1 + sum(counts[a] for a in numbers) for numbers in self._atoms_of)
        self._make_room(max(most, 3 * max(counts) + 1))
        base = descriptors(runs)
        self._alive = runs, base
        self.arrays[_BASE] = addresses([base])[0]

    def _make_room(self, runs: int) -> None:
        """Allocate the memory of searches over `runs` runs. A search has one more cursor than there are runs."""
        if self._fingers.shape[1] > runs:
            return
        self._scratch = self._make_scratch(2 * runs)
        self._fingers = np.zeros((len(self.queries), 2 * runs), np.int64)
        for row, fingers in zip(self.queries, self._fingers, strict=True):
            row[[Q.FINGERS, Q.FINGER_COUNT]] = fingers.ctypes.data, fingers.size
        base = descriptors(())
        queries, levels = (self.queries, self.atoms), (self.levels.levels, self.levels.spares)
        component = Component(self.relations, self.table, base, self.moves, *queries, *levels, *self.grouped)
        self.arrays = addresses(component, self._log, self._scratch)

    def run(self, epoch: CompiledEpoch) -> int:
        """Run iterations as long as they are small. Return how many iterations, or changes of relations, were done.

        Raises DomainOverflow if a computed value has no place.
        """
        self.take_queue(epoch.queue)
        progress = np.zeros(kernel.AT.COLUMNS, np.int64)
        progress[kernel.AT.QUERY] = kernel.NONE
        self.kind.begin(self, epoch, progress)
        self._attach(epoch.lost)
        try:
            self._iterate_all(epoch, progress)
        finally:
            self.environment.visits.rows += int(progress[kernel.AT.VISITED])
            self._add_actuals()
        self.kind.end(epoch, progress)
        epoch.queue.from_heap(self.heap, self.relations[:, R.WIDTH].tolist())
        return int(progress[kernel.AT.DONE])

    def _iterate_all(self, epoch: CompiledEpoch, progress: Ints) -> None:
        status = kernel.PAUSED
        while status in (kernel.PAUSED, kernel.LARGE, kernel.ASKS):
            status = self.run_rounds(epoch, progress)
            if status == kernel.OVERFLOW:
                epoch.check(int(progress[kernel.AT.NOW]))
                raise next(overflow for binding in self._bindings for overflow in binding.tables.overflows())
            if status == kernel.ASKS:
                status = self._answer(progress)
            if status != kernel.ASKS:
                self._report(progress, epoch.changes)
            if status not in (kernel.PAUSED, kernel.ASKS):
                self._flush(epoch.lost.found)
            if status == kernel.LARGE:
                self._attach(epoch.lost)
            postponed.check()
            epoch.check(int(progress[kernel.AT.NOW]))

    def take_queue(self, queue: PendingQueue) -> None:
        """Ensure that the tables fit the present layouts, and take over the pending rows."""
        if not self._is_built():
            self._build()
        self._find_labels()
        self.levels.clear()
        self.heap = queue.to_heap(int(self.relations[:, R.WIDTH].max()))

    def _is_built(self) -> bool:
        """Return whether the tables fit the present layouts, and have exactly the arrangements that are built now."""
        bases = (self._basis, *(binding.basis for binding in self._bindings))
        if not all(basis is not None and basis.holds for basis in bases):
            return False
        present = [a for state in self.states.values() for a in self.kind.own(state)]
        return len(present) == len(self.own) and all(map(operator.is_, present, self.own))

    def run_rounds(self, epoch: CompiledEpoch, progress: Ints) -> int:
        status, keys, rows, weights, size = self.kind.iterate(self, epoch, progress)
        self.heap = Heap(keys, rows, weights, size)
        return int(status)

    def _find_labels(self) -> None:
        """Give searches the present labels of interned values."""
        for binding in self._bindings:
            binding.tables.find_labels(self.environment.interner)

    def _answer(self, progress: Ints) -> int:
        """Answer the questions of searches: ASKS, or LOST if settling asks for more than the memos can hold."""
        forgot = [binding.answer() for binding in self._asking]
        self._find_labels()
        return kernel.LOST if any(forgot) and progress[kernel.AT.QUERY] == kernel.NONE else kernel.ASKS

    def _report(self, progress: Ints, changes: Mapping[str, CountChanges]) -> None:
        """Report the rows that were asserted and retracted."""
        count = progress[kernel.AT.LOG]
        relations, rows, signs = self._log.relations[:count], self._log.rows[:count], self._log.signs[:count]
        for number, name in enumerate(self.names):
            mine = relations == number
            if mine.any():
                changes[name].add(rows[mine, : self.relations[number, R.WIDTH]].T, signs[mine])
        progress[kernel.AT.LOG] = 0

    def _add_actuals(self) -> None:
        for row, evaluation in zip(self.queries, self.evaluations, strict=True):
            evaluation.actual.changed += int(row[Q.CHANGED])
            evaluation.actual.derived += int(row[Q.DERIVED])
            evaluation.actual.visited += int(row[Q.VISITED])
        self.queries[:, Q.CHANGED : Q.VISITED + 1] = 0

    def _flush(self, found: dict[str, tuple[Run, ...]]) -> None:
        """Move changed rows from the levels to the arrangements' runs, and found rows to `found`."""
        for a, arrangement in enumerate(self.own):
            for run in self.levels.take(a):
                kept = Run(run.words, weights=run.weights) if a in self.untimed else run
                arrangement.runs = add_runs(arrangement.runs, kept)
            arrangement.before = arrangement.runs
        for name, a in zip(self.names, self.relations[:, R.FOUND].tolist(), strict=True):
            for run in self.levels.take(a):
                found[name] = add_runs(found[name], run)
        self.kind.flush(self, found)


def _starts(counts: Sequence[int]) -> list[int]:
    """Return the start of each of some adjacent ranges, given their lengths."""
    return [0, *itertools.accumulate(counts)][: len(counts)]
