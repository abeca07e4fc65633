"""Premises that exclude rows: those without which the premises of a derivation alone would give other rows.

The premises of a step derive its row by themselves. Where a definition is not monotone, fewer rows can give more: a
row lacks its match in an antijoin, EXCEPT ALL subtracts fewer copies, a group has another count. So the definition is
evaluated over the premises alone; as long as the row is not among the results, rows are added from which they differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import cache

from deltic.circuit import operators as ops
from deltic.why.bound import Bound, Row, Rows, named, same
from deltic.why.derivations import SAMPLE, Derivation, Fact, RowDerivations
from deltic.why.explanation import Note
from deltic.why.relations import identity
from deltic.why.rows import Evaluator
from deltic.why.scopes import ScopedNode

_Difference = tuple[ScopedNode, Bound, int]
"""A node, values of its columns, and 1 if the premises may give too many rows with them, -1 for too few."""


class Exclusions:
    """Completes derivations of rows of nodes; `copies` enumerates one derivation for each copy of a row."""

    def __init__(self, copies: RowDerivations) -> None:
        self.copies, self.of = copies, copies.of
        self._grows = cache(self._is_monotone)

    def completed(self, node: ScopedNode, row: Row, way: Derivation) -> Derivation:
        """Return the derivation, with the premises that it lacks to derive the row by itself; the first ten of them."""
        if not way.is_whole or self._grows(node):
            return way
        facts, values, left = _facts(way), node.named(row), SAMPLE
        while True:
            alone = self.of.over(self._contents(facts))
            if alone.rows(node, values).get(row, 0) > 0:
                return way
            lacking = dict[frozenset[Fact], Derivation]()
            for each in _Differences(self.copies, alone, facts).of((node, values, -1)):
                lacking.setdefault(frozenset(_facts(each)), each)
            for needed, each in lacking.items():
                if not left:
                    note = Derivation((Note(f"{SAMPLE} of the rows shown that exclude others"),), is_whole=False)
                    return way.with_(note)
                way, facts, left = way.with_(replace(each, variables={})), facts | needed, left - 1
            if not lacking:
                return way

    def _contents(self, facts: set[Fact]) -> dict[Hashable, Rows]:
        """Return the rows of each relation, with all of their copies."""
        result: dict[Hashable, Rows] = {}
        for fact in facts:
            weight = self.of.read(fact.relation, named(fact.row, fact.relation.schema)).get(fact.row, 1)
            result.setdefault(identity(fact.relation), {})[fact.row] = weight
        return result

    def _is_monotone(self, node: ScopedNode) -> bool:
        """Return whether fewer rows of relations can only give fewer rows of a node."""
        leaf = self.of.leaf(node)
        if isinstance(leaf, ScopedNode):
            return self._grows(leaf)
        return leaf is not None or (
            not isinstance(node.operator, (ops.Negate, ops.Antijoin, *_OF_GROUPS, *_OF_ALL))
            and all(map(self._grows, node.inputs))
        )


class _Differences:
    """Finds derivations that are lacking, where the rows of a node by the premises `alone` differ from its rows."""

    def __init__(self, copies: RowDerivations, alone: Evaluator, facts: set[Fact]) -> None:
        self.copies, self.whole, self.alone, self.facts = copies, copies.of, alone, facts

    def of(self, difference: _Difference) -> Iterator[Derivation]:
        """Yield the derivations without which a node has too many or too few of some rows."""
        node, bound, sign = difference
        whole, alone = (each.rows(node, bound) for each in (self.whole, self.alone))
        for row in dict.fromkeys((*whole, *alone)):
            if sign * (alone.get(row, 0) - whole.get(row, 0)) > 0:
                yield from self._of_row(node, row, sign)

    def _of_row(self, node: ScopedNode, row: Row, sign: int) -> Iterator[Derivation]:
        """Yield the row's derivations that the premises lack, or else those that differ below it."""
        ways = self.copies.of_row(node, row) if sign < 0 else iter(())
        lacking = [way for way in ways if not _facts(way) <= self.facts]
        yield from lacking
        for below in () if lacking else self._below(node, row, sign):
            yield from self.of(below)

    def _below(self, node: ScopedNode, row: Row, sign: int) -> Iterator[_Difference]:
        """Yield the inputs of a node whose rows can be the cause."""
        leaf, operator, values = self.whole.leaf(node), node.operator, node.named(row)
        if isinstance(leaf, ScopedNode):
            yield leaf, values, sign
        elif leaf is not None:
            return
        elif isinstance(operator, _OF_GROUPS):
            keys = self.whole.grouped(node, values)
            yield node.below, keys, 1
            yield node if isinstance(operator, ops.Top) and sign > 0 else node.below, keys, -1
        elif isinstance(operator, _OF_ALL):
            yield from ((below, {}, each) for below in node.inputs for each in (1, -1))
        elif isinstance(operator, ops.Map):
            yield from ((node.below, origin, sign) for origin in self._origins(node, row))
        else:
            is_negated = [isinstance(operator, ops.Negate), isinstance(operator, ops.Antijoin)]
            for below, negates in zip(node.inputs, [*is_negated, *(False for _ in node.inputs)], strict=False):
                yield below, below.own(values), -sign if negates else sign

    def _origins(self, node: ScopedNode, row: Row) -> Iterator[Bound]:
        """Yield the rows of a map's input from which it computes a row."""
        passed, compute = self.whole.passed(node, node.named(row)), self.whole.mapping(*node.place)
        rows = () if passed is None else (each.rows(node.below, passed) for each in (self.whole, self.alone))
        for origin in dict.fromkeys(origin for each in rows for origin in each):
            result = compute(origin)
            if result is not None and all(map(same, result, row)):
                yield node.below.named(origin)


_OF_GROUPS = (ops.Aggregate, ops.Top, ops.Over)
_OF_ALL = (ops.Apply, ops.Maintain)
"""Operators whose results depend on groups of rows, and on all rows."""


def _facts(way: Derivation) -> set[Fact]:
    return {premise for premise in way.premises if isinstance(premise, Fact)}
