"""States in an object store: what fails there, who is killed there, and who writes there when another one does.

Catches a record that is acknowledged before it is there or comes to be there when it was refused, two writers that go
on from each other's half, and files that a writer removes under the one that came after it.
"""

from __future__ import annotations

import contextlib
import random
import threading

import pytest

from deltic.engine.files import lease
from deltic.engine.files.remote import RemoteFiles
from deltic.errors import StateError
from deltic.pipeline.durability import state
from deltic.pipeline.options import Durability, Resources
from deltic.pipeline.session import Pipeline
from tests.objects import Objects
from tests.pipeline.durability.crashing import CHECKPOINTS, Killed, act, after, check
from tests.pipeline.durability.faulty_store import HOW, FaultyStore
from tests.pipeline.durability.test_state import SQL, everything, sell

STEPS = 12
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Place:
    """Where pipelines of these tests have their state; they may have different ways to the same objects."""

    def __init__(self, monkeypatch):
        self.objects = Objects()
        self.store = self.objects
        monkeypatch.setattr(state, "files_at", lambda place: RemoteFiles(self.store, "bucket/state"))

    def open(self, store=None, **more):
        self.store = self.objects if store is None else store
        more.setdefault("durability", CHECKPOINTS)
        return Pipeline(state="s3://bucket/state", resources=Resources(threads=1), **more)

    @staticmethod
    def forget_holders():
        """As if this process were another one: what it held nobody holds."""
        lease._HELD.clear()


@pytest.fixture
def place(monkeypatch):
    monkeypatch.setattr(lease, "BEAT", 3600.0)
    yield Place(monkeypatch)
    Place.forget_holders()


@pytest.fixture
def quickly(monkeypatch):
    monkeypatch.setattr(lease, "BEAT", 0.05)
    monkeypatch.setattr(lease, "EXPIRY", 1.0)


def test_a_state_in_an_object_store(place):
    with place.open() as pipeline:
        pipeline.sql(SQL)
        for n in range(5):
            sell(pipeline, (f"shop {n}", n))
        pipeline.checkpoint()
        sell(pipeline, ("last", 7))
        before, crashed = everything(pipeline), dict(place.objects)
        with pytest.raises(StateError, match="has it open for writing since"):
            place.open()
        assert everything(place.open(durability=Durability(readonly=True))) == before
    place.objects.clear()
    place.objects |= crashed
    with place.open() as pipeline:
        assert everything(pipeline) == before
        sell(pipeline, ("more", 8))


def test_what_is_missing_for_an_address_is_told():
    with pytest.raises(StateError, match=r"other places than directories need the package fsspec|Protocol not known"):
        Pipeline(state="nowhere://bucket/state")


# Faults


def run_until_killed(place, store):
    """The last step that was acknowledged before the process ended."""
    acknowledged = 0
    with contextlib.suppress(Killed):
        pipeline = place.open(store)
        for step in range(1, STEPS + 1):
            act(pipeline, step)
            acknowledged = step
            after(pipeline, step)
        pipeline.close()
    for thread in threading.enumerate():
        if thread.name == "deltic checkpoint":
            thread.join()
    place.forget_holders()
    return acknowledged


def calls_of_a_run(place):
    store = FaultyStore(place.objects)
    assert run_until_killed(place, store) == STEPS
    place.objects.clear()
    return store.calls


def killed_at(place, at, how):
    place.objects.clear()
    acknowledged = run_until_killed(place, FaultyStore(place.objects, at, how))
    with place.open() as pipeline:
        step = check(pipeline, acknowledged)
        act(pipeline, step + 1)
    with place.open() as pipeline:
        check(pipeline, step + 1)


def fails_at(place, at, how):
    """A call fails, the process goes on: what was refused is not there, what was not is."""
    place.objects.clear()
    store, refused, done = FaultyStore(place.objects, at, how), 0, 0
    try:
        pipeline = place.open(store)
    except StateError:
        pipeline = place.open(store)
    while done < STEPS:
        try:
            act(pipeline, done + 1)
            done += 1
            after(pipeline, done)
        except StateError:
            refused += 1
            assert refused < 3
            assert check(pipeline, done) == done
    with contextlib.suppress(StateError):
        pipeline.close()
    with place.open() as again:
        assert check(again, done) == done


@pytest.mark.parametrize("how", HOW)
def test_calls_that_fail(place, how):
    calls = calls_of_a_run(place)
    assert calls > 60
    for at in random.Random(how).sample(range(1, calls + 1), 8):
        (killed_at if how.startswith("killed") else fails_at)(place, at, how)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_all_calls_that_fail(place, how):
    for at in range(1, calls_of_a_run(place) + 1):
        (killed_at if how.startswith("killed") else fails_at)(place, at, how)


