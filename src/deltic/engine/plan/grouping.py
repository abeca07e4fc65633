"""Plans for large changes: changed rows that are equal in all columns that other atoms read are searched together.

The change is read as one more sorted range. First the variables that it shares with anything else are bound:
each by intersecting the change with the atoms that have the variable, smallest relation first. The columns that only
the change has are scanned at the end. So a search runs once for each group of rows instead of each row, and
skips groups without a partner.

For queries that are too rare to pay for more orders, there are plans within the existing ones: a further order of a
large relation costs as much memory as the relation. Such a plan may seek fewer columns at once and intersect fewer
atoms than `planner.plan` would. Where no order serves at all, it requires a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from deltic.engine.plan.plan import Open, Plan
from deltic.engine.plan.planner import Planner
from deltic.engine.plan.segments import Probe
from deltic.program.queries import Query, When, variables_of

Order = tuple[int, ...]


def plan_groups(
    query: Query, sizes: Mapping[str, int], orders: Mapping[str, Collection[Order]], of_change: Collection[Order]
) -> Plan | None:
    """Return a plan for relations of these sizes that uses only these column orders.

    None if there is no such plan, or if it gains nothing.
    """
    planner = _GroupPlanner(query, sizes, orders, of_change)
    try:
        plan = planner.run()
    except _NoGroupsError:
        return None
    used = [a for segment in plan.segments for a in segment.accesses if a.relation]
    return plan if all(a.order in planner.readable(a.relation, a.when, len(a.order)) for a in used) else None


class _NoGroupsError(Exception):
    """No existing column order serves, or every group would be a single row that no intersection skips."""


class _GroupPlanner(Planner):
    def __init__(
        self,
        query: Query,
        sizes: Mapping[str, int],
        orders: Mapping[str, Collection[Order]],
        of_change: Collection[Order],
    ) -> None:
        super().__init__(query)
        self.sizes, self.orders, self.of_change = sizes, orders, of_change

    def readable(self, relation: str, when: When, width: int) -> tuple[Order, ...]:
        """Return the column orders in which an atom can be read."""
        return (tuple(range(width)), *self.of_change) if when is When.DELTA else tuple(self.orders[relation])

    def read_change(self) -> None:
        """Bind the variables that the change shares, and visit the change like any other atom."""
        change = Probe(self.query.delta)
        change.number = self.access(change.atom.relation, When.DELTA, change.order)
        self.steps.append(Open(change.number))
        self.open(change)
        shared = self._shared()
        if not shared:
            raise _NoGroupsError
        others = list(self.probes)
        self.probes.append(change)
        gain = shared != change.free(self.bound)
        while shared:
            variable = self._next(change, shared, others)
            shared.discard(variable)
            partners = [p for p in others if variable in p.free(self.bound) and self._can_extend(p, variable)]
            gain = gain or bool(partners)
            self.intersect(variable, [change, *partners])
            self.check()
            shared &= change.free(self.bound)
        if not gain:
            raise _NoGroupsError

    def _shared(self) -> set[int]:
        """Return the variables of the change that the rest of the body reads."""
        terms = [
            t for atom in (*self.body.atoms, *self.body.absent) if atom is not self.query.delta for t in atom.terms
        ]
        terms += [*self.conditions, *(v for v, _ in self.equations), *(e for _, e in self.equations)]
        return self.query.delta.variables() & {v for term in terms for v in variables_of(term)}

    def _next(self, change: Probe, shared: set[int], others: list[Probe]) -> int:
        """Return the variable with the smallest partner, of those that come next in some column order of the change."""

        def rank(variable: int) -> tuple[int, int]:
            partners = [self.sizes[p.atom.relation] for p in others if variable in p.atom.variables()]
            return (min(partners, default=1 << 62), change.atom.terms.index(variable))

        possible = [v for v in shared if self._can_extend(change, v)]
        if not possible:
            raise _NoGroupsError
        return min(possible, key=rank)

    def _can_extend(self, probe: Probe, variable: int) -> bool:
        """Return whether some order of the atom continues with the known columns and then the variable."""
        column = probe.atom.terms.index(variable)
        known = probe.known(self.bound)
        return self._completion(probe, known, [column]) is not None

    def _completion(self, probe: Probe, known: list[int], then: list[int]) -> Order | None:
        """Return an existing order that starts with the consumed columns, then has the known ones in any order, then
        `then`.
        """
        start, end = len(probe.order), len(probe.order) + len(known)
        atom = probe.atom
        for order in self.readable(atom.relation, atom.when, len(atom.terms)):
            if (
                order[:start] == tuple(probe.order)
                and set(order[start:end]) == set(known)
                and order[end : end + len(then)] == tuple(then)
            ):
                return order
        return None

    def arranged(self, probe: Probe, columns: list[int]) -> list[int]:
        order = self._completion(probe, columns, [])
        return columns if order is None else list(order[len(probe.order) : len(probe.order) + len(columns)])


def plan_within_orders(query: Query, orders: Mapping[str, Collection[Order]], asks: bool = False) -> Plan:
    """Return the plan of a query; `orders` are the existing orders of the relations that should get no more."""
    return _WithinOrders(query, orders, asks).run()


class _WithinOrders(Planner):
    def __init__(self, query: Query, orders: Mapping[str, Collection[Order]], asks: bool) -> None:
        super().__init__(query, asks)
        self.orders = orders

    def arranged(self, probe: Probe, columns: list[int]) -> list[int]:
        """Return as many of these columns as follow in some order; all of them if no order starts with them."""
        runs = [_run(order, probe.order, columns) for order in self.orders.get(probe.atom.relation, ())]
        longest = max(runs, key=len, default=[])
        return longest if longest or self._follows(probe.atom.relation, probe.order) else columns

    def _follows(self, relation: str, consumed: list[int]) -> bool:
        """Return whether columns were consumed, and some existing order starts with them."""
        return bool(consumed) and any(_begins(order, consumed) for order in self.orders.get(relation, ()))

    def can_meet(self, probe: Probe, variable: int) -> bool:
        relation = probe.atom.relation
        consumed = probe.order + self.arranged(probe, probe.known(self.bound))
        if not self._follows(relation, consumed):
            return True
        return self._follows(relation, [*consumed, probe.atom.terms.index(variable)])


def _begins(order: Order, columns: list[int]) -> bool:
    return order[: len(columns)] == tuple(columns)


def _run(order: Order, consumed: list[int], columns: list[int]) -> list[int]:
    """Return the columns that follow the consumed ones in the order, up to the first that is not among `columns`."""
    run: list[int] = []
    if _begins(order, consumed):
        for column in order[len(consumed) :]:
            if column not in columns:
                break
            run.append(column)
    return run
