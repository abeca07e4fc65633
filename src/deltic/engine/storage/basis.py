"""What is made from layouts and domains, such as a query's tables, and for how long it may be used."""

from __future__ import annotations

from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.layout import Domain, Layout
from deltic.engine.storage.state import State


class Basis:
    """The layouts and domains from which something is made: as long as it `holds`, these are what they were.

    Whoever makes it asks here for them, so that none is used that is not known; whoever uses it asks first whether the
    basis holds. So no reader has to learn that something was repacked.
    """

    def __init__(self) -> None:
        self._layouts: list[tuple[Arrangement, Layout]] = []
        self._columns: list[tuple[State, tuple[Domain, ...]]] = []
        self._domains: dict[Domain, tuple[int, int]] = {}

    def layout(self, arrangement: Arrangement) -> Layout:
        """The present layout of an arrangement."""
        self._layouts.append((arrangement, arrangement.layout))
        return arrangement.layout

    def columns(self, state: State) -> tuple[Domain, ...]:
        """The present domains of a relation's columns."""
        self._columns.append((state, state.domains))
        return tuple(self.domain(domain) for domain in state.domains)

    def domain(self, domain: Domain) -> Domain:
        """A domain, as it is at present."""
        self._domains[domain] = domain.growth, domain.numbering
        return domain

    def relation(self, state: State) -> None:
        """All of a relation: the domains of its columns, and the layouts of all of its arrangements."""
        self.columns(state)
        for arrangement in state.arrangements():
            self.layout(arrangement)

    @property
    def holds(self) -> bool:
        """Whether all of them are as they were."""
        for arrangement, layout in self._layouts:
            if arrangement.layout is not layout:
                return False
        for state, domains in self._columns:
            if state.domains is not domains:
                return False
        for domain, (growth, numbering) in self._domains.items():
            if domain.growth != growth or domain.numbering != numbering:
                return False
        return True
