"""Strategies of recursion: what is stored of the derivations of a recursive relation, beside its rows."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass


class Strategy(enum.Enum):
    """How a recursive component is maintained."""

    NESTED = "nested"
    """Counts of derivations at every iteration: the next iteration of a row is known [DBSP §7.2]."""
    ELASTIC = "elastic"
    """The count at the first iteration alone. Lost rows are searched again [ELA §3]."""
    FULL = "full"
    """No counts: every change causes a recomputation, by semi-naive evaluation [ELA Alg. 1]."""


@dataclass(frozen=True)
class Strategies:
    """The strategy of each recursive component: the one chosen for one of its relations, else `default`."""

    default: Strategy
    chosen: Mapping[str, Strategy]

    def of(self, relations: Collection[str]) -> Strategy:
        """Return the strategy of the component of these relations."""
        return next((self.chosen[name] for name in relations if name in self.chosen), self.default)
