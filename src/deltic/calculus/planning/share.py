"""Sharing: subqueries of several views are computed once and materialized.

Queries expand joins, maps and sums down to materialized relations, so a join that n views read is computed n times. As
a relation of its own, Keep(a) = a, it is computed once; that costs its rows, or nothing if it is a view anyway.
A view that reads little of it may be cheaper with a join of its own.
"""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting
from deltic.calculus.planning.conjunction import conjunctions
from deltic.calculus.planning.decision import COSTS, KeptDecision, RewriteCosts
from deltic.calculus.planning.statistics import Sizes, Statistics
from deltic.calculus.planning.work import Work, views
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node

# Operators that queries expand.
_READ_THROUGH = (ops.Join, ops.Semijoin, ops.Antijoin, ops.Map, ops.Filter, ops.Plus)


def share(circuit: Circuit, statistics: Statistics, costs: RewriteCosts = COSTS) -> tuple[Circuit, list[KeptDecision]]:
    """Return the circuit with shared joins materialized where that pays, and the decisions."""
    kept = _Sharing(circuit, statistics, costs).kept

    def rule(rewriting: Rewriting, node: Node) -> int | None:
        if rewriting.circuit is not circuit or rewriting.number not in kept:
            return None
        same = rewriting.add(node.operator, *rewriting.new(*node.inputs))
        return rewriting.add(ops.Keep(kept[rewriting.number].relation), same)

    return Rewriting(circuit, rule).sweep(()), list(kept.values())


class _Sharing:
    """The nodes of a circuit to materialize, chosen from the tables upward; nodes in bodies are unchanged."""

    def __init__(self, circuit: Circuit, statistics: Statistics, costs: RewriteCosts) -> None:
        self.circuit, self.costs = circuit, costs
        self.work = Work(Sizes(circuit.node, statistics), costs)
        self.sinks = {number: name for name, number in circuit.sinks.items()}
        self.kept: dict[int, KeptDecision] = {}
        named = views(circuit)
        for number, node in enumerate(circuit.nodes):
            if len(self.circuit.readers[number]) > 1 and isinstance(node.operator, _READ_THROUGH):
                result = self._saved(number)
                if result is not None:
                    name = self.sinks.get(number, f"{named.get(number, '')}-{number}")
                    text = f"{name} is kept once for {len(self.circuit.readers[number])} readers"
                    self.kept[number] = KeptDecision("share", name, text, *result)

    def _saved(self, number: int) -> tuple[float, float] | None:
        """Return the work for all readers without and with the relation; None if it does not pay, or sizes are
        unknown.
        """
        if not any(len(term.atoms) > 1 for term in conjunctions(self.circuit, number, self.kept)):
            return None
        heads = [self._head(number, reader) for reader in self.circuit.readers[number]]
        size, whole = self.work.sizes.of(number), self._work(number)
        without = [self._work(head) for head in heads]
        beside = [self._work(head, number) for head in heads if head != number]
        if size is None or None in (whole, *without, *beside):
            return None
        stored = 0.0 if number in self.sinks else self.costs.stored * size.rows
        before, after = sum(filter(None, without)), sum(filter(None, (whole, stored, *beside)))
        pays = after <= self.costs.ratio * before and before - after >= self.costs.least
        return (before, after) if pays else None

    def _head(self, number: int, reader: int) -> int:
        """Return the last node of the conjunction in which a reader reads a node; the node itself if it is read
        whole.
        """
        if not isinstance(self.circuit.nodes[reader].operator, _READ_THROUGH):
            return number
        above = self.circuit.readers[reader]
        return self._head(reader, above[0]) if len(above) == 1 else reader

    def _work(self, number: int, *kept: int) -> float | None:
        """Return the work for a node if the nodes `kept` are materialized, too; None if sizes are unknown."""
        result = [self.work.of(term) for term in conjunctions(self.circuit, number, {*self.kept, *kept})]
        known = [work for each in result if each is not None for work in each[1:]]
        return sum(known) if len(known) == len(result) else None
