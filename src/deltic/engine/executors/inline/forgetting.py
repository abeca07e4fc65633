"""Forgetting: at the start of the next epoch, rows before the frontiers of a program's relations are removed.

Rows are removed from every arrangement of their relation at once. So the present rows depend on the watermarks alone,
not on when runs were merged. In an arrangement that is sorted by the frontier's column, the removed rows are adjacent.
These removals are not reported as changes. State beside the rows, such as totals of groups, is not visible to users;
it is cleaned up once it has doubled. So the cost of both is proportional to the rows that were added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deltic import values
from deltic.circuit.expressions.meaning import meaning
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.codec import decode, encode
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.layout import LEAST
from deltic.engine.storage.run import Run, Words, consolidate
from deltic.engine.storage.state import State
from deltic.errors import EvaluationError
from deltic.program.frontiers import MARK, Bound, Forgettable, Frontier, Frontiers, shown, watermarks
from deltic.program.program import Program
from deltic.values.types import Type

# The watermark of each relation, as a value of the reference interpreter; None before the first one.
Marks = Mapping[str, Any]
_FEW = 1 << 10


class Forgetting:
    """Forgets rows before the frontiers of a program; `states` are those of its relations."""

    def __init__(self, program: Program, known: Frontiers, states: Mapping[str, State], interner: Interner) -> None:
        self._program, self._frontiers, self._states, self._interner = program, known, states, interner
        self._rows = [
            _Rows(states[name], result)
            for name, result in self._frontiers.rows.items()
            if states[name].kind is not RelationKind.TRANSIENT
        ]
        beside = [(name, result) for name, result in self._frontiers.groups.items()]
        beside += [(name, result) for name, result in self._frontiers.rows.items() if name in program.tables.values()]
        self._beside = [_Beside(a, result, _FEW) for name, result in beside for a in states[name].auxiliary.values()]
        parts = [*self._frontiers.rows.values(), *self._frontiers.groups.values()]
        self._marks = {b.watermark: states[b.watermark] for result in parts for b in result.frontier}
        self._meanings = {
            bound: meaning(bound.expression, {MARK: states[bound.watermark].domains[0].type})
            for result in parts
            for bound in result.frontier
        }
        self._known: dict[tuple[Bound, Any], int | None] = {}
        self._done = self._ahead = _Done()

    @property
    def has_forgotten(self) -> bool:
        """Return whether rows may have been forgotten."""
        return bool(self._rows) and any(state.contents.runs for state in self._marks.values())

    def tables(self, relations: Collection[str]) -> tuple[str, ...]:
        """Return the tables among some relations of which rows may have been forgotten."""
        return tuple(table for table, name in self._program.tables.items() if name in self._gone & {*relations})

    @property
    def _gone(self) -> set[str]:
        """The relations of which rows may have been forgotten."""
        return {rows.state.relation.name for rows in self._rows} if self.has_forgotten else set()

    def partial(self, program: Program, kept: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return the views of another program that miss forgotten rows, with the tables of these rows.

        `kept` are the relations that the other program takes over, each with its name in this one.
        """
        gone, lost = self._gone, dict[str, tuple[str, ...]]()
        if not gone:
            return {}

        def lacking(name: str) -> tuple[str, ...]:
            if name not in kept:
                return lost.get(name, ())
            return self._timed(kept[name]) if kept[name] in gone else ()

        for stratum in program.strata:
            new = [name for name in stratum.relations if name not in kept]
            reads = [read for name in new for read in _reads(program, name)]
            lost |= dict.fromkeys(new, tuple(dict.fromkeys(table for read in reads for table in lacking(read))))
        return {view: tables for view, name in program.sinks.items() if (tables := lacking(name))}

    def _timed(self, relation: str) -> tuple[str, ...]:
        """Return the tables with watermarks that a relation is, or is computed from."""
        below, timed = self._program.below(relation), watermarks(self._program).values()
        return tuple(table for table in timed if self._program.tables[table] in below)

    def run(self) -> list[State]:
        """Remove rows before the frontiers of the last epoch's watermarks. Return the relations that lost rows.

        It runs at the start of an epoch, so that the rows of the last epoch stay readable until then.
        """
        runs = [state.contents.runs for state in self._marks.values()]
        if runs == self._done.runs:
            return []
        marks = {name: self._value(state, state.rows()[0]) for name, state in self._marks.items()}
        self._ahead = _Done(runs, marks)
        known, self._known = self._known, {}
        fewer = []
        for rows in self._rows:
            frontier, type_ = rows.found.frontier, rows.type
            start, end = (self._least(frontier, each, type_, known) for each in (self._done.marks, marks))
            start = LEAST if start is None else start
            if end is not None and start < end and rows.forget(start, end):
                fewer.append(rows.state)
        for beside in self._beside:
            if beside.is_due and (end := self._least(beside.found.frontier, marks, beside.type, known)) is not None:
                beside.forget(end)
        return fewer

    def commit(self) -> None:
        """Commit the epoch: rows that it has removed are not searched for again."""
        self._done = self._ahead

    def _value(self, state: State, words: Words) -> Any:
        """Return the watermark in a row; None if there is no row."""
        if not words.shape[1]:
            return None
        ((result, nulls),), type_ = state.layout.values(words), state.domains[0].type
        return values.from_arrow(decode(result, nulls, type_, self._interner), type_)[0]

    def _least(
        self, frontier: Frontier, marks: Marks, type_: Type, known: Mapping[tuple[Bound, Any], int | None]
    ) -> int | None:
        """Return the least of the bounds as a stored value; None if one of them is not known."""
        result = []
        for bound in frontier:
            key = bound, marks.get(bound.watermark)
            if key not in self._known:
                self._known[key] = known[key] if key in known else self._bound(*key, type_)
            result.append(self._known[key])
        return None if any(value is None for value in result) else min(value for value in result if value is not None)

    def _bound(self, bound: Bound, mark: Any, type_: Type) -> int | None:
        """Return the value of a bound for this watermark."""
        if mark is None:
            return None
        try:
            value = self._meanings[bound]({MARK: mark})
        except EvaluationError:
            return None
        if value is None:
            return None
        (result, _) = encode(values.to_arrow([value], type_), type_, self._interner)
        return int(result[0])

    # What is told

    def lines(self, relations: Collection[str]) -> Iterator[str]:
        """Yield the lines of `explain` about some relations: what is forgotten, and what is not, with the reason."""
        names = watermarks(self._program)
        for what, result in (("rows", self._frontiers.rows), ("groups", self._frontiers.groups)):
            for name in (n for n in result if n in relations and n not in self._program.passed):
                column = self._states[name].relation.schema.names[result[name].column]
                yield f"{name}: {what} are forgotten whose {column} is before {shown(result[name].frontier, names)}"
        for name, reason in self._frontiers.reasons.items():
            if name in relations:
                yield f"{name}: all rows are kept, for {reason}"


