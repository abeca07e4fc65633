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

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod

from sqlglot import exp

from deltic.calculus.planning.statistics import selectivity
from deltic.circuit.expressions import infer, is_checked, is_literal, is_not_null
from deltic.circuit.isolating import solve
from deltic.depth import deep
from deltic.engine.plan.arithmetic import is_arithmetic
from deltic.engine.plan.conditions import is_comparison, is_decided
from deltic.engine.plan.plan import (
    Absent,
    Ask,
    Compute,
    Each,
    LetStep,
    Meet,
    Open,
    Plan,
    PlanAccess,
    Range,
    Seek,
    Segment,
    Step,
    TestStep,
)
from deltic.engine.storage.interner import is_interned
from deltic.program.queries import Atom, Body, Query, Rule, Term, When, as_expression, variable_name, variables_of
from deltic.values.types import ValueType


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


class Probe:
    """An atom during planning. `order` lists the columns that the plan has consumed, in this order."""

    def __init__(self, atom: Atom) -> None:
        self.atom = atom
        self.variables = atom.variables()
        self.number = -1
        self.order: list[int] = []

    def open_columns(self) -> list[int]:
        """Return the columns that are not consumed yet."""
        return [c for c in range(len(self.atom.terms)) if c not in self.order]

    def known(self, bound: set[int]) -> list[int]:
        """Return the unconsumed columns that have a literal or a bound variable."""
        return [c for c in self.open_columns() if not isinstance(t := self.atom.terms[c], int) or t in bound]

    def free(self, bound: set[int]) -> set[int]:
        """Return the variables that the atom would bind."""
        return self.variables - bound


