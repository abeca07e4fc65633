"""Sources that tasks read: what they write is what this process would have read, file by file and version by version.

Catches a file that two tasks read, or none; rows of a removed file that stay; a task that runs twice and leaves a copy
that somebody takes; a copy that is lost; an error that tells another place than this process does; a crash on the way.
"""

from __future__ import annotations

import contextlib
import pickle
import random
import re
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltic
from deltic import DataError, DelticError, StateError
from deltic.engine.executors.shards import staged_rows
from deltic.engine.executors.shards.staged_rows import StagedRows
from deltic.pipeline.connectors import tasks
from deltic.pipeline.connectors.source import HeldRows
from deltic.pipeline.session import Pipeline
from deltic.pipeline.shards import Shards
from tests.engine.executors.shards.jobs import only_jobs_here
from tests.pipeline.connectors.folders import VIEW, change, expected, rows, shown
from tests.pipeline.connectors.folders import write as write_file
from tests.pipeline.durability.crashing import Faulty, Killed, disk
from tests.pipeline.durability.test_crashes import end
from tests.pipeline.test_shards import Session

TABLE = "CREATE TABLE orders (id BIGINT, shop STRING, price BIGINT, day DATE) USING {} LOCATION '{}';"


class Numbers(Session):
    """A session that has numbers in as many partitions."""

    def range(self, start, end, step, parts):
        return [pa.record_batch({"id": [number]}) for number in range(start, end, step)]


def run_over(frame, task, what):
    """Tasks as they travel; some of them run twice, and are heard once."""
    rng, letters = random.Random(len(frame)), []
    for batch in frame:
        for _ in range(rng.choice([1, 2])):
            made = list(pickle.loads(pickle.dumps(task))(iter([batch])))
        letters += made
    return letters


def run_tasks_here(monkeypatch):
    """Let tasks read all that can be, in this process; all rows that they write stand in files."""
    only_jobs_here(monkeypatch)
    monkeypatch.setattr("deltic.engine.executors.spark.job.run_over", run_over)
    monkeypatch.setattr(staged_rows, "_FEW", 0)
    monkeypatch.setattr(tasks, "FEW", -1)


@pytest.fixture(autouse=True)
def by_tasks(monkeypatch):
    run_tasks_here(monkeypatch)


def open_(tmp_path, **options):
    shards = Shards(2, directory=tmp_path / "shards", executor="job")
    return Pipeline(Numbers(), engine="spark", state=tmp_path / "state", shards=shards, **options)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "orders"
    made.mkdir()
    return made


def defined(pipeline, folder, kind="parquet"):
    if "orders" not in pipeline:
        pipeline.sql(TABLE.format(kind, folder) + VIEW)
    return pipeline


@pytest.mark.parametrize(("ending", "steps"), [(".parquet", 5), pytest.param(".csv", 40, marks=pytest.mark.slow)])
def test_random_folders(tmp_path, folder, ending, steps):
    rng, hows = random.Random(ending), Counter()
    pipeline, here = defined(open_(tmp_path), folder, ending[1:]), defined(deltic.Pipeline(), folder, ending[1:])
    for step in range(steps):
        for _ in range(2):
            change(folder, rng, ending)
        if step % 3 == 2:
            pipeline.close()
            pipeline = open_(tmp_path)
        told, same = (each.refresh().sources["orders"] for each in (pipeline, here))
        assert shown(pipeline) == shown(here) == expected(folder, ending)
        assert (told.rows_read, told.files_read, told.bytes_read) == (same.rows_read, same.files_read, same.bytes_read)
        assert told.inserted - told.deleted == same.inserted - same.deleted
        hows["tasks" if " by tasks" in told.how else told.how] += 1
    assert hows["tasks"] > steps // 2
    files = pipeline.positions["source orders"]["at"]["files"].values()
    used = {copy["file"] for file in files for copy in file["copy"]}
    assert {f"sources/{path.name}" for path in (tmp_path / "state" / "sources").iterdir()} == used
    pipeline.close()


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_large_file_is_read_by_several_tasks(tmp_path, folder, monkeypatch, ending):
    """By row groups, or lines: each row by one of them, copies of all of it go with the file."""
    counts = []
    monkeypatch.setattr(tasks, "MUCH", 250)
    monkeypatch.setattr(
        "deltic.engine.executors.spark.job.run_over", lambda frame, *more: run_over(counted(frame), *more)
    )

    def counted(frame):
        counts.append(len(frame))
        return frame

    def write(first):
        made = pa.table({"id": range(first, first + 300), "shop": [f"s{n % 7}" for n in range(300)]})
        if ending == ".parquet":
            pq.write_table(made, folder / "all.parquet", row_group_size=40)
        else:
            write_file(made, folder / "all.csv")

    with open_(tmp_path) as pipeline:
        pipeline.define(f"CREATE TABLE orders (id BIGINT, shop STRING) USING {ending[1:]} LOCATION '{folder}'", "sql")
        for first in (0, 100):
            write(first)
            told = pipeline.refresh().sources["orders"]
            assert (told.files_read, told.rows_read) == (1, 300)
            assert sorted(pipeline["orders"]) == [(n, f"s{(n - first) % 7}") for n in range(first, first + 300)]
        (folder / f"all{ending}").unlink()
        assert pipeline.refresh().sources["orders"].deleted == 300
        assert len(pipeline["orders"]) == 0
    assert min(counts[:2]) > 4


