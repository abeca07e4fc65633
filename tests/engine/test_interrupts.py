"""Ctrl-C and threads: an epoch ends whole or leaves no trace, the process lives, and further epochs work.

An exception that a signal's handler raises while a kernel returns would end the process, and so would two threads in
one engine.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine import parallel
from deltic.engine.critical_section import CriticalSection
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.inline.boundary import Boundary
from deltic.engine.interrupts import postponed
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.operators import search
from deltic.engine.recursion.compiled_loop import CompiledLoop
from deltic.errors import BusyError, DelticError
from deltic.pipeline.session import Pipeline
from tests.conformance.engines import Driver
from tests.conformance.programs import CLOSURE
from tests.engine.test_bootstrap import state_of

BUSY = (
    "other threads were at work on the pipeline for 0.01 s; nothing was changed. Try again, or allow a longer `timeout`"
)
CHAIN = [(i, i + 1) for i in range(30)]
CHILD = """
import os, random, signal, sys, threading, deltic

pipeline = deltic.Pipeline(maintenance=deltic.Maintenance(refresh="incremental"))
pipeline.datalog(sys.argv[1])
chain, cut, seen = [(i, i + 1) for i in range(160)], [(80, 81)], 0
def epoch(action):
    with pipeline.transaction("normalize") as change:
        getattr(change, action)("e", cut)
def rows():
    return frozenset(map(tuple, pipeline["p"].to_pandas().itertuples(index=False)))
with pipeline.transaction() as change:
    change.insert("e", chain)