@dataclass(frozen=True)
class _Done:
    """The watermarks up to which rows were removed, and the runs that hold these watermarks."""

    runs: list[tuple[Run, ...]] | None = None
    marks: Marks = field(default_factory=dict)


def _reads(program: Program, name: str) -> list[str]:
    """Return the relations from which a relation is computed."""
    return [
        *program.relations[name].definition.sources,
        *(r for rule in program.rules_of(name) for r in rule.relations),
    ]


class _Rows:
    """The rows of a relation, sorted by the column that has a frontier."""

    def __init__(self, state: State, found: Forgettable) -> None:
        self.state, self.found = state, found
        self._by_time = state.arrangement((found.column, *(c for c in state.canonical if c != found.column)))
        self.type = state.domains[found.column].type

    def forget(self, start: int, end: int) -> bool:
        """Remove the rows whose value is in [start, end). Return whether there are any."""
        batch, place = CountChanges(), self._by_time.layout.places[0]
        for run in self._by_time.runs:
            for first, last in self._by_time.between(run, start, end):
                words = run.words[:, first:last]
                there = place.within(self._by_time.layout.column(words, 0), start, end - 1)
                weights = run.weights[first:last] if run.weights.size else np.ones(last - first, np.int64)
                columns = [column[there] for column in self._by_time.sorted().columns(words)]
                batch.add(*consolidate(self.state.layout.pack(columns, int(there.sum())), -weights[there]))
        gone = batch.run()
        if gone is not None:
            self.state.forget(gone)
        return gone is not None


@dataclass
class _Beside:
    """State of groups beside the rows, whose key includes a column with a frontier."""

    arrangement: Arrangement
    found: Forgettable
    most: int

    @property
    def type(self) -> Type:
        """The type of that column."""
        return self.arrangement.domains[self.found.column].type

    @property
    def is_due(self) -> bool:
        """Return whether the state has doubled since entries were last removed."""
        return len(self.arrangement) >= self.most

    def forget(self, end: int) -> None:
        """Remove the entries whose key is less than `end`."""
        left = [self._without(run, end) for run in self.arrangement.runs]
        self.arrangement.runs = self.arrangement.before = tuple(run for run in left if len(run))
        self.most = max(_FEW, 2 * len(self.arrangement))

    def _without(self, run: Run, end: int) -> Run:
        layout = self.arrangement.layout
        gone = layout.places[self.found.column].within(layout.column(run.words, self.found.column), LEAST, end - 1)
        if not gone.any():
            return run
        times, weights = (part[~gone] if part.size else part for part in (run.times, run.weights))
        return Run(run.words[:, ~gone], times, weights)
