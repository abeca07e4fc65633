"""The changes of an epoch's result: made when asked for, of the state as it was, and freed with the result.

Catches a change that follows the state (rows of a later epoch, a layout that was packed anew in between) and one
that outlives its result.
"""

from __future__ import annotations

import gc
import weakref

import pytest

from deltic.engine.reference import from_arrow
from tests.conformance.engines import Driver

PROGRAM = """
.decl a(x: number, s: symbol)
.input a
.decl b(x: number, s: symbol)
b(x, s) :- a(x, s).
.decl r(x: number, s: symbol)
r(x, s) :- a(x, s).
r(x, s) :- r(x, s), a(x, s).
"""


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("view", ["b", "r"])
def test_a_change_is_of_its_epoch_whenever_it_is_read(engine: str, view: str) -> None:
    driver = Driver.of_program(engine, PROGRAM)
    first = driver.insert(a=[(1, "one"), (2, "two")])
    second = driver.apply({"a": [((1, "one"), -1), ((-(1 << 62), "little"), 1), ((1 << 60, "much"), 1)]})
    driver.apply({"a": [((2, "two"), -1)]})
    assert dict(from_arrow(first.changes[view])) == {(1, "one"): 1, (2, "two"): 1}
    expected = {(1, "one"): -1, (-(1 << 62), "little"): 1, (1 << 60, "much"): 1}
    assert dict(from_arrow(second.changes[view])) == expected
    assert first.changes.counts()[view] == (2, 0)
    assert second.changes.counts()[view] == (2, 1)


def test_a_change_is_freed_with_its_result() -> None:
    driver = Driver.of_program("local", PROGRAM)
    driver.insert(a=[(1, "one")])
    result = driver.apply({"a": [((1, "one"), -1)]})
    kept = weakref.ref(result.changes)
    del result
    gc.collect()
    assert kept() is None
