"""The physical circuit of an engine, chosen by the sizes of its relations, and when to choose again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from hashlib import sha256
from math import inf

from deltic.calculus.planning import ALL, COSTS, KeptDecision, RewriteCosts, Rewrites, planned
from deltic.circuit.graph import Circuit
from deltic.circuit.reading.parser import parse_circuit
from deltic.engine.image import Json, as_tuples
from deltic.engine.operators.query import Evaluation
from deltic.engine.plan.measured import Measured, MeasuredQuestion, Relations
from deltic.engine.storage.state import State

_NOTHING = Circuit(())
PLAN = "hidden relations that the plan keeps, as tables are large (off: rewrites without `eliminate` or `share`)"


@dataclass(frozen=True)
class Plans:
    """The present plan of an engine: the circuit that it runs instead of the user's, and the reasons.

    `rows` are the sizes of the tables and recursive relations for which it was made, `numbers` the statistics that were
    measured for it, and `unknown` the recursive relations whose sizes were not known.
    """

    rewrites: Rewrites = ALL
    costs: RewriteCosts = COSTS
    circuit: Circuit = _NOTHING
    rows: Mapping[str, int] = field(default_factory=dict)
    decisions: tuple[KeptDecision, ...] = ()
    numbers: Mapping[MeasuredQuestion, float] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    growth: float = 4.0
    """The plan is reviewed once a table has grown by this factor."""
    small: int = 100
    """Tables with fewer rows need no plan."""
    gain: float = 0.5
    """The greatest cost of a new plan, as a share of the work that it replaces, if views must be rebuilt for it."""
    review: int = 1 << 22
    """A plan with missing statistics is reviewed after an epoch has visited this many rows."""
    regret: float = 0.5
    """The least saving of a new plan, as a share of the rows that the epoch has visited, for a restart."""

    def is_due(self, rows: Mapping[str, int]) -> bool:
        """Return whether one of the tables has outgrown the plan."""
        return any(n >= self.small and n >= self.growth * self.rows.get(table, 0) for table, n in rows.items())

    def anew(self, circuit: Circuit, rows: Mapping[str, int], relations: Relations) -> Plans:
        """Plan the user's circuit from scratch, for tables and recursive relations of these sizes."""
        return self._made(circuit, Measured(rows, relations, {}))

    def revised(self, circuit: Circuit, rows: Mapping[str, int], relations: Relations, visited: int) -> Plans | None:
        """Plan again during an epoch: keep all decisions, and add those that the recursive relations' present sizes
        justify.

        None if that does not save a good part of the rows that the epoch has visited.
        """
        lasting = {question: n for question, n in self.numbers.items() if not question.relations & rows.keys()}
        result = self._made(circuit, Measured({**self.rows, **rows}, relations, lasting), self.decisions)
        saved = sum(before - after for before, after in result._beyond(self))
        pays = result.circuit != self.circuit and saved >= self.regret * visited
        return result if pays and result._includes(self) else None

    def extended(self, old: Circuit, circuit: Circuit, rows: Mapping[str, int], relations: Relations) -> Plans:
        """Plan another circuit than the `old` one. What both circuits share keeps its plan.

        `rows` are the sizes of the present tables and recursive relations.
        """
        if not self.rows:
            return replace(self, circuit=circuit)
        known = {name: self.rows.get(name, n) for name, n in rows.items()}
        return self._made(circuit, Measured(known, relations, dict(self.numbers)), self.decisions, old)

    @property
    def settled(self) -> Plans:
        """Return the same plan, which takes no further decisions."""
        return replace(self, costs=replace(self.costs, least=inf, large=inf, fan_out=inf))

    def of_recursions(self, rows: Mapping[str, int]) -> dict[str, int]:
        """Return, from these sizes, those of the recursive relations for which the plan was made."""
        return {name: n for name, n in rows.items() if name in self.rows}

    def _made(
        self,
        circuit: Circuit,
        measured: Measured,
        present: Sequence[KeptDecision] = (),
        old: Circuit | None = None,
    ) -> Plans:
        before = None if old is None else (old, self.circuit)
        result, decisions = planned(circuit, measured, self.rewrites, self.costs, present, before)
        made = replace(self, circuit=result, rows=measured.sizes, decisions=decisions, numbers=measured.numbers)
        return replace(made, unknown=frozenset(measured.unknown))

    def described(self, circuit: Circuit) -> dict[str, Json]:
        """Return the plan of the user's circuit as JSON, for `restored`."""
        return {
            "of": _digest(circuit),
            "circuit": None if self.circuit == circuit else str(self.circuit),
            "rows": dict(self.rows),
            "decisions": [astuple(decision) for decision in self.decisions],
            "numbers": [[sorted(q.relations), q.asked, number] for q, number in self.numbers.items()],
            "unknown": sorted(self.unknown),
        }

    def restored(self, about: Mapping[str, Json], circuit: Circuit) -> Plans:
        """Return the plan that `described` wrote for this circuit; if it wrote that of another one, a plan without
        decisions.
        """
        if about["of"] != _digest(circuit):
            return replace(self, circuit=circuit)
        return replace(
            self,
            circuit=circuit if about["circuit"] is None else parse_circuit(about["circuit"]),
            rows=about["rows"],
            decisions=tuple(KeptDecision(*decision) for decision in about["decisions"]),
            numbers={MeasuredQuestion(frozenset(names), as_tuples(asked)): n for names, asked, n in about["numbers"]},
            unknown=frozenset(about["unknown"]),
        )

    def lines(
        self, relations: Collection[str], states: Mapping[str, State], queries: Sequence[Evaluation]
    ) -> list[str]:
        """Return the lines of `explain` about the hidden ones of these relations: the expected numbers, and the real
        ones.
        """
        result = []
        for decision in self.decisions:
            if decision.relation in relations:
                name, rows = decision.relation, len(states[decision.relation].contents)
                for_it = sum(q.actual.visited for q in queries if q.query.head == name)
                by_readers = sum(q.actual.visited for q in queries if name in q.query.relations)
                message = f"{for_it:,} rows visited for it, {by_readers:,} by the rules that read it; it holds {rows:,}"
                result += [str(decision), f"  so far: {message}"]
        return result

    def pays(self, old: Plans, held: int, added: int) -> bool:
        """Return whether to rebuild the views for this plan when tables of `held` rows get `added` more.

        True if most rows are new, or if the new decisions should save more than the rebuild costs.
        """
        if added >= (self.growth - 1) * held:
            return True
        new = self._beyond(old)
        return bool(new) and sum(after for _, after in new) <= self.gain * sum(before for before, _ in new)

    def _beyond(self, old: Plans) -> list[tuple[float, float]]:
        """Return the work before and after each decision that the old plan does not have, where it is known."""
        made = {decision.definition for decision in old.decisions}
        new = [d for d in self.decisions if d.definition not in made]
        return [(d.before, d.after) for d in new if d.before is not None and d.after is not None]

    def _includes(self, old: Plans) -> bool:
        """Return whether it has all decisions of the old plan."""
        return {d.definition for d in old.decisions} <= {d.definition for d in self.decisions}


def _digest(circuit: Circuit) -> str:
    """Return a hash that identifies the circuit."""
    return sha256(str(circuit).encode()).hexdigest()
