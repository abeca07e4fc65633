"""Plans by what relations hold: the numbers that planning asks for, and when it is worth while to plan anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltic.calculus.planning import ALL, COSTS, Costs, Decision, Rewrites, planned
from deltic.calculus.planning.statistics import Origin, Table
from deltic.circuit.graph import Circuit
from deltic.circuit.reading.parser import parse_circuit
from deltic.engine.image import Json, as_tuples
from deltic.engine.local.operators.query import Evaluation
from deltic.engine.local.storage.state import State

Values = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
# The columns of a relation by what statistics call it, NULL as some value.
Columns = Callable[[str], Sequence[Values]]

# Rows of a sampled join, and how many times as many it may have at most.
_SAMPLE, _MOST = 1 << 17, 16
_NOTHING = Circuit(())
PLAN = "hidden relations that the plan keeps, as tables are large (off: rewrites without `eliminate` or `share`)"


class Question(NamedTuple):
    """What was asked about some relations."""

    relations: frozenset[str]
    asked: object


@dataclass(frozen=True)
class Plans:
    """The present plan of an engine: the circuit that it runs for the user's, and why.

    `rows` are those of the tables and recursive relations for which it was made, `numbers` what was found out of them,
    and `unknown` the recursive relations of which more should have been known.
    """

    rewrites: Rewrites = ALL
    costs: Costs = COSTS
    circuit: Circuit = _NOTHING
    rows: Mapping[str, int] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    numbers: Mapping[Question, float] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    growth: float = 4.0
    """How many times as large a table must be than it was for the plan to be made anew."""
    small: int = 100
    """Rows of a table up to which there is no need of a plan."""
    gain: float = 0.5
    """What a new plan may cost of what it replaces, when views have to be built anew for it."""
    review: int = 1 << 22
    """Rows that an epoch visits before a plan is reviewed that was made not knowing all."""
    regret: float = 0.5
    """What a new plan must save, of the rows that an epoch has visited, for the epoch to begin once more with it."""

    def is_due(self, rows: Mapping[str, int]) -> bool:
        """Whether one of the tables has outgrown the plan."""
        return any(n >= self.small and n >= self.growth * self.rows.get(table, 0) for table, n in rows.items())

    def anew(self, circuit: Circuit, rows: Mapping[str, int], columns: Columns) -> Plans:
        """The plan of the user's circuit for tables, and recursive relations that it was made for, of so many rows."""
        return self._made(circuit, Measured(rows, columns, {}))

    def revised(self, circuit: Circuit, rows: Mapping[str, int], columns: Columns, visited: int) -> Plans | None:
        """The plan in the middle of an epoch, with what else is decided as recursive relations have so many rows.

        None where that does not save a good part of the rows that the epoch has visited.
        """
        lasting = {question: n for question, n in self.numbers.items() if not question.relations & rows.keys()}
        found = self._made(circuit, Measured({**self.rows, **rows}, columns, lasting), self.decisions)
        saved = sum(before - after for before, after in found._beyond(self))
        pays = found.circuit != self.circuit and saved >= self.regret * visited
        return found if pays and found._includes(self) else None

    def extended(self, circuit: Circuit, rows: Mapping[str, int], columns: Columns) -> Plans:
        """The plan of another circuit, in which what both have is planned as it is.

        `rows` are those of the tables and of the recursive relations that there are now.
        """
        if not self.rows:
            return replace(self, circuit=circuit)
        known = {name: self.rows.get(name, n) for name, n in rows.items()}
        return self._made(circuit, Measured(known, columns, dict(self.numbers)), self.decisions)

    def of_recursions(self, rows: Mapping[str, int]) -> dict[str, int]:
        """The recursive relations that the plan was made for, of those that have so many rows."""
        return {name: n for name, n in rows.items() if name in self.rows}

    def _made(self, circuit: Circuit, measured: Measured, present: Sequence[Decision] = ()) -> Plans:
        found, decisions = planned(circuit, measured, self.rewrites, self.costs, present)
        made = replace(self, circuit=found, rows=measured.sizes, decisions=decisions, numbers=measured.numbers)
        return replace(made, unknown=frozenset(measured.unknown))

    def described(self, circuit: Circuit) -> dict[str, Json]:
        """What is to be written of the plan of the user's circuit."""
        return {
            "of": _digest(circuit),
            "circuit": None if self.circuit == circuit else str(self.circuit),
            "rows": dict(self.rows),
            "decisions": [astuple(decision) for decision in self.decisions],
            "numbers": [[sorted(q.relations), q.asked, number] for q, number in self.numbers.items()],
            "unknown": sorted(self.unknown),
        }

    def restored(self, about: Mapping[str, Json], circuit: Circuit) -> Plans:
        """The plan that was described, for the same circuit; for another one there is none yet."""
        if about["of"] != _digest(circuit):
            return replace(self, circuit=circuit)
        return replace(
            self,
            circuit=circuit if about["circuit"] is None else parse_circuit(about["circuit"]),
            rows=about["rows"],
            decisions=tuple(Decision(*decision) for decision in about["decisions"]),
            numbers={Question(frozenset(names), as_tuples(asked)): n for names, asked, n in about["numbers"]},
            unknown=frozenset(about["unknown"]),
        )

    def lines(
        self, relations: Collection[str], states: Mapping[str, State], queries: Sequence[Evaluation]
    ) -> list[str]:
        """What a reader is told of the hidden relations among some relations: what was expected, and what was."""
        found = []
        for decision in self.decisions:
            if decision.relation in relations:
                name, rows = decision.relation, len(states[decision.relation].contents)
                for_it = sum(q.actual.visited for q in queries if q.query.head == name)
                by_readers = sum(q.actual.visited for q in queries if name in q.query.relations)
                told = f"{for_it:,} rows visited for it, {by_readers:,} by the rules that read it; it holds {rows:,}"
                found += [str(decision), f"  so far: {told}"]
        return found

    def pays(self, old: Plans, held: int, added: int) -> bool:
        """Whether to build views anew for this plan, when tables that hold so many rows get so many more.

        It does when most rows come only now, or when what it adds is expected to save more than building costs.
        """
        if added >= (self.growth - 1) * held:
            return True
        new = self._beyond(old)
        return bool(new) and sum(after for _, after in new) <= self.gain * sum(before for before, _ in new)

    def _beyond(self, old: Plans) -> list[tuple[float, float]]:
        """The work without and with what it decides and the old one does not, as far as it is known."""
        made = {decision.definition for decision in old.decisions}
        new = [d for d in self.decisions if d.definition not in made]
        return [(d.before, d.after) for d in new if d.before is not None and d.after is not None]

    def _includes(self, old: Plans) -> bool:
        """Whether it decides all that the old one does."""
        return {d.definition for d in old.decisions} <= {d.definition for d in self.decisions}


