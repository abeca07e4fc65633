"""Estimates of the work for conjunctions, in visited rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from deltic.calculus.planning.conjunction import NodeAtom, NodeConjunction, renamed
from deltic.calculus.planning.decision import RewriteCosts
from deltic.calculus.planning.parts import JoinPart
from deltic.calculus.planning.statistics import NodeSize, Sizes
from deltic.circuit.expressions import columns_of
from deltic.circuit.graph import Circuit


class Work:
    """Estimates over the nodes of a circuit."""

    def __init__(self, sizes: Sizes, costs: RewriteCosts) -> None:
        self.sizes, self.costs = sizes, costs

    def size(self, atom: NodeAtom) -> NodeSize | None:
        """Return the size of an atom, by its variables; None if unknown."""
        size = self.sizes.of(atom.node)
        names = self.sizes.schema(atom.node).names
        return None if size is None else size.renamed(dict(zip(names, atom.variables, strict=True)))

    def of(self, conjunction: NodeConjunction, *others: NodeSize) -> tuple[NodeSize, float] | None:
        """Return the size of a conjunction joined with others, and the work to compute it; None if a size is unknown.

        The work is the rows of all intermediate joins, from the smallest atom on, plus the derivations.
        """
        pending = [*map(self.size, conjunction.atoms), *others]
        known = [size for size in pending if size is not None]
        if len(known) != len(pending):
            return None
        known, filters, equal = _joined_by_name(known, conjunction.filters)
        known = [self._kept(size, [f for f in filters if _concerns(f, size)]) for size in known]
        filters = [f for f in filters if not any(_concerns(f, size) for size in known)]
        size = min(known, key=lambda each: each.rows)
        known.remove(size)
        work = size.rows
        while known:
            joins = [(self.sizes.joined(size, other), other) for other in known]
            size, chosen = min(joins, key=lambda each: each[0].rows)
            known.remove(chosen)
            work += size.rows
            size = self._kept(size, [f for f in filters if _concerns(f, size)])
            filters = [f for f in filters if not _concerns(f, size)]
        for name, other in reversed(equal):
            size = size.beside(name, other)
        return size, work + self.costs.derived * size.rows

    def _kept(self, size: NodeSize, filters: Iterable[exp.Expression]) -> NodeSize:
        """Return the size after these filters."""
        for predicate in filters:
            size = self.sizes.filtered(size, predicate)
        return size

    def split(self, part: JoinPart) -> float | None:
        """Return the work if a part is a relation: to compute it, to store it, and for the rest; None if unknown."""
        joined = self.of(part.inside)
        if joined is None:
            return None
        size, inside = joined
        kept = self.set_of(size, part.kept)
        rest = self.of(part.rest, kept)
        return None if rest is None else inside + self.costs.stored * kept.rows + rest[1]

    def set_of(self, size: NodeSize, kept: Sequence[str]) -> NodeSize:
        """Return the size of the set of some variables of a conjunction of this size."""
        if len(kept) == len(size.distinct):
            return size
        estimate = self.sizes.projected(size, kept)
        there = {variable for _, columns in size.tables for variable in columns}
        if len(size.tables) < 2 or not kept or not there.issuperset(kept) or size.rows < self.costs.least:
            return estimate
        rows = self.sizes.statistics.sampled(size.tables, kept, size.rows)
        return estimate if rows is None else estimate.of_rows(min(size.rows, rows))


def _joined_by_name(
    sizes: Sequence[NodeSize], filters: Iterable[exp.Expression]
) -> tuple[list[NodeSize], list[exp.Expression], list[tuple[str, str]]]:
    """Merge variables that a filter equates, so that their sizes are joined on them.

    Also returns the other filters, and for each removed variable its replacement.
    """
    known, left, equal = list(sizes), list[exp.Expression](), list[tuple[str, str]]()
    for predicate in filters:
        for old, new in equal:
            predicate = renamed(predicate, {**{n: n for n in columns_of(predicate)}, old: new})
        sides = (predicate.this, predicate.expression) if isinstance(predicate, exp.EQ) else ()
        names = [side.name for side in sides if isinstance(side, exp.Column)]
        if len(set(names)) == 2 and not any(set(names) <= size.distinct.keys() for size in known):
            one, other = names
            known = [size.renamed({n: one if n == other else n for n in size.distinct}) for size in known]
            left = [renamed(f, {**{n: n for n in columns_of(f)}, other: one}) for f in left]
            equal.append((other, one))
        else:
            left.append(predicate)
    return known, left, equal


def _concerns(predicate: exp.Expression, size: NodeSize) -> bool:
    """Return whether the condition reads only columns of this size."""
    return set(columns_of(predicate)) <= size.distinct.keys()


def views(circuit: Circuit) -> dict[int, str]:
    """For each node the name of a sink that depends on it."""
    result: dict[int, str] = {number: name for name, number in circuit.sinks.items()}
    for number in reversed(range(len(circuit.nodes))):
        if number in result:
            for source in circuit.nodes[number].inputs:
                result.setdefault(source, result[number])
    return result
