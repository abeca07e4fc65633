"""Forgetting: at the end of an epoch, rows are removed that were before the frontiers when it started.

ForgottenRows says what a program has forgotten as of a version, and what cannot be computed because of that.

Rows are removed from every arrangement of their relation at once. So the present rows depend on the watermarks alone,
not on when runs were merged. In an arrangement that is sorted by the frontier's column, the removed rows are adjacent.
These removals are not reported as changes. State beside the rows, such as totals of groups, is not visible to users; it
is cleaned up once half of a sample of it is before the frontier. So the cost of both is proportional to the rows that
were added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from deltic import values
from deltic.circuit.expressions.meaning import Meaning, meaning
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.codec import encode
from deltic.engine.storage.columns import LEAST
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.run import Run, consolidate
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Store
from deltic.engine.version import Version
from deltic.errors import EvaluationError, UnsupportedError
from deltic.program.definitions import Table
from deltic.program.frontiers import MARK, Bound, Forgettable, Frontier, Frontiers, shown, watermarks
from deltic.program.program import Program
from deltic.values.types import Type

Marks = Mapping[str, Any]
"""Watermarks by their relations, as values of the reference interpreter; None before the first one."""
NO_MARKS: Marks = {}


@dataclass(frozen=True)
class ForgottenRows:
    """What a program has forgotten by these watermarks."""

    program: Program
    frontiers: Frontiers
    marks: Marks

    @classmethod
    def of(cls, program: Program, frontiers: Frontiers, version: Version) -> ForgottenRows:
        """Return what a program has forgotten in the epoch after a version."""
        tables = {name: program.views_by_relation[name][0] for name in sorted(frontiers.watermarks)}
        return cls(program, frontiers, {name: _mark(program, table, version) for name, table in tables.items()})

    @cached_property
    def relations(self) -> Collection[str]:
        """The relations of which rows may have been forgotten."""
        return self.frontiers.rows if any(mark is not None for mark in self.marks.values()) else ()

    def tables(self, relations: Collection[str]) -> tuple[str, ...]:
        """Return the tables among some relations of which rows may have been forgotten."""
        return tuple(t for t, name in self.program.tables.items() if name in relations and name in self.relations)

    def partial(self, program: Program, kept: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return the views of another program that miss forgotten rows, with the tables of these rows.

        `kept` are the relations that the other program takes over, each with its name in this one.
        """
        lost = dict[str, tuple[str, ...]]()
        if not self.relations:
            return lost

        def lacking(name: str) -> tuple[str, ...]:
            if name not in kept:
                return lost.get(name, ())
            return self._timed(kept[name]) if kept[name] in self.relations else ()

        for stratum in program.strata:
            new = [name for name in stratum.relations if name not in kept]
            reads = [read for name in new for read in _reads(program, name)]
            lost |= dict.fromkeys(new, tuple(dict.fromkeys(table for read in reads for table in lacking(read))))
        return {view: tables for view, name in program.sinks.items() if (tables := lacking(name))}

    def refuse_partial(self, there: Collection[str]) -> None:
        """Raise UnsupportedError if a view that is not among these relations needs forgotten rows."""
        for view, tables in self.partial(self.program, {name: name for name in there}).items():
            raise UnsupportedError(
                f"view {view} is computed in another way than when the state was written, by another "
                f"Deltic or with another function, and rows of {', '.join(tables)} that it needs "
                "have been forgotten: open the state with what wrote it"
            )

    def _timed(self, relation: str) -> tuple[str, ...]:
        """Return the tables with watermarks that a relation is, or is computed from."""
        below, timed = self.program.below(relation), watermarks(self.program).values()
        return tuple(table for table in timed if self.program.tables[table] in below)

    def lines(self, relations: Collection[str]) -> Iterator[str]:
        """Yield the lines of `explain` about some relations: what is forgotten, and what is not, with the reason."""
        names = watermarks(self.program)
        for what, result in (("rows", self.frontiers.rows), ("groups", self.frontiers.groups)):
            for name in (n for n in result if n in relations):
                found = result[name]
                column = self.program.relations[name].schema.names[found.column]
                yield f"{name}: {what} are forgotten whose {column} is before {shown(found.frontier, names)}"
        for name, reason in self.frontiers.reasons.items():
            if name in relations:
                yield f"{name}: all rows are kept, for {reason}"


def _mark(program: Program, table: str, version: Version) -> Any:
    """Return the watermark in a table; None if it has no row."""
    (column,) = program.relations[program.tables[table]].schema
    return next(iter(values.from_arrow(version.read(table, table=True).column(0), column.type)), None)


def _reads(program: Program, name: str) -> list[str]:
    """Return the relations from which a relation is computed."""
    return [
        *program.relations[name].definition.sources,
        *(r for rule in program.rules_of(name) for r in rule.relations),
    ]


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