def _digest(circuit: Circuit) -> str:
    """What tells circuits apart."""
    return sha256(str(circuit).encode()).hexdigest()


class Measured:
    """The statistics of relations, found out when they are asked for; `numbers` are those that were.

    `unknown` are the relations whose number of rows was asked for in vain.
    """

    def __init__(self, sizes: Mapping[str, int], columns: Columns, numbers: dict[Question, float]) -> None:
        self.sizes, self.numbers, self.unknown = sizes, numbers, set[str]()
        self._columns = columns
        self._held: dict[str, Sequence[Values]] = {}
        self._degrees: dict[Origin, tuple[Values, Counts]] = {}

    def rows(self, relation: str) -> float | None:
        """How many rows it has; None for what is neither a table nor a recursive relation that has rows."""
        if relation not in self.sizes:
            self.unknown.add(relation)
        return self.sizes.get(relation)

    def distinct(self, relation: str, columns: Sequence[int]) -> float:
        """How many different rows these columns have."""
        key = Question(frozenset({relation}), tuple(columns))
        if key not in self.numbers:
            self.numbers[key] = self._distinct(relation, columns)
        return self.numbers[key]

    def meeting(self, one: Origin, other: Origin) -> float:
        """How many pairs of rows have equal values in these columns."""
        key = Question(frozenset({one[0], other[0]}), (one, other))
        if key not in self.numbers:
            (values, counts), (others, other_counts) = self._degree(one), self._degree(other)
            _shared, at, other_at = np.intersect1d(values, others, assume_unique=True, return_indices=True)
            self.numbers[key] = float(counts[at].astype(np.float64) @ other_counts[other_at].astype(np.float64))
        return self.numbers[key]

    def sampled(self, tables: Sequence[Table], kept: Sequence[str], rows: float) -> float | None:
        """How many different rows of these variables the join of tables has; None where the sample grows too large."""
        joined = tuple((name, *sorted(columns.items())) for name, columns in tables)
        key = Question(frozenset(name for name, _ in tables), (joined, tuple(kept)))
        if key not in self.numbers:
            self.numbers[key] = self._sampled(list(tables), kept, max(1, int(rows) // _SAMPLE))
        return None if self.numbers[key] < 0 else self.numbers[key]

    def _sampled(self, tables: list[Table], kept: Sequence[str], part: int) -> float:
        """The join of the rows with every so-manieth value of the first variable that is kept; -1 for none."""
        start = next(table for table in tables if kept[0] in table[1])
        found = {v: self._table(start[0])[column] for v, column in start[1].items()}
        chosen = _mixed([found[kept[0]]]) % np.uint64(part) == 0
        found = {v: values[chosen] for v, values in found.items()}
        tables.remove(start)
        while tables:
            near = next((table for table in tables if found.keys() & table[1].keys()), None)
            joined = None if near is None else _joined(found, {v: self._table(near[0])[c] for v, c in near[1].items()})
            if near is None or joined is None:
                return -1.0
            found = joined
            tables.remove(near)
        return float(part * _different(_mixed([found[v] for v in kept])))

    def _distinct(self, relation: str, columns: Sequence[int]) -> float:
        if not columns:
            return float(min(1, self.sizes[relation]))
        if len(columns) == 1:
            return float(len(self._degree((relation, columns[0]))[0]))
        return float(_different(_mixed([self._table(relation)[index] for index in columns])))

    def _degree(self, origin: Origin) -> tuple[Values, Counts]:
        """The values of a column in ascending order, and how often each is there."""
        if origin not in self._degrees:
            self._degrees[origin] = _counted(self._table(origin[0])[origin[1]])
        return self._degrees[origin]

    def _table(self, relation: str) -> Sequence[Values]:
        if relation not in self._held:
            self._held[relation] = self._columns(relation)
        return self._held[relation]


def _joined(a: Mapping[str, Values], b: Mapping[str, Values]) -> dict[str, Values] | None:
    """The rows of a join; None where they are many more than a sample."""
    first, *others = [name for name in b if name in a]
    order = np.argsort(b[first], kind="stable")
    values = b[first][order]
    starts, ends = (np.searchsorted(values, a[first], side) for side in ("left", "right"))
    counts = ends - starts
    if counts.sum() > _MOST * _SAMPLE:
        return None
    rows = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    matches = order[starts[rows] + within]
    equal = np.ones(len(rows), np.bool_)
    for name in others:
        equal &= a[name][rows] == b[name][matches]
    rows, matches = rows[equal], matches[equal]
    return {**{v: column[matches] for v, column in b.items()}, **{v: column[rows] for v, column in a.items()}}


def _mixed(columns: Sequence[Values]) -> npt.NDArray[np.uint64]:
    """A hash of each row."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for values in columns:
        mixed = (mixed ^ values.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _different(hashes: npt.NDArray[np.uint64]) -> int:
    """How many different ones there are; sorts them."""
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + min(1, len(hashes))


def plain_values(values: Values, nulls: npt.NDArray[np.bool_] | None) -> Values:
    """The values of a column with the least of all for NULL."""
    return values if nulls is None else np.where(nulls, np.iinfo(np.int64).min, values)


def _counted(values: Values) -> tuple[Values, Counts]:
    """The values in ascending order, each once, and how often each is there."""
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    if high - low < 4 * values.size:
        counts = np.bincount(values - low)
        there = np.flatnonzero(counts)
        return there + low, counts[there]
    found, counts = np.unique(values, return_counts=True)
    return found, counts
