"""Running the small iterations of a component in compiled code: its tables for `kernels.iterate`, there and back.

Entered when few rows wait; left when an iteration is too large for it, or when nothing waits any more. In between the
kernel returns now and then, so that what it gathered becomes part of the arrangements' runs and the caller can abandon
the epoch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deltic.engine.local.kernels import iterate as kernel
from deltic.engine.local.kernels.overlay import (
    A_BASE,
    A_BASE_COUNT,
    A_BASE_TIME,
    A_MOVE_COUNT,
    A_MOVES,
    A_START,
    A_START_COUNT,
    A_WIDTH,
)
from deltic.engine.local.kernels.query import (
    Q_CHANGED,
    Q_DERIVED,
    Q_FINGERS,
    Q_SIZE,
    Q_TABLES,
    Q_VISITED,
    START,
    TABLES,
    WITH,
    WITHOUT,
)
from deltic.engine.local.operators.query import Environment, Evaluation, Version
from deltic.engine.local.plan.bind import Tables
from deltic.engine.local.recursion.levels import LevelBuffers
from deltic.engine.local.recursion.pending import Agenda
from deltic.engine.local.recursion.work_list import WorkList
from deltic.engine.local.storage.arrangement import Arrangement, descriptors
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.run import Run, add_runs
from deltic.engine.local.storage.state import State
from deltic.program.queries import When

Table = npt.NDArray[np.int64]

# Entries that may wait when the loop is entered, and iterations until it returns for a moment.
MOST_WAITING = 1 << 15
_ALLOWANCE = 2048
_MOST_ATOMS = 64


def fits(evaluations: Sequence[Evaluation]) -> bool:
    """Whether compiled code can run the queries: searches alone, nothing computed by vectors after them."""
    segments = [e.plan.segments for e in evaluations]
    return all(len(s) == 1 and s[0].compute is None and len(s[0].accesses) <= _MOST_ATOMS for s in segments)


class CompiledLoop:
    """The tables of a component; they are made anew when one of its arrangements was packed anew."""

    def __init__(
        self,
        states: Mapping[str, State],
        inner: Mapping[str, Sequence[Evaluation]],
        searches: Mapping[str, Sequence[Evaluation]],
    ) -> None:
        self.states = states
        self.names = list(states)
        self._following = [inner.get(name, ()) for name in self.names]
        self._searching = [searches.get(name, ()) for name in self.names]
        self.evaluations = [e for found in (*self._following, *self._searching) for e in found]
        self.environment: Environment = self.evaluations[0].environment
        self.own: list[Arrangement] = []
        self._bound_for: Tables | None = None

    def _build(self) -> None:
        """Everything that depends on layouts."""
        own = [list(_own(state)) for state in self.states.values()]
        self.own = [a for arrangements in own for a in arrangements]
        accesses = ((e, access) for e in self.evaluations for access in e.plan.segments[0].accesses[1:])
        lower = {
            id(a): a for e, access in accesses if access.relation not in self.states for a in [e.arrangement(access)]
        }
        self.arrangements = [*self.own, *lower.values()]
        self._numbers = {id(a): i for i, a in enumerate(self.arrangements)}
        count, widths = len(own), [state.layout.words for state in self.states.values()]
        total = len(self.arrangements) + count
        self.relations = np.zeros((count, 8), np.int64)
        self.relations[:, kernel.R_WIDTH] = widths
        stores, queries = [len(found) - 1 for found in own], [len(q) for q in (*self._following, *self._searching)]
        firsts = _starts(queries)
        for column, values in (
            (kernel.R_FIRST, _starts([n + 1 for n in stores])),
            (kernel.R_STORES, stores),
            (kernel.R_QUERIES, firsts[:count]),
            (kernel.R_QUERY_COUNT, queries[:count]),
            (kernel.R_SEARCHES, firsts[count:]),
            (kernel.R_SEARCH_COUNT, queries[count:]),
            (kernel.R_FOUND, range(len(self.arrangements), total)),
        ):
            self.relations[:, column] = values
        self._arrange(total)
        self._bind()
        changing = {i: a.layout.words for i, a in enumerate(self.own)}
        changing |= zip(self.relations[:, kernel.R_FOUND].tolist(), widths, strict=True)
        self.levels = LevelBuffers(changing, total)
        width = max(widths)
        self.waiting = WorkList(width)
        self._log = (
            np.empty(kernel.LOG_ROWS, np.int64),
            np.empty((kernel.LOG_ROWS, width), np.uint64),
            np.empty(kernel.LOG_ROWS, np.int64),
        )

    def _arrange(self, total: int) -> None:
        """How the rows of each arrangement are made from canonical ones."""
        self.table = np.zeros((total, 8), np.int64)
        moves: list[tuple[int, int, int, int, int]] = []
        for i, arrangement in enumerate(self.arrangements):
            self.table[i, A_WIDTH] = arrangement.layout.words
        for state in self.states.values():
            for order, arrangement in state.by_order.items():
                if order != state.canonical:
                    row = self.table[self._numbers[id(arrangement)]]
                    row[A_MOVES], row[A_MOVE_COUNT] = len(moves), len(order)
                    for column, to in zip(order, arrangement.layout.places, strict=True):
                        source = state.layout.places[column]
                        moves.append((source.word, source.shift, source.mask, to.word, to.shift))
        self.moves = np.array(moves, np.int64).reshape(-1, 5)

    def _bind(self) -> None:
        """The queries' tables by address, and their atoms."""
        atoms: list[tuple[int, int, bool]] = []
        following = sum(map(len, self._following))
        self.queries = np.zeros((len(self.evaluations), Q_SIZE), np.int64)
        self._atoms_of: list[list[int]] = []
        for number, (row, evaluation) in enumerate(zip(self.queries, self.evaluations, strict=True)):
            accesses, tables = evaluation.plan.segments[0].accesses[1:], evaluation.tables
            head = self.names.index(evaluation.query.head)
            row[:Q_CHANGED] = (head, evaluation.query.body.sign, len(atoms), len(accesses))
            read = [self._numbers[id(evaluation.arrangement(access))] for access in accesses]
            self._atoms_of.append(read)
            for access, a in zip(accesses, read, strict=True):
                version = START if number >= following else WITH if access.when is When.NEW else WITHOUT
                atoms.append((a, version, access.relation in self.states))
            for at, name in zip(range(Q_TABLES, Q_SIZE, 2), TABLES, strict=True):
                if name != "fingers":
                    array = getattr(tables, name)
                    row[at : at + 2] = array.ctypes.data, len(array)
        self.atoms = np.array(atoms, np.int64).reshape(-1, 3)
        self._fingers = np.zeros((len(self.queries), 0), np.int64)

    def _attach(self, found: Mapping[str, Sequence[Run]], start: Version) -> int:
        """Read the runs of all arrangements; the most runs that a query or a decision looks at."""
        runs: list[Run] = []

        def put(row: Table, first: int, count: int, some: Sequence[Run]) -> None:
            row[first], row[count] = len(runs), len(some)
            runs.extend(some)

        for row, arrangement in zip(self.table, self.arrangements, strict=False):
            put(row, A_BASE, A_BASE_COUNT, arrangement.runs)
            row[A_BASE_TIME] = max((run.max_time for run in arrangement.runs), default=0)
            if any(self._searching):
                put(row, A_START, A_START_COUNT, start(arrangement))
        for number, name in zip(self.relations[:, kernel.R_FOUND], self.names, strict=True):
            put(self.table[number], A_BASE, A_BASE_COUNT, found[name])
        self._alive = runs
        self.base = descriptors(runs)
        counts = np.maximum(self.table[:, A_BASE_COUNT] + 3, self.table[:, A_START_COUNT]).tolist()
        most: int = max(1 + sum(counts[a] for a in numbers) for numbers in self._atoms_of)
        most = max(most, 3 * max(counts) + 1)
        if self._fingers.shape[1] <= most:
            self._fingers = np.zeros((len(self.queries), 2 * most), np.int64)
            for row, fingers in zip(self.queries, self._fingers, strict=True):
                row[Q_FINGERS : Q_FINGERS + 2] = fingers.ctypes.data, fingers.size
        return most

    def run(
        self,
        agendas: Mapping[str, Agenda],
        changes: Mapping[str, Batch],
        found: dict[str, tuple[Run, ...]],
        start: Version,
        keeps: tuple[bool, bool],
        check: Callable[[int], None],
    ) -> int:
        """Go through iterations as long as they are small; the number of those done.

        What is found of lost rows is added to `found`; `start` is the version of arrangements before the epoch. `keeps`
        says whether counts are kept at every iteration, and whether at all; `check` is called with the iteration
        reached, and may raise. Raises DomainOverflow when a computed value has no place.
        """
        if self._bound_for is not self.evaluations[0].tables or len(self.own) != self._count():
            self._build()
            self._bound_for = self.evaluations[0].tables
        self.levels.clear()
        waiting = [agendas[name] for name in self.names]
        self.waiting.fill(waiting)
        most = self._attach(found, start)
        progress = np.zeros(5, np.int64)
        status = kernel.PAUSED
        try:
            while status in (kernel.PAUSED, kernel.LARGE):
                status = self._iterate(progress, most, keeps)
                if status == kernel.OVERFLOW:
                    check(int(progress[kernel.P_NOW]))
                    raise next(overflow for e in self.evaluations for overflow in e.tables.overflows())
                self._report(progress, changes)
                if status != kernel.PAUSED:
                    self._flush(found)
                if status == kernel.LARGE:
                    most = self._attach(found, start)
                check(int(progress[kernel.P_NOW]))
        finally:
            self.environment.visits.rows += int(progress[kernel.P_VISITED])
            self._add_actuals()
        self.waiting.hand_back(waiting, self.relations[:, kernel.R_WIDTH].tolist())
        return int(progress[kernel.P_DONE])

    def _count(self) -> int:
        """The number of the component's arrangements: queries for large changes may have wanted more."""
        return sum(1 for state in self.states.values() for _ in _own(state))

    def _iterate(self, progress: Table, most: int, keeps: tuple[bool, bool]) -> int:
        progress[kernel.P_HEAP] = self.waiting.size
        waiting = self.waiting
        status, waiting.keys, waiting.rows, waiting.weights = kernel.iterate(
            self.relations,
            self.table,
            self.base,
            self.moves,
            self.queries,
            self.atoms,
            self.levels.levels,
            self.levels.spares,
            waiting.keys,
            waiting.rows,
            waiting.weights,
            *self._log,
            progress,
            _ALLOWANCE,
            most,
            *keeps,
        )
        waiting.size = int(progress[kernel.P_HEAP])
        return int(status)

    def _report(self, progress: Table, changes: Mapping[str, Batch]) -> None:
        """Hand over the rows that were asserted and retracted."""
        count = progress[kernel.P_LOG]
        relations, rows, signs = self._log[0][:count], self._log[1][:count], self._log[2][:count]
        for number, name in enumerate(self.names):
            mine = relations == number
            if mine.any():
                changes[name].add(rows[mine, : self.relations[number, kernel.R_WIDTH]].T, signs[mine])
        progress[kernel.P_LOG] = 0

    def _add_actuals(self) -> None:
        for row, evaluation in zip(self.queries, self.evaluations, strict=True):
            evaluation.actual.changed += int(row[Q_CHANGED])
            evaluation.actual.derived += int(row[Q_DERIVED])
            evaluation.actual.visited += int(row[Q_VISITED])
        self.queries[:, Q_CHANGED : Q_VISITED + 1] = 0

    def _flush(self, found: dict[str, tuple[Run, ...]]) -> None:
        """Let what changed be part of the arrangements' runs, and what was found of the others."""
        for a, arrangement in enumerate(self.own):
            for run in self.levels.take(a):
                arrangement.runs = add_runs(arrangement.runs, run)
            arrangement.before = arrangement.runs
        for name, a in zip(self.names, self.relations[:, kernel.R_FOUND].tolist(), strict=True):
            for run in self.levels.take(a):
                found[name] = add_runs(found[name], run)


def _starts(counts: Sequence[int]) -> list[int]:
    """Where each of some ranges begins that follow one another, given their lengths."""
    return [0, *itertools.accumulate(counts)][: len(counts)]


def _own(state: State) -> Iterator[Arrangement]:
    """The arrangements of a relation of the component: its contents, other orders, and its counts last."""
    assert state.counts is not None
    yield state.contents
    yield from (a for a in state.by_order.values() if a is not state.contents)
    yield state.counts
