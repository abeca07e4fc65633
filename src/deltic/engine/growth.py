"""The growth of domains in an epoch that is repeated for each domain without room."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.engine.storage.columns import Domain, DomainOverflow
from deltic.engine.storage.state import State

_ALL = 64
# Wider rows of smaller relations cost less than one more growth, after which all queries that read them are bound.
_FEW = 1 << 12


class Growth:
    """The domains that had to grow in one epoch, in this order.

    A domain that grows again probably belongs to a recursion that counts. It gets room for more values, and so do the
    domains that grew in between, because they belong to the same recursion, where one value leads to the next.
    """

    def __init__(self) -> None:
        self._grown: list[Domain] = []

    def make_room(self, overflow: DomainOverflow, relations: Sequence[State] = ()) -> None:
        """Make room for a value of relations that had none. If these have rows, but few, there is room for more
        values.
        """
        domain, together = overflow.domain, [overflow.domain]
        if domain in self._grown:
            time, (least, greatest) = self._grown.count(domain), domain.range()
            is_below, is_above = overflow.low < least, overflow.high > greatest
            domain.extend_amply(overflow.low, overflow.high, time)
            for other in self._since(domain) if is_below or is_above else ():
                low, high = other.range()
                other.extend_amply(low - is_below, high + is_above, time)
                together.append(other)
        elif relations and not domain.empty and all(0 < len(state.contents) < _FEW for state in relations):
            domain.extend_amply(overflow.low, overflow.high, 1)
        else:
            domain.extend(overflow.low, overflow.high)
        self._grown += together

    def _since(self, domain: Domain) -> list[Domain]:
        """Return the domains that grew after a domain's last growth, except labels and domains of full width."""
        last = len(self._grown) - self._grown[::-1].index(domain)
        return [other for other in dict.fromkeys(self._grown[last:]) if type(other) is Domain and other.bits < _ALL]
