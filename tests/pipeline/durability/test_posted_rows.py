"""The log has the files of rows that tasks have written: crashes at the disk's calls, replay, checkpoints, repairs.

Catches a file that the log names and that is not on the disk, or is removed too early; rows that come twice or not at
all after a restart, wherever the epoch is done again; files that stay for good; damage that nobody notices.
"""

from __future__ import annotations

import contextlib
import random
from functools import partial

import pyarrow as pa
import pytest

from deltic.engine.executors.shards import staged_rows
from deltic.engine.executors.shards.staged_rows import MessageBatch, StagedRows
from deltic.engine.files.pieces import MappedFile
from deltic.errors import StateError
from deltic.pipeline.durability.log import ROWS, LogReader, segments
from deltic.pipeline.options import Durability
from deltic.pipeline.rows.posting import PostedRows
from deltic.pipeline.session import Pipeline
from deltic.pipeline.shards import Shards
from deltic.pipeline.verifying import repair, verify
from tests.engine.executors.shards.jobs import only_jobs_here
from tests.pipeline.durability.crashing import CHECKPOINTS, Faulty, Killed, act, check, disk
from tests.pipeline.durability.test_crashes import end, run_until_killed
from tests.pipeline.test_shards import Session

STEPS, BEHIND = 8, 99
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture(autouse=True)
def tasks(monkeypatch):
    """Tasks run here, and all rows that they write stand in files."""
    only_jobs_here(monkeypatch)
    monkeypatch.setattr(staged_rows, "_FEW", 0)


def open_(place, executor="job", durability=CHECKPOINTS):
    shards = Shards(2, directory=f"{place} shards", executor=executor)
    return Pipeline(Session(), engine="spark", state=place, shards=shards, durability=durability)


def post(change, table, rows):
    """Insert rows, half of which tasks write, twice."""
    if not rows:
        return
    cut = len(rows) // 2
    found = change.reader.definitions.catalog.tables[table]
    site = change._epochs.site(found)
    batch = pa.table([[row[i] for row in rows[cut:]] for i in range(2)], schema=site.schema.to_arrow())
    read = PostedRows(table, site.schema, 1)
    list(site.posting.over(batch.to_batches(), read))
    made = StagedRows(site, site.posting.over(batch.to_batches(), read))
    change.insert(table, rows[:cut])
    change.append(table, made)


run = partial(run_until_killed, open_=open_, steps=STEPS, act=partial(act, insert=post))


def goes_on(place, acknowledged):
    """Another process has the steps that were acknowledged, and goes on; so has one without Spark."""
    with open_(place) as pipeline:
        step = check(pipeline, acknowledged)
        act(pipeline, step + 1, post)
        check(pipeline, step + 1)
    with Pipeline(state=place) as local:
        assert check(local, step + 1) == step + 1


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "torn", "power"])
def test_a_process_that_ends_at_a_call_to_the_disk(tmp_path, how):
    system = Faulty(0, "none")
    assert run(tmp_path / "whole", system) == STEPS
    for at in random.Random(how).sample(range(1, system.calls), 12):
        goes_on(tmp_path / f"{at}", run(tmp_path / f"{at}", Faulty(at, how)))


def cut(place, at, how):
    """Log an epoch of which tasks have written rows, on a disk that fails at one of the calls of that, or behind it."""
    with disk(Faulty(0, how)) as system:
        pipeline = open_(place, durability=Durability(epochs=100))
        state = pipeline._keeping.state

        def write(record):
            system.at = system.calls + at
            type(state).write(state, record)
            if at == BEHIND:
                system.at = system.calls + 1

        state.write = write
        with contextlib.suppress(Killed, StateError):
            act(pipeline, 4, post)
        if how == "full":
            assert check(pipeline, 3) == 3
            assert state.files.names(ROWS) == []
        assert system.calls >= system.at
        end(pipeline)


# A file of rows and its folder are synced, a record is written and synced; and then the epoch is there.
CUTS = 1, 2, 3, 4, BEHIND
SOME = [("full", 3), ("power", 3), ("power", BEHIND)]


@pytest.mark.parametrize(
    ("how", "at"),
    [*SOME, *(pytest.param(how, at, marks=pytest.mark.slow) for how in ("killed", "power", "torn") for at in CUTS)],
)
def test_every_cut_between_the_rows_and_their_record(tmp_path, how, at):
    place = tmp_path / "state"
    with open_(place) as pipeline:
        for step in range(1, 4):
            act(pipeline, step)
    cut(place, at, how)
    goes_on(place, 4 if at == BEHIND else 3)


