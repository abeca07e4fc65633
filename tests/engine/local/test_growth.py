"""How often an epoch is run again because a recursion counts. This catches domains that grow one by one."""

from __future__ import annotations

import pytest

from deltic.circuit.types import Type
from deltic.engine.local.growth import Growth
from deltic.engine.local.storage.layout import Domain, DomainOverflow


def tries(domains: list[Domain], values: list[int]) -> int:
    """How often room has to be made for values, each of which comes in all domains, one after the other."""
    growth, count = Growth(), 0
    for value in values:
        for domain in domains:
            if not domain.fits(value, value):
                growth.make_room(DomainOverflow(domain, value, value))
                count += 1
            assert domain.fits(value, value)
    return count


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("nullable", [False, True])
def test_a_recursion_asks_for_room_a_few_times(sign: int, nullable: bool) -> None:
    domains = [Domain(Type.INT64, nullable=nullable) for _ in range(3)]
    assert tries(domains, [sign * (3 << bits) for bits in range(61)]) <= 3 + 5


def test_what_grew_before_does_not_grow_again() -> None:
    before, counting = Domain(Type.INT64), Domain(Type.INT64)
    growth = Growth()
    growth.make_room(DomainOverflow(before, 0, 100))
    for value in (1, 3, 100):
        growth.make_room(DomainOverflow(counting, value, value))
    assert before.range() == (0, 127)
    assert counting.fits(10_000, 10_000)