def test_a_record_that_may_come_late_never_does(place):
    store = FaultyStore(place.objects)
    pipeline = place.open(store, durability=Durability())
    pipeline.sql(SQL)
    store.at, store.how = store.calls + 1, "later"
    with pytest.raises(StateError, match="the log cannot be written"):
        sell(pipeline, ("refused", 1))
    sell(pipeline, ("kept", 2))
    expected = everything(pipeline)
    pipeline.close()
    assert everything(place.open()) == expected


def test_a_log_whose_end_is_unknown_is_closed(place):
    store = FaultyStore(place.objects)
    pipeline = place.open(store, durability=Durability())
    pipeline.sql(SQL)
    store.put = lambda *args, **more: (_ for _ in ()).throw(OSError(5, "503 Slow Down"))
    with pytest.raises(StateError, match="whether log/0000000000"):
        sell(pipeline, ("unknown", 1))
    del store.put
    with pytest.raises(StateError, match="open the state again"):
        sell(pipeline, ("later", 2))


# Two writers


def test_a_writer_that_was_taken_for_dead_changes_nothing(place, quickly):
    first = place.open()
    first.sql(SQL)
    sell(first, ("before", 1))
    place.forget_holders()
    second = place.open()
    with pytest.raises(StateError, match=r"took it over from this process|another process has written log/"):
        sell(first, ("lost", 2))
    sell(second, ("kept", 3))
    with pytest.raises(StateError, match=r"[Oo]pen the state again"):
        first.close()
    expected = everything(second)
    second.close()
    assert everything(place.open()) == expected
    assert ("before", 1) in expected["sale"]
    assert ("lost", 2) not in expected["sale"]


def sell_and_checkpoint(pipeline):
    sell(pipeline, ("by the first", 4))
    pipeline.checkpoint()
    sell(pipeline, ("by the first", 5))


@pytest.mark.parametrize("number", range(1, 4))
def test_a_writer_that_stops_before_a_put_and_goes_on_after_it_was_taken_over(place, number):
    """It wakes with the put of a record, a manifest, or files to remove in its hands."""
    first = place.open(durability=Durability(keep=1))
    first.sql(SQL)
    sell(first, ("before", 1))
    first.checkpoint()
    sell(first, ("before", 2))
    seconds, store = [], first._keeping.state.files.store
    told = {1: "log/", 2: "manifests/", 3: "runs/"}[number]

    class Sleeping(FaultyStore):
        def _call(self, name, *args, **more):
            path = args[0] if name == "put" else args[0][0] if name == "delete" and args[0] else ""
            if not seconds and f"/{told}" in path and name == ("delete" if number == 3 else "put"):
                place.forget_holders()
                seconds.append(place.open())
                sell(seconds[0], ("by the second", 3))
                seconds[0].checkpoint()
            return super()._call(name, *args, **more)

    first._keeping.state.files.store = Sleeping(store)
    with pytest.raises(StateError):
        sell_and_checkpoint(first)
    (second,) = seconds
    sell(second, ("by the second", 6))
    second.checkpoint()
    expected = everything(second)
    second.close()
    again = place.open()
    assert everything(again) == expected
    assert ("by the second", 6) in expected["sale"]
    assert ("by the first", 5) not in expected["sale"]


def test_a_lease_is_renewed_and_refuses_others(place, quickly):
    with place.open() as pipeline:
        pipeline.sql(SQL)
        before = place.objects["bucket/state/lock"]
        place.forget_holders()
        objects = place.objects
        monkey = objects["bucket/state/lock"].replace(b'"pid": ', b'"pid": 99')
        assert monkey != before
        with pytest.raises(StateError, match="one process writes at a time"):
            lease._watch(objects, "bucket/state/lock", "there", objects.head("bucket/state/lock")[1])


def test_a_lease_that_is_not_renewed_is_taken_over(place, quickly):
    with place.open() as pipeline:
        pipeline.sql(SQL)
        sell(pipeline, ("a", 1))
        crashed = dict(place.objects)
    crashed["bucket/state/lock"] = b'{"pid": 1, "host": "another machine", "since": "yesterday", "id": "gone"}'
    place.objects.clear()
    place.objects |= crashed
    with place.open() as again:
        assert everything(again)["sale"] == [("a", 1)]
        sell(again, ("b", 2))


def test_a_store_that_ignores_conditions_is_refused(place):
    class Careless(Objects):
        def put(self, path, data, expected=None):
            return super().put(path, data)

    place.objects = Careless()
    with pytest.raises(StateError, match="ignores the conditions"):
        place.open()
