"""Threads: the same results and visits for any number of them, errors that reach the caller, and none left behind."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.parallel import processor_time, run_all, stream, threads, using
from deltic.engine.reference import from_arrow
from deltic.engine.refresh import Policy, Refresh
from deltic.engine.resources import ResourceLimits
from deltic.engine.storage import run
from deltic.engine.storage import state as relation
from tests.conformance.engines import Driver
from tests.differential.test_datalog import check_seeds
from tests.engine.storage.test_run import entries_of, make_run, random_entries

PROGRAM = """
.decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), p(y, z).
"""


# Every change is searched by groups, in pieces of a few rows, and every chunk consolidated.
SMALL = Thresholds(grouped=0, piece=3, large=0)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every merge and every order is made by several threads."""
    monkeypatch.setattr(run, "_SHARED", 0)
    monkeypatch.setattr(relation, "_MANY", 0)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_results_in_their_order(count: int) -> None:
    with using(count):
        assert run_all([lambda n=n: n * n for n in range(20)]) == [n * n for n in range(20)]
        assert sorted(stream(range(10), lambda n: iter(range(n)))) == sorted(m for n in range(10) for m in range(n))


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_of_a_thread_is_raised_and_ends_the_others(count: int) -> None:
    before = threading.active_count()

    def work(n: int) -> Iterator[int]:
        yield n
        if n == 2:
            raise KeyError("two")
        while n > 2:
            yield n

    with using(count), pytest.raises(KeyError, match="two"):
        list(stream(range(3), work))
    assert threading.active_count() == before


def test_a_reader_that_stops_leaves_no_thread() -> None:
    before = threading.active_count()

    def endless(n: int) -> Iterator[int]:
        while True:
            time.sleep(0.001)
            yield n

    with using(2):
        found = stream([1, 2], endless)
        assert next(found) in (1, 2)
        found.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_processor_time_is_that_of_a_thread_and_its_helpers() -> None:
    """Neither waiting counts, nor what other threads do."""

    def burn() -> None:
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass

    with using(2):
        before = processor_time()
        run_all([burn] * 4)
        assert 0.2 <= processor_time() - before < 0.3
        other = threading.Thread(target=lambda: [burn() for _ in range(4)])
        before = processor_time()
        other.start()
        time.sleep(0.1)
        other.join()
        assert processor_time() - before < 0.1


def test_threads_know_what_was_chosen() -> None:
    with using(3):
        assert run_all([threads] * 5) == [3] * 5
    assert threads() >= 1


@pytest.mark.usefixtures("small_pieces")
def test_results_and_visits_do_not_depend_on_threads() -> None:
    edges = [(n, (n * 7 + 1) % 40) for n in range(40)]
    seen = []
    for count in (1, 2, 4):
        circuit = lower(check([parse(PROGRAM)]))
        used = ResourceLimits(threads=count)
        engine = IncrementalEngine(circuit, refresh=Refresh(Policy.INCREMENTAL), thresholds=SMALL, resources=used)
        driver = Driver(engine, circuit)
        first = driver.insert(e=edges)
        second = driver.apply({"e": [(edge, -1) for edge in edges[:3]]})
        seen.append([(dict(from_arrow(r.changes["p"])), r.rows_visited) for r in (first, second)])
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0][0]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("batch", [*range(1), *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 3))])
def test_random_programs(batch: int) -> None:
    make = partial(IncrementalEngine, thresholds=SMALL, resources=ResourceLimits(threads=2))
    check_seeds(range(8_000 + batch * 20, 8_020 + batch * 20), make)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("timed", [False, True])
def test_merges_in_parts_add_weights(width: int, timed: bool) -> None:
    rng = random.Random(width * 2 + timed)
    for _ in range(60):
        a, b = (random_entries(rng, width, timed) for _ in range(2))
        with using(3):
            merged = run.merge_runs(make_run(a, width, timed), make_run(b, width, timed))
        total = Counter(a)
        total.update(b)
        assert entries_of(merged) == sorted((k, w) for k, w in total.items() if w)