def test_a_copy_that_is_lost_and_a_file_that_is_none(tmp_path, folder):
    for number in range(3):
        pq.write_table(rows(random.Random(number + 1)), folder / f"{number}.parquet")
    with open_(tmp_path) as pipeline:
        pipeline.table("orders", source=folder)
        epoch = pipeline.refresh().epoch
        (folder / "0.parquet").write_bytes(b"none")
        with pytest.raises(DataError, match=r"0\.parquet: not a Parquet file"):
            pipeline.refresh()
        assert pipeline.epoch == epoch
        for copy in (tmp_path / "state" / "sources").iterdir():
            copy.write_bytes(copy.read_bytes()[:-1] + b"x")
        (folder / "0.parquet").unlink()
        assert pipeline.refresh().sources["orders"].how == "all files compared by tasks"
        assert pipeline["orders"].rows().count() == sum(pq.read_metadata(f).num_rows for f in folder.iterdir())


def test_rows_stand_in_files_alone_and_their_bytes_are_told(tmp_path, folder):
    pq.write_table(pa.table({"id": range(50), "said": ["x" * 2000] * 50}), folder / "a.parquet")
    with open_(tmp_path) as pipeline:
        pipeline.table("orders", source=folder)
        held = HeldRows(pipeline._version(), "orders")
        found = pipeline._refreshing._source("orders").new(pipeline.catalog.tables["orders"], None, held, False)
        assert isinstance(found.changes, StagedRows)
        assert (found.inserted, found.deleted, found.read) == (50, 0, 50)
        assert all(message.file for message in found.changes.messages)
        assert found.changes.report.written > 100_000
        assert pipeline.refresh().report.bytes_written > found.changes.report.written


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_what_tasks_do_not_see_this_process_reads(tmp_path, folder, monkeypatch, caplog, kind):
    told = pa.table({"id": range(5)})
    if kind == "delta":
        pytest.importorskip("deltalake").write_deltalake(str(folder), told)
    else:
        pq.write_table(told, folder / "a.parquet")
    elsewhere = folder.with_name("elsewhere")

    def unseen(frame, task, what):
        folder.rename(elsewhere)
        letters = run_over(frame, task, what)
        elsewhere.rename(folder)
        return letters

    monkeypatch.setattr("deltic.engine.executors.spark.job.run_over", unseen)
    with open_(tmp_path) as pipeline:
        pipeline.table("orders", source=folder)
        assert "tasks" not in pipeline.refresh().sources["orders"].how
        assert sorted(pipeline["orders"]) == [(n,) for n in range(5)]
    assert "table orders: tasks do not see all of its source; the driver reads it" in caplog.text


def test_a_job_that_fails_leaves_nothing(tmp_path, folder, monkeypatch):
    pq.write_table(pa.table({"id": range(5)}), folder / "a.parquet")

    def failing(frame, task, what):
        run_over(frame, task, what)
        raise DelticError("the job failed")

    with open_(tmp_path) as pipeline:
        pipeline.table("orders", source=folder)
        with monkeypatch.context() as patch:
            patch.setattr("deltic.engine.executors.spark.job.run_over", failing)
            with pytest.raises(DelticError, match="the job failed"):
                pipeline.refresh()
        assert list((tmp_path / "shards").glob("*/sources")) == []
        with disk(Faulty(1, "full")), pytest.raises(StateError, match=r"cannot be written .*nothing was changed"):
            pipeline.refresh()
        assert pipeline.refresh().sources["orders"].how == "1 file read by tasks, 0 taken back"


