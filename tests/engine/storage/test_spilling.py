"""State in mapped files: the same results, and an epoch that fails for want of space leaves no trace."""

from __future__ import annotations

import gc
import mmap
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.refresh import Policy, Refresh
from deltic.engine.resources import ResourceLimits, _group_limits, available, bytes_of
from deltic.engine.storage import arrangement, spilling
from deltic.engine.storage import run as run_module
from deltic.engine.storage.spilling import Space
from deltic.errors import DelticError
from tests.conformance.programs import CLOSURE
from tests.differential.compare import batches_of, changes_between
from tests.differential.test_datalog import check_seeds
from tests.engine.test_bootstrap import state_of

WORDS = np.dtype(np.uint64)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every array is large, and everything is sorted in small pieces."""
    monkeypatch.setattr(spilling, "_LARGE", 64)
    monkeypatch.setattr(spilling, "_PIECE", 7)
    monkeypatch.setattr(run_module, "_MANY", 16)  # small runs are merged in compiled code, in memory


def is_mapped(array: np.ndarray) -> bool:
    """Whether an array's memory is a mapped file."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return isinstance(getattr(array.base, "obj", array.base), mmap.mmap)


@pytest.mark.usefixtures("small")
def test_arrays_are_mapped_once_the_limit_is_reached(tmp_path: Path) -> None:
    space = Space(tmp_path, 2_000)
    first = space.empty((2, 100), WORDS)
    second = space.empty((2, 100), WORDS)
    assert (is_mapped(first), is_mapped(second), space.held) == (False, True, 1_600)
    assert not is_mapped(space.empty((3,), WORDS)), "too small for a file"
    assert not os.listdir(tmp_path), "the files have no names"
    view = first[:, :3]
    del first
    gc.collect()
    assert space.held == 1_600, "a view keeps its array"
    del view
    gc.collect()
    assert space.held == 0
    assert not is_mapped(space.empty((2, 100), WORDS))


@pytest.mark.usefixtures("small")
def test_nothing_is_mapped_without_a_directory() -> None:
    assert not is_mapped(Space(None, 0).empty((2, 100), WORDS))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("memory", [0, 3_000])
def test_the_state_is_the_same(tmp_path: Path, memory: int) -> None:
    circuit = lower(check([parse(CLOSURE)]))
    edges = frozenset((i, i + 1) for i in range(80))
    states = []
    for resources in (ResourceLimits(spill=tmp_path, memory=memory), ResourceLimits()):
        engine = IncrementalEngine(circuit, refresh=Refresh(Policy.INCREMENTAL), resources=resources)
        for old, new in ((set(), edges), (edges, edges - {(40, 41)}), (edges - {(40, 41)}, edges)):
            engine.apply(batches_of(circuit, changes_between({"e": frozenset(old)}, {"e": frozenset(new)})))
        runs = [
            run for state in engine.executor.running.states.values() for a in state.arrangements() for run in a.runs
        ]
        assert any(is_mapped(run.words) for run in runs) == (resources.spill is not None)
        states.append(state_of(engine))
    assert states[0] == states[1]


@pytest.mark.usefixtures("small")
def test_random_programs(tmp_path: Path) -> None:
    check_seeds(range(5_000, 5_030), partial(IncrementalEngine, resources=ResourceLimits(spill=tmp_path)))


def test_relations_that_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrangement.parts, "__defaults__", (3,))
    check_seeds(range(5_030, 5_045), IncrementalEngine)


@pytest.mark.usefixtures("small")
def test_a_full_disk_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = lower(check([parse(CLOSURE)]))
    engine = IncrementalEngine(circuit, resources=ResourceLimits(spill=tmp_path))
    edges = frozenset((i, i + 1) for i in range(50))
    engine.apply(batches_of(circuit, changes_between({}, {"e": edges})))
    before = state_of(engine)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    change = batches_of(circuit, changes_between({"e": edges}, {"e": edges | {(i, i + 500) for i in range(50)}}))
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(DelticError, match=f"spill directory {tmp_path}: No space left on device, while"):
            engine.apply(change)
    assert state_of(engine) == before
    engine.apply(change)
    assert engine.count("e") == 100


@pytest.mark.usefixtures("small")
def test_what_others_have_made_is_kept_where_there_is_room(tmp_path: Path) -> None:
    space, array = Space(tmp_path, 2_000), np.arange(200, dtype=np.uint64)
    assert space.kept(array) is array
    other = space.kept(array[::-1].copy())
    assert (is_mapped(other), space.held, list(other)) == (True, 1_600, list(array[::-1]))
    assert (space.fits(400), space.fits(401)) == (True, False)


def test_what_is_freed_goes_back_when_memory_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(spilling, "release", lambda: calls.append(1))
    for limit, expected in ((1 << 50, 0), (0, 1)):
        space = Space(tmp_path, limit)
        space.settle()
        assert len(calls) == 0, "there were no large arrays"
        space.empty((1 << 20,), WORDS)
        space.settle()
        space.settle()
        assert len(calls) == expected


def test_the_directory_of_a_state_is_one_for_what_does_not_fit(tmp_path: Path) -> None:
    for state in (tmp_path, tmp_path / "new", str(tmp_path)):
        assert ResourceLimits.of(state=state, memory="1 GiB") == ResourceLimits(spill=Path(state), memory=1 << 30)
    assert ResourceLimits.of(state=tmp_path, spill=tmp_path).spill == tmp_path
    assert ResourceLimits.of(state="s3://bucket/shop").spill is None
    assert 0 < ResourceLimits.of(state=tmp_path).memory <= available()


@pytest.mark.parametrize(
    ("said", "files", "expected"),
    [
        ("0::/a/b\n", {"a/memory.max": "500\n", "a/b/memory.max": "max\n", "memory.max": "700\n"}, [500, 700]),
        ("4:memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": "900\n"}, [900]),
        ("0::/\n", {}, []),
    ],
)
def test_the_memory_of_a_control_group(tmp_path: Path, said: str, files: dict[str, str], expected: list[int]) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(said)
    for name, text in files.items():
        (tmp_path / "sys/fs/cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "sys/fs/cgroup" / name).write_text(text)
    assert list(_group_limits(tmp_path)) == expected


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DelticError, match="there is no such directory; make it, or name another"):
        ResourceLimits.of(spill=tmp_path / "absent")


def test_a_directory_that_takes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(DelticError, match=r"no file can be made in it \(Permission denied\)"):
        ResourceLimits.of(spill=tmp_path)


@pytest.mark.parametrize(
    ("size", "count"),
    [(7, 7), ("7", 7), ("2 GiB", 2**31), ("2gib", 2**31), ("2g", 2 * 10**9), ("1.5 MB", 1_500_000), ("4 KiB", 4096)],
)
def test_sizes(size: int | str, count: int) -> None:
    assert bytes_of(size) == count


@pytest.mark.parametrize("size", ["much", "2 XB", "", "-1", -1, "2 i"])
def test_what_is_no_size(size: int | str) -> None:
    with pytest.raises(DelticError, match='it is a number of bytes, or a text such as "2 GiB" or "500 MB"'):
        bytes_of(size)


def test_what_does_not_go_together() -> None:
    with pytest.raises(DelticError, match="name a directory with spill"):
        ResourceLimits.of(memory="2 GiB")
    with pytest.raises(DelticError, match="threads is 0; it is a number of threads: 1 or more"):
        ResourceLimits.of(threads=0)
