"""The layouts and domains on which derived data depend, such as a query's tables."""

from __future__ import annotations

from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.columns import Domain
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.state import State


class Basis:
    """The layouts and domains from which something was made, which remains valid as long as the basis `holds`.

    The maker reads all layouts and domains through a basis, so that each is recorded. The user checks `holds` before
    each use. So no reader has to be notified when something is repacked.
    """

    def __init__(self) -> None:
        self._layouts: list[tuple[Arrangement, Layout]] = []
        self._columns: list[tuple[State, tuple[Domain, ...]]] = []
        self._domains: dict[Domain, int] = {}
        self._latest = 0

    def layout(self, arrangement: Arrangement) -> Layout:
        """Return the present layout of an arrangement, and record it."""
        self._layouts.append((arrangement, arrangement.layout))
        return arrangement.layout

    def columns(self, state: State) -> tuple[Domain, ...]:
        """Return the present domains of a relation's columns, and record them."""
        self._columns.append((state, state.domains))
        return tuple(self.domain(domain) for domain in state.domains)

    def domain(self, domain: Domain) -> Domain:
        """Return the domain, and record its present version."""
        self._domains[domain] = domain.growth
        return domain

    def relation(self, state: State) -> None:
        """Record the domains of a relation's columns, and the layouts of all its arrangements."""
        self.columns(state)
        for arrangement in state.arrangements():
            self.layout(arrangement)

    @property
    def holds(self) -> bool:
        """Return whether all that was recorded is unchanged."""
        for arrangement, layout in self._layouts:
            if arrangement.layout is not layout:
                return False
        for state, domains in self._columns:
            if state.domains is not domains:
                return False
        if self._latest != (latest := Domain.latest):
            if any(domain.growth != growth for domain, growth in self._domains.items()):
                return False
            self._latest = latest
        return True