def killed_at(folder, tmp_path, at, how, rng):
    """Refresh on a disk on which the process ends; whether it did."""
    system, pipeline = Faulty(at, how), None
    with disk(system):
        with contextlib.suppress(Killed):
            pipeline = open_(tmp_path)
            defined(pipeline, folder).refresh()
            change(folder, rng, ".parquet")
            pipeline.refresh()
            pipeline.close()
        end(pipeline)
    return system.dead


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("how", ["killed", "power"])
def test_crashes_between_all_steps(tmp_path, folder, how):
    rng, at = random.Random(how), 1
    change(folder, rng, ".parquet")
    while killed_at(folder, tmp_path / f"{at}", at, how, rng):
        change(folder, rng, ".parquet")
        with defined(open_(tmp_path / f"{at}"), folder) as pipeline:
            pipeline.refresh()
            assert shown(pipeline) == expected(folder, ".parquet"), at
            assert pipeline.refresh().report is None
        at += 11
    assert at > 40


@pytest.mark.parametrize(
    ("feed", "partitions"),
    [(True, ["shop"]), *(pytest.param(feed, None, marks=pytest.mark.slow) for feed in (True, False))],
)
def test_random_commits_of_delta(tmp_path, feed, partitions):
    deltalake = pytest.importorskip("deltalake")
    from tests.pipeline.connectors import test_delta as delta

    rng, path, hows = random.Random(f"{feed} {partitions}"), str(tmp_path / "orders"), set()
    settings = {"delta.enableChangeDataFeed": str(feed).lower()}
    deltalake.write_deltalake(path, delta.rows(rng, 60), partition_by=partitions, configuration=settings)
    with open_(tmp_path) as pipeline:
        pipeline.define(f"CREATE TABLE orders USING delta LOCATION '{path}'", "sql")
        here = deltic.Pipeline()
        here.table("orders", source=path)
        for _ in range(6):
            told, same = (each.refresh().sources["orders"] for each in (pipeline, here))
            assert Counter(pipeline["orders"]) == Counter(here["orders"]) == delta.contents(path)
            assert told.inserted - told.deleted == same.inserted - same.deleted
            hows.add(re.sub(" of version [0-9]+ to [0-9]+", "", told.how))
            for _ in range(3):
                delta.change(path, rng)
    assert hows == {"loaded, by tasks", "change feed, by tasks" if feed else "files, by tasks"}


@pytest.mark.parametrize("kind", ["csv", "delta"])
def test_what_is_compared_does_not_pass_the_driver(tmp_path, folder, monkeypatch, kind):
    """All of a source beside the table: what differs comes and goes."""
    sales = pa.table({"id": range(60), "shop": [f"s{n % 7}" for n in range(60)]})

    def write(rows):
        if kind == "delta":
            pytest.importorskip("deltalake").write_deltalake(str(folder), rows, mode="overwrite")
        else:
            write_file(rows, folder / "a.csv")

    write(sales)
    with open_(tmp_path) as pipeline:
        pipeline.sql(f"CREATE TABLE orders (id BIGINT, shop STRING) USING {kind} LOCATION '{folder}'")
        pipeline.refresh()
        others = pa.table({"id": range(55, 65), "shop": ["x"] * 10})
        changed = pa.concat_tables([sales.slice(0, 50), others])
        write(changed)
        monkeypatch.setattr(StagedRows, "to_arrow", None)
        monkeypatch.setattr(HeldRows, "__call__", None)
        told = pipeline.refresh(full=True)
        assert (told.sources["orders"].inserted, told.sources["orders"].deleted) == (10, 10)
        assert told.sources["orders"].how in ("all files compared by tasks", "compared, by tasks")
        assert sorted(pipeline["orders"]) == list(zip(*changed.to_pydict().values(), strict=True))
        again = pipeline.refresh(full=True)
        assert (again.report is None, again.sources["orders"].inserted) == (kind == "delta", 0)