class Planner:
    """Makes one plan. A subclass may read the change in another way, or choose among column orders."""

    def __init__(self, query: Query, asks: bool = False, statistics: PlanStatistics = PlanStatistics()) -> None:
        self.query, self.asks, self.statistics = query, asks, statistics
        self.body: Body = query.body
        self.bound: set[int] = set()
        self.probes = [Probe(a) for a in self.body.atoms if a.when is not When.DELTA]
        self.absent = list(self.body.absent)
        self.conditions = list(self.body.conditions)
        self.equations = list(self.body.equations)
        self.types = {variable_name(v): value for v, value in self.body.types.items()}
        self._tests: dict[exp.Expression, bool] = {}
        self.sought = {v for atom in self.body.atoms for v in atom.variables()}
        self.segments: list[Segment] = []
        self.steps: list[Step] = []
        self.accesses: list[list[object]] = []

    def run(self) -> Plan:
        self.read_change()
        while self.probes:
            self.check()
            if not self._finish_probes() and not self._meet() and not self._compute_early():
                self._visit()
        self.check()
        head = self._finish()
        return Plan(self.query, tuple(self.segments), head)

    # The pieces of a segment

    def access(self, relation: str, when: When, order: list[int]) -> int:
        self.accesses.append([relation, when, order])
        return len(self.accesses) - 1

    def read_change(self) -> None:
        """Bind the variables of the change, one row at a time."""
        delta = self.query.delta
        columns = list(range(len(delta.terms)))
        number = self.access(delta.relation, When.DELTA, columns)
        self.steps.append(Open(number))
        self._each(number, delta, columns)

    def _each(self, number: int, atom: Atom, columns: Sequence[int], merges: bool = False) -> None:
        """Visit rows of an atom, and bind those of these columns that anything else reads.

        With `merges`, rows that agree in these are visited as one, if the order makes them adjacent.
        """
        free = {t for c in columns if isinstance(t := atom.terms[c], int) and t not in self.bound}
        wanted = free and self.variables_read(atom) | {v for v in free if atom.terms.count(v) > 1}
        binds: list[tuple[int, int]] = []
        checks: list[tuple[Term, int]] = []
        order = self.accesses[number][2]
        assert isinstance(order, list)
        for column in columns:
            term = atom.terms[column]
            if not isinstance(term, int) or term in self.bound:
                checks.append((term, order.index(column)))
            elif term in wanted:
                binds.append((term, order.index(column)))
                self.bound.add(term)
        merges = merges and not checks and [place for _, place in binds] == list(range(len(binds)))
        counts = not binds and not checks
        self.steps.append(Each(number, tuple(binds), tuple(checks), counts, merges and 0 < len(binds) < len(columns)))

    def check(self) -> None:
        """Compute and test all that the bound variables determine. Absent atoms' values are computed when no probe is
        left.
        """
        self._test()
        while self.bind_computed(sought=True):
            self._test()
        while not self.probes and self.bind_computed(sought=False):
            self._test()
        for atom in [a for a in self.absent if a.variables() <= self.bound]:
            self.absent.remove(atom)
            number = self.access(atom.relation, atom.when, list(range(len(atom.terms))))
            self.steps.append(Absent(number, atom.terms))

    def _test(self) -> None:
        """Test the conditions whose variables are bound."""
        self._bind_equations()
        for condition in self._take(lambda c: self._is_bound(c) and self._is_test(c)):
            if is_comparison(condition, self.types):
                self._test_nulls(condition)
            self.steps.append(TestStep(condition))

    def _test_nulls(self, condition: exp.Expression) -> None:
        """Continue only if no bound variable of a comparison is NULL."""
        nullable = [v for v in variables_of(condition) if self.body.types[v].nullable and v in self.bound]
        self.steps += [TestStep(is_not_null(as_expression(v))) for v in nullable]

    def _is_test(self, condition: exp.Expression) -> bool:
        if condition not in self._tests:
            self._tests[condition] = is_test(condition, self.types)
        return self._tests[condition]

    def _take(self, is_ready: Callable[[exp.Expression], bool]) -> list[exp.Expression]:
        """Remove the conditions that are ready from the pending ones, and return them."""
        ready, waiting = list[exp.Expression](), list[exp.Expression]()
        for condition in self.conditions:
            (ready if is_ready(condition) else waiting).append(condition)
        self.conditions = waiting
        return ready

    def bind_computed(self, sought: bool) -> bool:
        """Bind the variable of an equation by arithmetic on bound ones: a `sought` variable, which an atom has, or
        another.
        """
        for variable, expression in self.equations:
            known = self._is_bound(expression) and is_arithmetic(expression, self.types)
            if known and sought == (variable in self.sought):
                self.equations.remove((variable, expression))
                self._let(LetStep(variable, expression, sought))
                return True
        return False

    def _let(self, let: LetStep) -> None:
        """Compute a value. It comes before the last step if that visits rows on which the value does not depend."""
        last, read = self.steps[-1], variables_of(let.expression)
        early = isinstance(last, Each) and not last.checks and not any(v in read for v, _ in last.binds)
        self.steps.insert(len(self.steps) - early, let)
        self.bound.add(let.variable)

    def _bind_equations(self) -> None:
        """Turn an equation whose variable is bound into a condition, or solve it for its only unbound variable."""
        for variable, expression in [e for e in self.equations if e[0] in self.bound]:
            unknown = [v for v in variables_of(expression) if v not in self.bound]
            solution = self._solve(variable, expression, unknown[0]) if len(unknown) == 1 else None
            if solution is not None:
                self.equations.remove((variable, expression))
                self.equations.append((unknown[0], solution))
            elif not unknown:
                self.equations.remove((variable, expression))
                self.conditions.append(self.body.equality(as_expression(variable), expression))

    def _solve(self, variable: int, expression: exp.Expression, unknown: int) -> exp.Expression | None:
        """Solve `variable = expression` for the unknown variable; None if it has no solution in integer arithmetic."""
        if not is_arithmetic(expression, self.types):
            return None
        types = {name: value.type for name, value in self.types.items()}
        return solve(as_expression(variable), expression, variable_name(unknown), types)

    def _is_bound(self, term: Term) -> bool:
        return self.bound.issuperset(variables_of(term))

    def arranged(self, probe: Probe, columns: list[int]) -> list[int]:
        """Return those of the atom's next columns that are consumed now, in order: here, all of them."""
        return columns

    def open(self, probe: Probe) -> None:
        """Open the atom, if it is not open, and seek all of its known columns."""
        if probe.number < 0:
            probe.number = self.access(probe.atom.relation, probe.atom.when, probe.order)
            self.steps.append(Open(probe.number))
        known = self.arranged(probe, probe.known(self.bound))
        if known:
            terms = tuple(probe.atom.terms[c] for c in known)
            self.steps.append(Seek(probe.number, len(probe.order), terms))
            probe.order += known

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

    # The ends of segments

    def _ready(self) -> list[tuple[int, exp.Expression]]:
        """Return one computable equation for each variable. Further equations of a variable become conditions later."""
        return list({v: (v, e) for v, e in reversed(self.equations) if self._is_bound(e)}.values())

    def _computation(self, ready: list[tuple[int, exp.Expression]], early: bool = False) -> Compute:
        """Compute these variables, and decide the decidable conditions; if `early`, leave out those that may raise an
        error.
        """
        for equation in ready:
            self.equations.remove(equation)
        conditions = self._take(lambda c: self._is_bound(c) and not (early and is_checked(c)))
        return Compute(tuple(ready), tuple(conditions))

    def _ask(self, compute: Compute) -> None:
        """Add questions for the conditions, then for the values, and bind their variables."""
        self.steps += [Ask(None, condition) for condition in compute.conditions]
        for variable, expression in compute.values:
            self.steps.append(
                Ask(variable, expression, self.body.types[variable].nullable, sought=variable in self.sought)
            )
            self.bound.add(variable)

    def _close(self, compute: Compute | None) -> None:
        """End the segment. Its output are the variables that later steps read."""
        output: tuple[int, ...] = ()
        if compute is not None:
            output = tuple(sorted(self.bound & self._needed(compute)))
            self.bound |= {v for v, _ in compute.values}
        accesses = tuple(PlanAccess(str(r), w, tuple(o)) for r, w, o in self.accesses)  # type: ignore[arg-type]
        self.segments.append(Segment(accesses, tuple(self.steps), output, compute))
        self.steps, self.accesses = [], []

    def _needed(self, compute: Compute) -> set[int]:
        """Return the variables that the computation or later steps read."""
        terms = [*compute.conditions, *(e for _, e in compute.values)]
        return self.variables_read() | {v for term in terms for v in variables_of(term)}

    def variables_read(self, but: Atom | None = None) -> set[int]:
        """Return the variables that the head and all pending steps read; the atom `but` does not count."""
        terms: list[Term] = [*self.query.terms, *self.conditions]
        terms += [*(v for v, _ in self.equations), *(e for _, e in self.equations)]
        terms += [t for a in (*self.absent, *(p.atom for p in self.probes)) if a is not but for t in a.terms]
        return {v for term in terms for v in variables_of(term)}

    def _restart(self) -> None:
        """Start a segment that reads the results of the previous one."""
        columns = [*self.segments[-1].output, *(v for v, _ in self.segments[-1].compute.values)]  # type: ignore[union-attr]
        number = self.access("", When.DELTA, list(range(len(columns))))
        binds = tuple((variable, i) for i, variable in enumerate(columns))
        self.steps += [Open(number), Each(number, binds)]

    def _finish(self) -> tuple[Term, ...]:
        """Compute the rest and the head, and return the head's terms. The search writes the head itself when it can."""
        computed = [t for t in map(as_expression, self.query.terms) if _is_computed(t)]
        beyond = not self.asks and any(not is_arithmetic(t, self.types) for t in computed)
        while self.equations or self.absent or self.conditions or beyond:
            ready = self._ready()
            if not ready and (self.equations or any(not self._is_bound(c) for c in self.conditions) or self.absent):
                raise AssertionError(f"a variable is not grounded: {self.query}")
            computation = self._computation(ready)
            if self.asks:
                self._ask(computation)
                self.check()
                continue
            self._close(computation)
            self._bind_equations()
            if not (self.equations or self.absent or self.conditions):
                return self.query.terms
            self._restart()
            self.check()
        head = self._let_head()
        self._close(None)
        return head

    def _let_head(self) -> tuple[Term, ...]:
        """Compute the head's columns, and return its terms."""
        fresh = itertools.count(max(self.body.types, default=0) + 1)
        head: list[Term] = []
        for term in self.query.terms:
            if not isinstance(term, int) and _is_computed(term):
                variable = next(fresh)
                if is_arithmetic(term, self.types):
                    self._let(LetStep(variable, term, sought=False))
                else:
                    self.steps.append(Ask(variable, term, infer(term, self.types).nullable))
                head.append(variable)
            else:
                head.append(term)
        return tuple(head)


def _is_computed(term: exp.Expression) -> bool:
    return not isinstance(term, exp.Column) and not is_literal(term)


def is_test(condition: exp.Expression, types: Mapping[str, ValueType]) -> bool:
    """Return whether the search itself can decide the condition; a comparison, for operands that are not NULL."""
    return is_comparison(condition, types) or is_decided(condition, types)
