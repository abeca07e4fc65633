"""An epoch that fails in the middle leaves no trace: every table and view as before, and the next epoch right.

Failures are injected into the places that an epoch passes through, at a random one of the calls.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pytest

from deltic.circuit.graph import Circuit
from deltic.circuit.tables import WEIGHT
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.inline import boundary
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.operators import aggregate
from deltic.engine.operators import query as evaluate
from deltic.engine.recursion import refresh, settle
from deltic.engine.reference import ReferenceEngine, from_arrow
from deltic.engine.storage import arrangement as store
from deltic.engine.storage import state as relation
from deltic.errors import ChangeError
from tests.conformance.engines import Driver
from tests.conformance.programs import FOLLOWS, TYPES
from tests.differential.cases import Case
from tests.differential.compare import batches_of, changes_between

PLACES = {
    "a search": (evaluate, "search"),
    "settling an iteration": (settle, "settle"),
    "adding a change to a relation": (relation.State, "append"),
    "adding a change of counts": (relation.State, "count"),
    "merging runs": (store, "add_runs"),
    "the totals of groups": (aggregate, "add_runs"),
    "a fixpoint": (refresh, "update"),
    "the changes of tables": (boundary, "table_change"),
    "the changes of views": (boundary, "view_change"),
}


class Injected(BaseException):
    """A failure that is no Exception, as a keyboard interrupt is none."""


class Failing:
    """The function, but for one call: that one raises, after it did its work."""

    def __init__(self, function: Callable, after: int) -> None:
        self.function, self.left = function, after

    def __call__(self, *args, **kwargs):
        result = self.function(*args, **kwargs)
        self.left -= 1
        if self.left == 0:
            raise Injected
        return result

    def __get__(self, instance, owner=None):
        return lambda *args, **kwargs: self(instance, *args, **kwargs)


@cache
def expected(seed: int) -> tuple[Case, Circuit, list[dict]]:
    """A case with its circuit, and all that is there after each epoch."""
    case = Case.random(seed)
    circuit = case.circuit()
    reference = Driver(ReferenceEngine(circuit), circuit)
    contents: dict = {}
    found = []
    for following in case.run:
        reference.engine.apply(batches_of(circuit, changes_between(contents, following)))
        found.append(reference.everything())
        contents = following
    return case, circuit, found


@pytest.mark.usefixtures("programs_made_once")
@pytest.mark.parametrize("place", PLACES)
def test_a_failure_leaves_no_trace(place, monkeypatch):
    owner, name = PLACES[place]
    original = getattr(owner, name)
    failures = 0
    for seed in range(30):
        rng = random.Random(seed)
        case, circuit, wanted = expected(seed)
        iterations = DEFAULTS if seed % 2 else Thresholds(most_waiting=-1)  # compiled ones, or vectorised ones alone
        driver = Driver(IncrementalEngine(circuit, thresholds=iterations), circuit)
        contents: dict = {}
        for following, after in zip(case.run, wanted, strict=True):
            batches = batches_of(circuit, changes_between(contents, following))
            before = driver.everything()
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, Failing(original, rng.randint(1, 4)))
                failed = apply_or_fail(driver, batches)
            if failed:
                failures += 1
                assert driver.everything() == before, f"seed {seed}\n{case.program}"
                driver.engine.apply(batches)
            assert driver.everything() == after, f"seed {seed}\n{case.program}"
            contents = following
    assert failures > 3, "the place is not on the way of an epoch any more"


def apply_or_fail(driver: Driver, batches: dict[str, pa.Table]) -> bool:
    """Whether the epoch failed."""
    try:
        driver.engine.apply(batches)
    except Injected:
        return True
    return False


WIDE = [((-(2**40), 2**50, -1e9, "new text"), 1)]


def broken_batches(driver: Driver) -> dict[str, pa.Table]:
    """A batch with values that need a wider packing, and what is wrong with each."""
    good = driver.batch("t", WIDE)
    return {
        "no weights": good.drop_columns([WEIGHT]),
        "no such column": good.rename_columns(["n", "u", "f", "z", WEIGHT]),
        "another type": good.set_column(3, "s", pa.array([[1]])),
    }


@pytest.mark.parametrize("wrong", ["no weights", "no such column", "another type"])
def test_a_batch_that_is_no_batch_leaves_no_trace(wrong):
    """The columns before the wrong one have made room for their values; the rows must read as before."""
    driver = Driver.of_program("local", TYPES)
    driver.insert(t=[(1, 2, 0.5, "a"), (3, 4, 1.5, "b")])
    before = driver.everything()
    with pytest.raises(ChangeError):
        driver.engine.apply({"t": broken_batches(driver)[wrong]})
    assert driver.everything() == before
    assert driver.lookup("copy", n=1) == {("a", 0.5, 2, 1)}
    assert driver.changes({"t": WIDE})["copy"] == {("new text", -1e9, 2**50, -(2**40)): 1}


@pytest.mark.parametrize("wrong", ["no weights", "no such column", "another type"])
def test_a_broken_batch_after_a_good_one_leaves_no_trace(wrong):
    driver = Driver.of_program("local", TYPES + ".decl first(n: number)\n.input first\n")
    driver.insert(t=[(1, 2, 0.5, "a")], first=[(1,), (2,)])
    before = driver.everything()
    with pytest.raises(ChangeError):
        driver.engine.apply({"first": driver.batch("first", [((-(2**60),), 1)]), "t": broken_batches(driver)[wrong]})
    assert driver.everything() == before


def test_a_batch_for_an_unknown_table_leaves_no_trace():
    driver = Driver.of_program("local", FOLLOWS)
    driver.insert(follows=[("ada", "bob")])
    before = driver.everything()
    batch = driver.batch("follows", [(("bob", "cy"), 1)])
    with pytest.raises(KeyError):
        driver.engine.apply({"follows": batch, "nobody": batch})
    assert driver.everything() == before


def test_deltas_of_a_failed_epoch_are_forgotten(monkeypatch):
    """The next epoch must not take the failed one's changes for its own."""
    driver = Driver.of_program("local", FOLLOWS)
    driver.insert(follows=[("ada", "bob")])
    with monkeypatch.context() as patch:
        patch.setattr(boundary, "view_change", Failing(boundary.view_change, 1))
        assert apply_or_fail(driver, {"follows": driver.batch("follows", [(("bob", "cy"), 1)])})
    result = driver.apply({"blocked": [(("eve",), 1)]})
    assert {name: dict(from_arrow(t)) for name, t in result.changes.items()} == {}
    assert result.rows_in == 1


def test_an_interrupt_at_the_very_end_leaves_no_trace(monkeypatch):
    """It is raised when the engine has left its state alone: then the epoch is prepared, and nobody can commit it."""
    social = Driver.of_program("local", FOLLOWS)
    social.insert(follows=[("ada", "bob")])
    before = social.everything()
    original = social.engine.executor.store.end_epoch

    def interrupted() -> None:
        original()
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(social.engine.executor.store, "end_epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            social.insert(follows=[("bob", "cy")])
    assert social.everything() == before
    social.insert(follows=[("bob", "cy")])
    assert social.engine.count("reaches") == 3
