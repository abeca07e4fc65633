"""From a delta query to its plan: an order of variables, and the column orders that it needs.

The change binds its variables first. Then the planner repeats, in this order of preference:

* Compute integers that bound variables determine; check conditions and absences whose variables are bound.
* Bind a variable that several reachable atoms share, by intersecting their ranges.
* Visit the reachable atom with the most bound columns. An atom with a bound variable comes before one with only
  constants; the strictest tests decide between several of these. Atoms that only add columns of their own come last,
  but whether they have a matching row is looked up before. An atom whose tests drop more rows than it has matches, as
  far as this is known, comes first.

Rows of an atom that shares nothing are visited as one if they agree in all columns that are read, since the rest of
the search would be the same for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod

from sqlglot import exp

from deltic.calculus.planning.statistics import selectivity
from deltic.circuit.expressions import is_checked
from deltic.depth import deep
from deltic.engine.plan.conditions import is_comparison
from deltic.engine.plan.plan import Each, Meet, Plan, Range
from deltic.engine.plan.segments import Probe, SegmentBuilder
from deltic.engine.storage.interner import is_interned
from deltic.program.queries import Atom, Query, Rule, as_expression, variables_of


@lru_cache(maxsize=1 << 14)
def plans_of(rule: Rule) -> tuple[Plan, ...]:
    """Return the plans of the delta queries of a rule. They are cached: most rules of a changed program are old."""
    return tuple(map(plan, rule.queries()))


# The comparisons by order.
ORDERS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
# An atom is visited before the others are looked up if its tests keep at most this share of its rows.
_STRICT = 0.5


def by_form(condition: exp.Expression) -> float:
    """Guess a condition's selectivity from its form, without statistics."""
    return selectivity(condition, {})


@dataclass(frozen=True)
class PlanStatistics:
    """What is known of the data: the share of rows that pass a test, and how many rows of an atom agree in columns."""

    part: Callable[[exp.Expression], float] = by_form
    matches: Callable[[Atom, Sequence[int]], float] = lambda atom, columns: inf


@deep
def plan(query: Query, asks: bool = False, statistics: PlanStatistics = PlanStatistics()) -> Plan:
    """Return the plan of a query: several segments, or, with `asks`, one search that asks for other values."""
    return Planner(query, asks, statistics).run()


