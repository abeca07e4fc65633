"""Plans that use only existing column orders, for queries that are too rare to pay for more.

A further order of a large relation costs as much memory as the relation. Such a plan may seek fewer columns at once
and intersect fewer atoms than `planner.plan` would. Where no order serves at all, it requires a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from deltic.engine.plan.plan import Plan
from deltic.engine.plan.planner import Planner
from deltic.engine.plan.segments import Probe
from deltic.program.queries import Query

Order = tuple[int, ...]


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
