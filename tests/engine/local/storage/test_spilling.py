"""State in mapped files: the same results, and an epoch that fails for want of space leaves no trace."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.local.engine import LocalEngine
from deltic.engine.local.recursion.refresh import Policy, Refresh
from deltic.engine.local.storage import run as run_module
from deltic.engine.local.storage import spilling as space
from tests.conformance.programs import CLOSURE
from tests.differential.compare import batches_of, changes_between
from tests.differential.test_datalog import check_seeds
from tests.engine.test_bootstrap import state_of


@pytest.fixture
def in_files(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTIC_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(space, "_LARGE", 64)
    monkeypatch.setattr(run_module, "_MANY", 16)  # small runs are merged in compiled code, in memory
    return tmp_path


def is_mapped(array: np.ndarray) -> bool:
    """Whether an array's memory is a mapped file."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return isinstance(getattr(array.base, "obj", array.base), mmap.mmap)


def test_arrays_are_mapped_where_the_variable_is_set(in_files, monkeypatch):
    assert is_mapped(space.empty((2, 100), np.dtype(np.uint64)))
    assert not is_mapped(space.empty((3,), np.dtype(np.uint64)))
    assert not os.listdir(in_files), "the files have no names"
    monkeypatch.delenv("DELTIC_STATE_DIR")
    assert not is_mapped(space.empty((2, 100), np.dtype(np.uint64)))


def test_the_state_is_the_same(in_files, monkeypatch):
    circuit = lower(check([parse(CLOSURE)]))
    edges = frozenset((i, i + 1) for i in range(80))
    states = []
    for directory in (str(in_files), ""):
        monkeypatch.setenv("DELTIC_STATE_DIR", directory)
        engine = LocalEngine(circuit, refresh=Refresh(Policy.INCREMENTAL))
        for old, new in ((set(), edges), (edges, edges - {(40, 41)}), (edges - {(40, 41)}, edges)):
            engine.apply(batches_of(circuit, changes_between({"e": frozenset(old)}, {"e": frozenset(new)})))
        runs = [run for state in engine.states.values() for a in state.arrangements() for run in a.runs]
        assert any(is_mapped(run.words) for run in runs) == bool(directory)
        states.append(state_of(engine))
    assert states[0] == states[1]


def test_random_programs(in_files):
    check_seeds(range(5_000, 5_030))


def test_a_full_disk_leaves_no_trace(in_files, monkeypatch):
    circuit = lower(check([parse(CLOSURE)]))
    engine = LocalEngine(circuit)
    edges = frozenset((i, i + 1) for i in range(50))
    engine.apply(batches_of(circuit, changes_between({}, {"e": edges})))
    before = state_of(engine)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    change = batches_of(circuit, changes_between({"e": edges}, {"e": edges | {(i, i + 500) for i in range(50)}}))
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match="No space"):
            engine.apply(change)
    assert state_of(engine) == before
    engine.apply(change)
    assert engine.count("e") == 100
