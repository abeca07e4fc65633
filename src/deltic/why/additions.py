"""Insertions into tables that would derive a row of a view, found backward through its rules and verified by trying."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import conjuncts
from deltic.why.bound import Bound, Row, named, same
from deltic.why.nodes import PASSED, copied, restricted
from deltic.why.relations import RecursiveRelation, Relation, SourceTable
from deltic.why.scopes import ScopedNode
from deltic.why.search import ExplanationSearch

Additions = frozenset[tuple[str, Row]]
"""Rows by table."""
_Completion = tuple[dict[str, Any], Additions]
"""The values of a row that a node would have, and the insertions for it."""

_Above = tuple[Hashable, ...]
"""The relations with bound values on the current path, to detect cycles."""
_Equal = tuple[tuple[str, str], ...]
"""Pairs of columns that a condition requires to be equal."""

_NONE: Additions = frozenset()
_MOST_TRIED = 200
"""The most sets of one size that are tried."""


def additions(
    search: ExplanationSearch, name: str, pattern: Bound, most: int, makes: Callable[[Additions], bool]
) -> list[Additions]:
    """Return the smallest sets of at most `most` rows that derive a row with these values; `makes` tries one."""
    for size in range(1, most + 1):
        found = _Completing(search, most).relation(search.relation(name), pattern, size, ())
        candidates = dict.fromkeys(rows for _, rows in found if len(rows) == size)
        result = [rows for rows in islice(candidates, _MOST_TRIED) if makes(rows)]
        if result:
            return result
    return []


class _Completing:
    """Follows the operators down to tables; an input with free columns is deferred until others bind them."""

    def __init__(self, search: ExplanationSearch, depth: int) -> None:
        self.search, self.of, self.depth = search, search.evaluator, depth

    def relation(self, relation: Relation, bound: Bound, left: int, above: _Above) -> Iterator[_Completion]:
        """Existing rows with these values, and rows that at most `left` insertions would derive."""
        for row in self.of.rows_of(relation, bound):
            yield named(row, relation.schema), _NONE
        if not left:
            return
        key = type(relation), relation.name, tuple(bound.items())
        if isinstance(relation, SourceTable):
            if len(bound) == len(relation.schema):
                row = tuple(bound[name] for name in relation.schema.names)
                yield dict(bound), frozenset({(relation.name, row)})
        elif key not in above and len(above) <= 2 * self.depth:
            for node, _, _ in self.search.rules(relation):
                found = self.node(node, bound, left, (*above, key), ())
                yield from ((values, added) for values, added in found if added)

    def node(self, node: ScopedNode, bound: Bound, left: int, above: _Above, equal: _Equal) -> Iterator[_Completion]:
        """Rows of a node with these values, and the insertions for each."""
        leaf = self.of.leaf(node)
        if isinstance(leaf, ScopedNode):
            yield from self.node(leaf, bound, left, above, equal)
        elif leaf is not None:
            at_end = replace(leaf, at=None) if isinstance(leaf, RecursiveRelation) else leaf
            yield from self.relation(at_end, bound, left, above)
        elif isinstance(node.operator, (*PASSED, ops.Plus)):
            for below in node.inputs:
                yield from self.node(below, bound, left, above, equal)
        else:
            yield from self._made(node, bound, left, above, equal)

    def _made(self, node: ScopedNode, bound: Bound, left: int, above: _Above, equal: _Equal) -> Iterator[_Completion]:
        """As `node`, for operators that compute rows; groups are not extended."""
        operator, schema = node.operator, node.schema
        if isinstance(operator, ops.Map):
            yield from self._mapped(node, bound, left, above, equal)
        elif isinstance(operator, ops.Filter):
            pairs = (*equal, *_equalities(operator))
            known = _closed(restricted(operator, schema, bound), pairs, schema.names)
            found = self.node(node.below, known, left, above, pairs)
            passes = self.of.condition(*node.place)
            yield from ((values, added) for values, added in found if passes(node.row(values)))
        elif isinstance(operator, ops.Join | ops.Semijoin):
            for values, added in self._joined(list(node.inputs), [], dict(bound), left, above, equal):
                yield node.own(values), added
        elif isinstance(operator, ops.Antijoin):
            for values, added in self.node(node.below, bound, left, above, equal):
                if not self.of.rows(node.inputs[1], node.inputs[1].own(values)):
                    yield values, added
        elif not isinstance(operator, ops.Negate):
            yield from ((node.named(row), _NONE) for row in self.of.rows(node, bound))

    def _mapped(self, node: ScopedNode, bound: Bound, left: int, above: _Above, equal: _Equal) -> Iterator[_Completion]:
        """Yield the rows that a map computes from those of its input."""
        passed, origins = self.of.passed(node, bound), dict(copied(*node.place))
        below = tuple((origins[a], origins[b]) for a, b in equal if a in origins and b in origins)
        compute = self.of.mapping(*node.place)
        for values, added in () if passed is None else self.node(node.below, passed, left, above, below):
            made = compute(node.below.row(values))
            if made is not None and all(same(made[node.schema.index(name)], value) for name, value in bound.items()):
                yield node.named(made), added

    def _joined(
        self,
        pending: list[ScopedNode],
        waiting: list[ScopedNode],
        values: dict[str, Any],
        left: int,
        above: _Above,
        equal: _Equal,
    ) -> Iterator[_Completion]:
        """Yield the joined values of all inputs.

        Rows of `waiting` inputs are inserted after the others have bound their columns.
        """
        if not pending and not waiting:
            yield values, _NONE
            return
        first = min(pending, key=lambda each: self.of.freedom(each, values)) if pending else waiting[0]
        others = [each for each in pending if each != first]
        values = _closed(values, equal)
        known = first.own(values)
        rest = waiting if pending else waiting[1:]
        for more, added in self.node(first, known, left, above, ()):
            if pending or added:
                below = self._joined(others, rest, {**values, **more}, left - len(added), above, equal)
                yield from ((result, added | further) for result, further in below)
        if pending and left and len(known) < len(first.schema):
            yield from self._joined(others, [*waiting, first], values, left, above, equal)


def _equalities(operator: ops.Filter) -> Iterator[tuple[str, str]]:
    """Yield the pairs of columns that a condition requires to be equal."""
    for part in conjuncts(operator.predicate):
        if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
            yield part.this.name, part.expression.name


def _closed(values: Bound, equal: _Equal, names: Collection[str] | None = None) -> dict[str, Any]:
    """Return the values extended to equal columns, restricted to `names`."""
    result = dict(values)
    for a, b in (*equal, *equal):
        for one, other in ((a, b), (b, a)):
            if one in result and (names is None or other in names):
                result.setdefault(other, result[one])
    return result
