"""What is run again because a domain has to grow.

This catches domains that grow one by one, epochs that begin again where a stratum would do, and what is packed as it
was before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.derived import DerivedStep
from deltic.engine.executors.inline.epoch_runner import EpochRunner
from deltic.engine.storage.columns import Domain, DomainOverflow
from deltic.engine.storage.domains import Growth
from deltic.engine.storage.state import State
from deltic.values.types import Type
from tests.conformance.engines import Driver


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


STEPS = 12
CHAIN = (
    ".decl a(x: number)\n.input a\n.decl v0(x: number)\n.output v0\nv0(x) :- a(x).\n"
    + "".join(f".decl v{i + 1}(x: number)\n.output v{i + 1}\nv{i + 1}(x * 3 + 1) :- v{i}(x).\n" for i in range(STEPS))
    + f".decl w(x: number, y: number)\n.output w\nw(x, y) :- v2(x), v{STEPS}(y), v3(x * 3 + 1), !v1(x + y).\n"
    ".decl n(c: number, s: symbol)\n.output n\n"
    f'n(c, cat("n", to_string(c))) :- c = sum x : {{ v{STEPS}(x), v1(_) }}.\n'
    ".decl p(n: number, x: number)\n.output p\np(0, x) :- v1(x).\np(n + 1, x * 3) :- p(n, x), n < 20.\n"
)


def after(x: int, steps: int) -> int:
    """What a number is in the relation of so many steps."""
    return x if not steps else after(3 * x + 1, steps - 1)


def powers(numbers: set[int]) -> set[tuple[int, int]]:
    """What the recursion has of these numbers."""
    return {(n, after(x, 1) * 3**n) for x in numbers for n in range(21)}


def test_a_value_without_a_place_lets_its_stratum_alone_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = lower(check([parse(CHAIN)]))
    engine, runs = IncrementalEngine(circuit), list[str]()
    epoch, stratum = EpochRunner.attempt, DerivedStep.run

    def run_epoch(*args: object) -> object:
        runs.append("")
        return epoch(*args)  # type: ignore[arg-type]

    def run_stratum(self: DerivedStep) -> None:
        runs.append(self.relations[0])
        stratum(self)

    monkeypatch.setattr(EpochRunner, "attempt", run_epoch)
    monkeypatch.setattr(DerivedStep, "run", run_stratum)
    driver = Driver(engine, circuit)
    numbers = set[int]()
    for added, gone in (({1, 2, 3}, set()), ({1000, -5}, {2}), ({70_000}, {1, 3, -5}), ({4}, {1000, 70_000})):
        runs.clear()
        driver.apply({"a": [*(((x,), 1) for x in added), *(((x,), -1) for x in gone)]})
        numbers = (numbers | added) - gone
        pairs = {(after(x, 2), after(y, STEPS)) for x in numbers for y in numbers}
        assert driver.rows("w") == {(x, y) for x, y in pairs if x + y not in {after(n, 1) for n in numbers}}
        total = sum(after(x, STEPS) for x in numbers)
        assert driver.rows("n") == {(total, f"n{total}")}
        assert driver.rows("p") == powers(numbers)
        assert runs.count("") == 1
        assert all(runs.count(f"v{i}") <= 2 for i in range(STEPS + 1))


def test_a_number_that_wanders_begins_a_stratum_again_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = lower(
        check([parse(".decl a(x: number)\n.input a\n.decl n(c: number)\n.output n\nn(c) :- c = sum x : a(x).")])
    )
    driver, grown = Driver(IncrementalEngine(circuit), circuit), list[str]()
    monkeypatch.setattr(Growth, "make_room", _noting(Growth.make_room, grown))
    total = 0
    for x in range(1, 200):
        driver.insert(a=[(-x,)])
        total -= x
        assert driver.rows("n") == {(total,)}
    assert len(grown) <= 8, grown
    assert grown


def _noting(make_room: Callable[..., None], grown: list[str]) -> Callable[..., None]:
    def noted(self: Growth, overflow: DomainOverflow, relations: Sequence[State] = ()) -> None:
        grown.append(str(overflow))
        make_room(self, overflow, relations)

    return noted