def test_the_log_names_files_and_no_rows(tmp_path):
    place = tmp_path / "state"
    pipeline = open_(place, durability=Durability(epochs=100))
    for step in range(1, 5):
        act(pipeline, step, post)
    files, names = pipeline._keeping.files, set()
    for record in LogReader(files, 0).records():
        for _, rows in record.in_messages:
            assert isinstance(rows, MessageBatch)
            assert all(message.file and not message.content for message in rows.messages)
            assert all(name.startswith(f"{ROWS}/{record.sequence:012}-") for name in rows.named)
            names.update(rows.named)
    assert sorted(names) == files.names(ROWS)
    (place / ROWS / f"{99:012}-left").write_bytes(b"of an epoch that never was")
    end(pipeline)
    with open_(place, "process", Durability(epochs=100)) as again:
        assert check(again, 4) == 4
        assert sorted(names) == files.names(ROWS), "what no record names goes, and the rest stays"
        again.checkpoint()
        act(again, 5)
        again.checkpoint()
        again.checkpoint()
        first = segments(files)[0][0]
        assert first > 4
        assert all(int(name[len(ROWS) + 1 :].partition("-")[0]) >= first for name in files.names(ROWS))


def found_step(pipeline):
    return pipeline.positions["step"]


@pytest.mark.parametrize("executor", ["process", pytest.param("job", marks=pytest.mark.slow)])
def test_replay_by_another_split(tmp_path, executor):
    place = tmp_path / "state"
    pipeline = open_(place, durability=Durability(epochs=100))
    for step in range(1, 5):
        act(pipeline, step, post)
    end(pipeline)
    shards = Shards(3, directory=f"{place} others", executor=executor)
    with Pipeline(Session(), engine="spark", state=place, shards=shards) as other:
        assert check(other, 4) == 4


@pytest.mark.parametrize("executor", ["process", "job"])
def test_rows_are_read_once_by_those_who_apply_them(tmp_path, executor, monkeypatch):
    place, read = tmp_path / "state", list[str]()
    pipeline = open_(place, durability=Durability(epochs=100))
    for step in range(1, 3):
        act(pipeline, step, post)
    names = [
        n for r in LogReader(pipeline._keeping.files, 0).records() for _, rows in r.in_messages for n in rows.named
    ]
    end(pipeline)

    def part(mapped, start, size):
        read.append(mapped.name)
        return original(mapped, start, size)

    original = MappedFile.part
    monkeypatch.setattr(MappedFile, "part", part)
    with open_(place, executor) as pipeline:
        assert pipeline.epoch == 2
        of_the_log = [name for name in read if name.startswith(ROWS)]
        assert sorted(of_the_log) == (sorted(names) if executor == "process" else [])
        assert check(pipeline, 2) == 2


def flipped(place, pipeline):
    """Change a bit of the last file of rows that the log names; its name."""
    last = [r for r in LogReader(pipeline._keeping.files, 0).records() if r.in_messages][-1]
    name = last.in_messages[0][1].named[0]
    data = bytearray((place / name).read_bytes())
    data[len(data) // 2] ^= 1
    (place / name).write_bytes(data)
    return name


def test_who_follows_is_told_of_damaged_rows_each_time(tmp_path):
    place = tmp_path / "state"
    pipeline = open_(place, durability=Durability(epochs=100))
    for step in range(1, 4):
        act(pipeline, step, post)
    with Pipeline(state=place, durability=Durability(readonly=True)) as follower:
        act(pipeline, 4, post)
        name = flipped(place, pipeline)
        for _ in range(2):
            with pytest.raises(StateError, match=rf"{name}: .*--repair"):
                follower.follow()
            assert check(follower, 3) == 3
    end(pipeline)


@pytest.mark.parametrize("damage", ["flipped", pytest.param("gone", marks=pytest.mark.slow)])
def test_damaged_rows_are_told_and_the_log_is_cut_there(tmp_path, damage):
    place = tmp_path / "state"
    pipeline = open_(place, durability=Durability(epochs=100))
    for step in range(1, 5):
        act(pipeline, step, post)
    name = place / flipped(place, pipeline)
    end(pipeline)
    if damage == "gone":
        name.unlink()
    with pytest.raises(StateError, match=rf"{name.name}: .*--repair"):
        open_(place)
    assert any(name.name in entry for entry in verify(place).wrong)
    repair(place)
    with open_(place) as pipeline:
        step = found_step(pipeline)
        assert step < 4
        assert check(pipeline, step) == step


def test_rows_of_a_table_with_a_lateness(tmp_path):
    """Letters are looked at one by one; where rows are late, the others of the epoch are in memory."""
    rng, kinds = random.Random(3), set()
    pipeline, other = open_(tmp_path / "state"), Pipeline()
    for each in (pipeline, other):
        each.table("t", {"k": "int64", "x": "int64"}, lateness={"x": 10})
        each.sql("CREATE VIEW v AS SELECT k % 3 AS k, count(*) AS n FROM t GROUP BY k % 3")
    for step in range(6):
        rows = [(10 * step + n, step * 8 + rng.randrange(12) - 14 * (step == 3)) for n in range(9)]
        with pipeline.transaction() as change:
            post(change, "t", rows)
        with other.transaction() as same:
            same.insert("t", rows)
        assert (change.report.rows_late, pipeline.watermarks) == (same.report.rows_late, other.watermarks)
        kinds.add(bool(change.report.rows_late))
        assert sorted(pipeline["v"]) == sorted(other["v"])
    assert kinds == {True, False}
    end(pipeline)
    with open_(tmp_path / "state") as again:
        assert (again.watermarks, sorted(again["v"])) == (other.watermarks, sorted(other["v"]))
