"""The segments of a plan: what a search does once the planner has chosen its next atom or variable."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from deltic.circuit.expressions import infer, is_checked, is_literal, is_not_null
from deltic.circuit.isolating import solve
from deltic.engine.plan.arithmetic import is_arithmetic
from deltic.engine.plan.conditions import is_comparison, is_decided
from deltic.engine.plan.plan import Absent, Ask, Compute, Each, LetStep, Open, PlanAccess, Seek, Segment, Step, TestStep
from deltic.engine.plan.values import is_value
from deltic.program.queries import Atom, Body, Query, Term, When, as_expression, variable_name, variables_of
from deltic.values.types import ValueType


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


class SegmentBuilder:
    """Builds the segments of one plan: steps that bind variables, compute values and test conditions."""

    def __init__(self, query: Query, asks: bool = False) -> None:
        self.query, self.asks = query, asks
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
            may_be_null = not sought and self.body.types[variable].nullable
            is_known = is_value(expression, self.types) if may_be_null else is_arithmetic(expression, self.types)
            if is_known and self._is_bound(expression) and sought == (variable in self.sought):
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
        beyond = not self.asks and any(not is_value(t, self.types) for t in computed)
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
                if is_value(term, self.types):
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
