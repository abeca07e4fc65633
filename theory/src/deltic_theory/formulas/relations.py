"""Relations: sets of named tuples over a schema, and models that give relation variables values [FIX §4.1]."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

from deltic_theory.boolean import BooleanAction, Change
from deltic_theory.formulas.syntax import Version
from deltic_theory.lattices import FiniteSets, Powerset

Row = tuple[Any, ...]
"""A named tuple: its values in the order of the schema's names, which go along with every set of rows."""

Rows = frozenset[Row]

ROW_CHANGES: BooleanAction[Rows] = BooleanAction(FiniteSets())
"""The change action of relations: rows to add and rows to remove."""

NO_ROWS: Rows = frozenset()


def select(rows: Iterable[Row], columns: Sequence[str], onto: Sequence[str]) -> Rows:
    """Return the selection function σ: rows over `columns` restricted to the names in `onto` [FIX Def. 24].

    >>> sorted(select({(1, 2), (1, 3)}, ("x", "y"), ("x",)))
    [(1,)]
    """
    places = [columns.index(name) for name in onto]
    return frozenset(tuple(row[place] for place in places) for row in rows)


def universal(columns: Sequence[str], universe: Iterable[Hashable]) -> Rows:
    """Return the universal relation U_Γ over a finite universe of values [FIX Def. 25].

    >>> len(universal(("x", "y"), range(3)))
    9
    """
    return _tuples(len(columns), tuple(universe))


@lru_cache(maxsize=64)
def _tuples(width: int, universe: tuple[Hashable, ...]) -> Rows:
    return frozenset(product(universe, repeat=width))


def relation_algebra(columns: Sequence[str], universe: Iterable[Hashable]) -> Powerset[Row]:
    """Rel_Γ: the complete Boolean algebra of all relations over a schema [FIX Def. 25]."""
    return Powerset(universal(columns, universe))


@dataclass(frozen=True)
class Model:
    """Values for relation variables, changes for some of them, and the universe where there is one.

    >>> model = Model({"e": {(1, 2)}}, {"e": Change(frozenset({(2, 3)}), frozenset({(1, 2)}))})
    >>> model.rows("e", Version.NEXT)
    frozenset({(2, 3)})
    """

    relations: Mapping[str, Iterable[Row]]
    changes: Mapping[str, Change[Rows]] = field(default_factory=dict)
    universe: tuple[Hashable, ...] | None = None

    def rows(self, relation: str, version: Version = Version.OLD) -> Rows:
        """Return the rows of a relation in one of its versions; KeyError when there is no such relation."""
        old = frozenset(self.relations[relation])
        if version is Version.OLD:
            return old
        change = self.changes.get(relation, ROW_CHANGES.empty)
        if version is Version.NEXT:
            return ROW_CHANGES.plus(old, change)
        return change.up if version is Version.UP else change.down

    def changed(self) -> Model:
        """Return the model after its changes: every relation in its next version."""
        return Model({name: self.rows(name, Version.NEXT) for name in self.relations}, {}, self.universe)