class Planner(SegmentBuilder):
    """Makes one plan. A subclass may read the change in another way, or choose among column orders."""

    def __init__(self, query: Query, asks: bool = False, statistics: PlanStatistics = PlanStatistics()) -> None:
        super().__init__(query, asks)
        self.statistics = statistics

    def run(self) -> Plan:
        self.read_change()
        while self.probes:
            self.check()
            if not self._finish_probes() and not self._meet() and not self._compute_early():
                self._visit()
        self.check()
        head = self._finish()
        return Plan(self.query, tuple(self.segments), head)

    def _finish_probes(self) -> bool:
        """Look up the atoms whose columns are all known."""
        done = [p for p in self.probes if not p.free(self.bound)]
        for probe in done:
            self.open(probe)
            self.steps.append(Each(probe.number))
            self.probes.remove(probe)
        return bool(done)

    def _reachable(self) -> list[Probe]:
        return [p for p in self.probes if p.number >= 0 or p.known(self.bound)]

    def _meet(self) -> bool:
        """Bind the variable that most reachable atoms share, if two or more do."""
        sharing: dict[int, list[Probe]] = {}
        for probe in self._reachable():
            for variable in sorted(probe.free(self.bound)):
                if self.can_meet(probe, variable):
                    sharing.setdefault(variable, []).append(probe)
        variable = max(sharing, key=lambda v: (len(sharing[v]), -v), default=-1)
        if variable < 0 or len(sharing[variable]) < 2:
            return False
        self.intersect(variable, sharing[variable])
        return True

    def can_meet(self, probe: Probe, variable: int) -> bool:
        """Return whether the atom may be sorted by this variable next."""
        return True

    def intersect(self, variable: int, probes: list[Probe]) -> None:
        """Bind a variable to the values that these atoms share."""
        for probe in probes:
            self.open(probe)
        parts = []
        for probe in probes:
            parts.append((probe.number, len(probe.order)))
            probe.order.append(probe.atom.terms.index(variable))
        self.steps.append(Meet(variable, tuple(parts)))
        self.bound.add(variable)
        for probe in probes:
            self.open(probe)

    def _compute_early(self) -> bool:
        """Compute the variables of equations if an atom needs one and nothing is reachable without it."""
        waiting = {v for p in self.probes for v in p.free(self.bound)}
        ready = self._ready()
        if self._reachable() or not any(v in waiting for v, _ in ready):
            return False
        computation = self._computation([e for e in ready if e[0] in waiting or not is_checked(e[1])], early=True)
        if self.asks:
            self._ask(computation)
        else:
            self._close(computation)
            self._restart()
        return True

    def _visit(self) -> None:
        """Visit the rows of one atom and bind all its variables."""
        having = Counter(v for probe in self.probes for v in probe.variables)

        def is_last(probe: Probe) -> bool:
            return all(having[v] == 1 for v in probe.free(self.bound))

        def rank(probe: Probe) -> tuple[bool, bool, bool, bool, bool, int]:
            free = probe.free(self.bound)
            known = len(probe.order) + len(probe.known(self.bound))
            is_joined = not probe.variables.isdisjoint(self.bound)
            last = is_last(probe)
            counts = last and not free & self.variables_read(probe.atom)
            reduces = known > 0 and self._reduces(probe)
            return (not is_joined, known == 0, not reduces, last, not counts, -known)

        ranks = [rank(probe) for probe in self.probes]
        best = min(ranks)
        first = [probe for probe, its in zip(self.probes, ranks, strict=True) if its == best]
        probe = min(first, key=lambda probe: (self._selected(probe), len(probe.free(self.bound))))
        # Semijoins: no more columns of these atoms become known, so a miss ends the search here, if no test did.
        is_strict = is_last(probe) and self._selected(probe) <= _STRICT
        for other in () if is_strict else self.probes:
            if other is not probe and is_last(other) and other.known(self.bound):
                self.open(other)
        self.open(probe)
        sought = self._seek_range(probe)
        is_product = not probe.order
        columns = self.arranged(probe, self._wanted_first(probe) if is_product else probe.open_columns())
        probe.order += columns
        self._each(probe.number, probe.atom, [*sought, *columns], merges=is_product)
        self.probes.remove(probe)
        for other in self.probes:
            if other.number >= 0:
                self.open(other)

    def _seek_range(self, probe: Probe) -> list[int]:
        """Seek the rows with a column that compares as conditions demand with values that vary. Return the column."""
        ranges = self._ranges(probe) if self.may_seek_range(probe) else {}
        variable = max(ranges, key=lambda v: (len(ranges[v]), -v), default=-1)
        if variable < 0:
            return []
        for condition, rises in ranges[variable]:
            self.conditions.remove(condition)
            self._test_nulls(condition)
            self.steps.append(Range(probe.number, len(probe.order), variable, condition, rises))
        probe.order.append(probe.atom.terms.index(variable))
        return probe.order[-1:]

    def may_seek_range(self, probe: Probe) -> bool:
        """Return whether ranges of the atom's next column may be sought: here, below columns that a join has found."""
        return bool(probe.order)

    def _ranges(self, probe: Probe) -> dict[int, list[tuple[exp.Expression, bool]]]:
        """Return the conditions that are ranges of a column of the atom, by variable, with whether they rise."""
        result: dict[int, list[tuple[exp.Expression, bool]]] = {}
        for condition in self.conditions:
            for variable in probe.free(self.bound) if isinstance(condition, ORDERS) else ():
                others = self.bound.intersection(variables_of(condition))
                if others and self._is_range(condition, variable, others) and self.can_meet(probe, variable):
                    on_left = condition.this == as_expression(variable)
                    result.setdefault(variable, []).append(
                        (condition, on_left == isinstance(condition, exp.GT | exp.GTE))
                    )
        return result

    def _is_range(self, condition: exp.Expression, variable: int, others: set[int]) -> bool:
        """Return whether a search can compare this variable, by the order of its offsets, with the others."""
        own, sides = as_expression(variable), (condition.this, condition.expression)
        return (
            set(variables_of(condition)) == {variable, *others}
            and own in sides
            and all(side == own or variable not in variables_of(side) for side in sides)
            and not is_interned(self.body.types[variable].type)
            and is_comparison(condition, self.types)
        )

    def _selected(self, probe: Probe) -> float:
        """Return the share of an atom's rows that pass the tests which can be decided once it is visited."""
        bound = self.bound | probe.variables
        tests = (c for c in self.conditions if bound.issuperset(variables_of(c)) and self._is_test(c))
        return prod(map(self.statistics.part, tests))

    def _reduces(self, probe: Probe) -> bool:
        """Return whether a visit of the atom leaves fewer rows, where its number of matches is known."""
        matches = self.statistics.matches(probe.atom, [*probe.order, *probe.known(self.bound)])
        return matches * self._selected(probe) <= _STRICT

    def _wanted_first(self, probe: Probe) -> list[int]:
        """Return the columns of an atom, with those that anything else reads first."""
        wanted = self.variables_read(probe.atom)
        return sorted(range(len(probe.atom.terms)), key=lambda column: probe.atom.terms[column] not in wanted)