whole = rows()
epoch("delete")
parted = rows()
epoch("insert")
rng = random.Random(int(sys.argv[2]))
while seen < int(sys.argv[3]):
    timer = threading.Timer(rng.uniform(0, 0.1), os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        while True:
            epoch("delete")
            epoch("insert")
    except KeyboardInterrupt:
        seen += 1
    timer.join()
    assert rows() in (whole, parted)
    epoch("insert")
    assert rows() == whole
print("interrupted", seen)
"""


def test_interrupts_at_any_time_leave_a_whole_state():
    run = [sys.executable, "-c", CHILD, CLOSURE, "1", "40"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "interrupted 40\n"), done.stderr


@pytest.mark.parametrize("compiled", [True, False])
def test_an_interrupt_in_the_midst_of_an_epoch_leaves_the_state_before_it(compiled, monkeypatch):
    circuit = lower(check([parse(CLOSURE)]))
    thresholds = Thresholds(allowance=2, most_waiting=1 << 15 if compiled else -1)
    engine = IncrementalEngine(circuit, thresholds=thresholds)
    driver = Driver(engine, circuit)
    driver.insert(e=CHAIN)
    before = state_of(engine)
    calls = []
    original = CompiledLoop.run_rounds if compiled else Boundary.change_tables

    def interrupted(self, *args):
        if not calls:
            signal.raise_signal(signal.SIGINT)
        calls.append(1)
        return original(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(*(CompiledLoop, "run_rounds") if compiled else (Boundary, "change_tables"), interrupted)
        with pytest.raises(KeyboardInterrupt):
            driver.apply({"e": [((15, 16), -1)]})
    assert len(calls) == 1
    assert state_of(engine) == before
    driver.apply({"e": [((15, 16), -1)]})
    assert len(driver.rows("p")) == 15 * 16 // 2 + 14 * 15 // 2


def test_the_handler_is_called_at_a_safe_place_and_stays_what_it_was():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    try:
        own = signal.getsignal(signal.SIGINT)
        with CriticalSection():
            signal.raise_signal(signal.SIGINT)
            assert not calls
            postponed.check()
            assert len(calls) == 1
            signal.raise_signal(signal.SIGINT)
            assert len(calls) == 1
        assert len(calls) == 2
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_section_is_left_by_an_exception():
    section = CriticalSection()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt), section:
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


TRIANGLES = """
    .decl e(x: number, y: number)
    .input e
    .decl t(x: number, y: number, z: number)
    t(x, y, z) :- e(x, y), e(y, z), e(z, x).
"""


def test_a_long_search_is_interrupted(monkeypatch):
    """One search, in one piece, for triangles in a graph of four layers in a circle, which has none."""
    circuit = lower(check([parse(TRIANGLES)]))
    engine = IncrementalEngine(circuit, thresholds=Thresholds(piece=1 << 30, patience=1 << 14))
    engine.apply({"e": edges(2)})
    rang = []

    def ring():
        rang.append(time.process_time())
        signal.raise_signal(signal.SIGINT)

    def begin(*args):
        original(*args)
        if not timer.is_alive():
            timer.start()

    timer, original = threading.Timer(0.2, ring), search.begin
    monkeypatch.setattr(search, "begin", begin)
    with pytest.raises(KeyboardInterrupt):
        engine.apply({"e": edges(300)}, "normalize")
    assert time.process_time() - rang[0] < 2
    assert engine.count("e") == 16


def test_threads_end_with_the_epoch_that_was_interrupted(monkeypatch):
    monkeypatch.setenv("DELTIC_THREADS", "2")
    circuit = lower(check([parse(TRIANGLES)]))
    engine = IncrementalEngine(circuit, thresholds=Thresholds(piece=1 << 10, patience=1 << 10))
    monkeypatch.setattr(search, "stream", interrupted_stream)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt) as caught:
        engine.apply({"e": edges(40)})
    assert threading.active_count() == before
    assert caught.tb is not None


def interrupted_stream(items, work):
    """Threads, with an interrupt after their first result."""
    for result in parallel.stream(items, work):
        signal.raise_signal(signal.SIGINT)
        yield result


def edges(size):
    """All edges from each layer of so many nodes to the next, the nodes of the layers interleaved."""
    layer, a, b = (array.ravel() for array in np.indices((4, size, size)))
    return pa.table({"x": 4 * a + layer, "y": 4 * b + (layer + 1) % 4, WEIGHT: np.ones(layer.size, np.int64)})


def test_threads_that_share_a_pipeline_are_refused_or_served():
    pipeline = Pipeline()
    pipeline.datalog(CLOSURE)
    with pipeline.transaction() as change:
        change.insert("e", CHAIN)
    served, refused, others = [], [], []

    def hammer(number):
        for i in range(30):
            row = (1000 * number + 2 * i, 1000 * number + 2 * i + 1)
            try:
                with pipeline.transaction() as change:
                    change.insert("e", [row])
                served.append(row)
                pipeline["p"].to_arrow()
            except DelticError as error:
                refused.append(str(error))
            except BaseException as error:  # noqa: BLE001 - shown by the assertion
                others.append(error)

    threads = [threading.Thread(target=hammer, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not others
    expected = "in use by another thread", "a transaction is open"
    assert [text for text in refused if not any(words in text for words in expected)] == []
    assert set(map(tuple, pipeline["e"].to_pandas().itertuples(index=False))) == {*CHAIN, *served}
    assert len(pipeline["p"].to_arrow()) == 30 * 31 // 2 + len(served)


def test_a_second_thread_waits_as_long_as_it_is_told():
    section, found = CriticalSection(), []

    def enter(timeout):
        try:
            section.enter(timeout)
            found.append("entered")
            section.leave()
        except BusyError as error:
            found.append(str(error))

    with section:
        impatient = threading.Thread(target=enter, args=(0.01,))
        impatient.start()
        impatient.join()
        patient = threading.Thread(target=enter, args=(None,))
        patient.start()
        assert found == [BUSY]
    patient.join()
    assert found == [BUSY, "entered"]


def test_an_interrupt_ends_the_wait_of_the_main_thread():
    section, inside, done = CriticalSection(), threading.Event(), threading.Event()

    def stay():
        with section:
            inside.set()
            done.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,)).start()
        with pytest.raises(KeyboardInterrupt):
            section.enter()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        done.set()
        thread.join()
    with section:
        assert section.is_mine


def test_a_search_for_a_pattern_that_has_no_end_is_interrupted():
    """By Python's `re`, which holds on to the interpreter: a handler runs during it, or minutes later."""
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (s STRING, p STRING); CREATE VIEW v AS SELECT s RLIKE p AS x FROM t")
    pipeline.sql("INSERT INTO t VALUES ('b', 'b')")

    def ended(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ended)
    begin = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(TimeoutError):
            pipeline.sql(f"INSERT INTO t VALUES ('{'a' * 30}b', '(a+)+$')")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - begin < 3
    assert [tuple(row) for row in pipeline["v"]] == [(True,)]
