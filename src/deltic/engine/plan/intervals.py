"""Comparisons with values of a change, `a.v > f(b.x)` beside `a.k = b.k`, as intervals of `v`.

Where nothing else reads x, each changed row of b adds its weight to the rows of a with its k from some v on. Of changed
rows that agree in k, the sums of weights change at these values only: between an old and a new threshold there is an
interval of weight one, and beyond both the weight is 0. So the search starts from intervals of weights other than 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import is_checked
from deltic.depth import deep
from deltic.engine.plan.plan import Each, Intervals, Open, Plan, ValueBound
from deltic.engine.plan.planner import ORDERS, Planner
from deltic.engine.plan.segments import Probe
from deltic.engine.storage.interner import is_wide
from deltic.program.queries import Query, When, as_expression, variable_of, variables_of
from deltic.values.types import Kind, Type, ValueType


@deep
def plan_intervals(query: Query) -> Plan | None:
    """Return the plan that starts from intervals; None if no comparison makes any."""
    columns, bounds = query.delta.variables(), list(_bounds(query))
    if not bounds or len(columns) < len(query.delta.terms):
        return None
    compared = [bound.variable for bound in bounds]
    variable = max(compared, key=compared.count)
    bounds = [bound for bound in bounds if bound.variable == variable]
    left = [c for c in query.body.conditions if all(c is not bound.condition for bound in bounds)]
    kept = columns & _read(query, left)
    if all(kept.issuperset(variables_of(bound.value)) for bound in bounds):
        return None
    least = max(query.body.types) + 1
    intervals = Intervals(tuple(sorted(kept)), variable, least, least + 1, tuple(bounds))
    return _IntervalPlanner(_within(query, intervals, left), intervals).run()


def _bounds(query: Query) -> Iterator[ValueBound]:
    """Yield the conditions that compare a variable of other atoms with exact numbers computed from the change."""
    of_change = query.delta.variables()
    of_others = {v for atom in query.body.atoms if atom is not query.delta for v in atom.variables()} - of_change
    for condition in query.body.conditions:
        if not isinstance(condition, ORDERS):
            continue
        sides = (condition.this, condition.expression)
        for own, value in (sides, sides[::-1]):
            read = variables_of(value)
            if isinstance(own, exp.Column) and read and of_change.issuperset(read) and not is_checked(value):
                types = [query.body.infer(side).type for side in (own, value)]
                if (
                    (variable := variable_of(own.name)) in of_others
                    and all(map(_is_exact, types))
                    and not is_wide(types[0])
                ):
                    above = isinstance(condition, exp.GT | exp.GTE) == (own is condition.this)
                    yield ValueBound(condition, variable, value, above, isinstance(condition, exp.GT | exp.LT))


def _is_exact(type_: Type) -> bool:
    return type_.kind is Kind.DECIMAL or (type_.is_integer and type_.signed)


def _read(query: Query, conditions: Sequence[exp.Expression]) -> set[int]:
    """Return the variables that the query reads with these conditions; its change does not count."""
    terms = [t for a in (*query.body.atoms, *query.body.absent) if a is not query.delta for t in a.terms]
    terms += [*query.terms, *conditions, *(v for v, _ in query.body.equations), *(e for _, e in query.body.equations)]
    return {v for term in terms for v in variables_of(term)}


def _within(query: Query, intervals: Intervals, conditions: Sequence[exp.Expression]) -> Query:
    """Return the query with these conditions, and that the compared variable is in the interval."""
    body, own = query.body, as_expression(intervals.variable)
    ends = {intervals.least: "least", intervals.greatest: "greatest"}
    least, greatest = (as_expression(end) for end in ends)
    between = exp.GTE(this=own.copy(), expression=least), exp.LTE(this=own.copy(), expression=greatest)
    type_ = ValueType(body.types[intervals.variable].type, False)
    return replace(
        query,
        body=replace(
            body,
            conditions=(*conditions, *between),
            types={**body.types, **dict.fromkeys(ends, type_)},
            names={**body.names, **ends},
        ),
    )


class _IntervalPlanner(Planner):
    def __init__(self, query: Query, intervals: Intervals) -> None:
        super().__init__(query)
        self.intervals = intervals

    def run(self) -> Plan:
        return replace(super().run(), intervals=self.intervals)

    def read_change(self) -> None:
        """Bind the variables of the intervals."""
        variables = self.intervals.input
        number = self.access("", When.DELTA, list(range(len(variables))))
        self.steps += [Open(number), Each(number, tuple((v, i) for i, v in enumerate(variables)))]
        self.bound.update(variables)

    def may_seek_range(self, probe: Probe) -> bool:
        return True
