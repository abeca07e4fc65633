"""Matches of one side of a join with the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from deltic.circuit.expressions import column, columns_of, conjunction, infer
from deltic.sql.queries.nodes import Nodes
from deltic.sql.queries.trees import conjuncts
from deltic.values.types import Column


@dataclass(frozen=True)
class JoinSides:
    """Two nodes, which agree in the columns that they share, and a condition on the columns of both.

    Where the condition is a conjunction of equalities between the sides, and of conditions on the right one, a row has
    a match if the right side has its keys: that is an antijoin with the keys, and the pairs are kept nowhere.
    """

    nodes: Nodes
    left: int
    right: int
    predicate: exp.Expression | None

    def flipped(self) -> JoinSides:
        """Return the sides exchanged."""
        return replace(self, left=self.right, right=self.left)

    def pairs(self) -> int:
        """Return the join."""
        both = self.nodes.join(self.left, self.right)
        return both if self.predicate is None else self.nodes.filter(both, self.predicate)

    def with_match(self) -> int:
        """Return the rows of the left side that have a match."""
        node, keys = self._keyed
        return self.nodes.keep(self.nodes.semijoin(node, keys), self._names)

    def without_match(self) -> int:
        """Return the left rows without a match."""
        node, keys = self._keyed
        return self.nodes.keep(self.nodes.antijoin(node, keys), self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.nodes.schema(self.left).names

    @cached_property
    def _keyed(self) -> tuple[int, int]:
        """The left side with its keys as columns, and the matching keys."""
        parts = [] if self.predicate is None else conjuncts(self.predicate)
        right_names = set(self.nodes.schema(self.right).names) - set(self._names)
        of_right = [p for p in parts if set(columns_of(p)) <= right_names and columns_of(p)]
        equalities = [pair for p in parts if (pair := self._sides(p, right_names)) is not None]
        if len(of_right) + len(equalities) < len(parts):
            return self.left, self.nodes.keep(self.pairs(), self._names)
        right = self.nodes.filter(self.right, conjunction(of_right)) if of_right else self.right
        shared = [name for name in self.nodes.schema(self.right).names if name in self._names]
        left = self.left
        keys: list[exp.Expression] = [column(name) for name in shared]
        columns = [self.nodes.column(right, name) for name in shared]
        guarded = []
        for mine, theirs, is_null_safe in equalities:
            left, name = self._key(left, mine)
            type_ = infer(theirs, self.nodes.schema(right).value_types)
            columns.append(Column(name, type_.type, type_.nullable))
            keys.append(theirs)
            guarded += [] if is_null_safe else [name]
        names: dict[str, exp.Expression] = {}
        for c, key in zip(columns, keys, strict=True):
            if c.name in names:  # one column of the left side that has to equal two of the right
                return self.left, self.nodes.keep(self.pairs(), self._names)
            names[c.name] = key
        result = self.nodes.compute(right, columns, keys)
        return left, self.nodes.drop_null(result, guarded)

    def _key(self, left: int, key: exp.Expression) -> tuple[int, str]:
        """Return the left side with a column of this value, and the column."""
        if isinstance(key, exp.Column):
            return left, key.name
        type_ = infer(key, self.nodes.schema(left).value_types)
        new = Column(self.nodes.fresh("key"), type_.type, type_.nullable)
        return self.nodes.extend(left, [new], [key]), new.name

    def _sides(self, part: exp.Expression, right: set[str]) -> tuple[exp.Expression, exp.Expression, bool] | None:
        """Return the sides of an equality, the left one first, and whether NULL equals NULL; None for other
        conditions.
        """
        if not isinstance(part, exp.EQ | exp.NullSafeEQ):
            return None
        for mine, theirs in ((part.this, part.expression), (part.expression, part.this)):
            of_mine, of_theirs = set(columns_of(mine)), set(columns_of(theirs))
            if of_mine and of_mine <= set(self._names) and of_theirs and of_theirs <= right:
                return mine, theirs, isinstance(part, exp.NullSafeEQ)
        return None
