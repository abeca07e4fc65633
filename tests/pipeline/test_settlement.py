"""Several changes by key in one transaction, updates, and tables with a lateness, as shards settle them.

Catches a change that does not see what those before it have made, a row that is late and comes in, or is not told, a
watermark that rises by another row, an error that names other keys, and rows that come to the driver's memory.
"""

from __future__ import annotations

import pickle
import random
from types import SimpleNamespace

import pyarrow as pa
import pytest

from deltic import Shards
from deltic.engine.conflicts import Conflict, ConflictError
from deltic.engine.executors.shards import staged_rows
from deltic.engine.executors.shards.inquiries import Settlement
from deltic.engine.executors.shards.staged_rows import MessageBatch, StagedRows
from deltic.errors import DelticError
from deltic.pipeline.options import Durability
from deltic.pipeline.rows.posting import PostedRows
from deltic.pipeline.session import Pipeline
from tests.engine.executors.shards.jobs import only_jobs_here
from tests.pipeline.test_shards import Session

TABLES = {
    "no lateness": "id BIGINT NOT NULL, at BIGINT, x BIGINT, PRIMARY KEY (id)",
    "a time in the key": "id BIGINT NOT NULL, at BIGINT NOT NULL LATENESS 4, x BIGINT, PRIMARY KEY (id, at)",
    "a time beside the key": "id BIGINT NOT NULL, at BIGINT LATENESS 4, x BIGINT, PRIMARY KEY (id)",
    "no key": "id BIGINT, at BIGINT LATENESS 4, x BIGINT",
}
VIEW = "CREATE VIEW v AS SELECT x, count(*) AS n, sum(at) AS at FROM t GROUP BY x"


class Frame:
    """What tasks write in place of a DataFrame."""

    def __init__(self, rows):
        self.rows, self.columns = rows, rows.column_names


@pytest.fixture(autouse=True)
def tasks(monkeypatch):
    """Tasks run here, a Frame is written by three of them, and all rows stand in files."""

    def run_each(spark, given, what):
        return [message for task in pickle.loads(pickle.dumps(given)) for message in task()]

    def written(rows, table, columns, weight, sites, rounding, *optional):
        if not isinstance(rows, Frame) or (site := sites(table)) is None:
            return None
        is_by_key = bool(table.key) and (weight is None or abs(weight) > 1)
        site, letters, count = site.by_key(True) if is_by_key else site, [], len(rows.rows)
        for part in range(3):
            mine = rows.rows.slice(count * part // 3, count * (part + 1) // 3 - count * part // 3)
            context = SimpleNamespace(get=lambda part=part: SimpleNamespace(partitionId=lambda: part))
            monkeypatch.setattr("pyspark.TaskContext", context)
            read = PostedRows(table.name, columns, weight, table if is_by_key else None, False, *optional)
            letters += site.posting.over(mine.to_batches(4), read)
        random.Random(count).shuffle(letters)
        return StagedRows(site, letters)

    only_jobs_here(monkeypatch)
    monkeypatch.setattr("deltic.engine.executors.spark.job.run_each", run_each)
    monkeypatch.setattr("deltic.pipeline.epochs.row_operations.posted", written)
    monkeypatch.setattr(staged_rows, "_FEW", 0)


def open_(place, table, executor="job"):
    shards = Shards(3, directory=f"{place} shards", executor=executor)
    options = {"state": place, "shards": shards, "durability": Durability(epochs=1000)}
    return begun(Pipeline(Session(), engine="spark", **options), table)


def begun(pipeline, table):
    if not len(pipeline):
        pipeline.sql(f"CREATE TABLE t ({table}); {VIEW}")
    if hasattr(getattr(pipeline._epochs.engine, "executor", None), "placement"):
        pipeline._epochs.engine.executor.there.holder.few = 0
    return pipeline


class Random:
    """Random changes of `t`, times rising with the steps."""

    def __init__(self, seed, table):
        self.rng, self.now = random.Random(seed), 0
        self.key = [name for name in ("id", "at") if name in table.partition("PRIMARY KEY")[2]]

    def row(self):
        return {"id": self.rng.randrange(7), "at": self.now + self.rng.randrange(-6, 6), "x": self.rng.randrange(3)}

    def one(self):
        """The kind of a change, its rows, and whether tasks write them."""
        kinds = ["upsert", "delete", "insert", "change", "update"] if self.key else ["insert", "insert", "delete"]
        kind, by_tasks = self.rng.choice(kinds), self.rng.random() < 0.7
        rows = [self.row() for _ in range(self.rng.randrange(1, 9))]
        if kind == "insert":
            rows = list({tuple(row.values())[: len(self.key) or 3]: row for row in rows[:3]}.values())
        elif kind == "change":
            rows = [{**row, "op": self.rng.choice("uud")} for row in rows]
        elif kind == "delete" and self.key:
            rows = [{name: row[name] for name in self.key} for row in rows[:3]]
        elif kind == "update":
            rows = [{name: row[name] for name in (*self.key, "x")} for row in rows[:3]]
        return kind, rows, by_tasks


def outcome(pipeline, made, conflicts, by_tasks):
    """What comes of a transaction: its error, or its numbers, with what was late."""
    try:
        with pipeline.transaction(conflicts) as change:
            for kind, rows, is_frame in made:
                given = Frame(pa.Table.from_pylist(rows)) if by_tasks and is_frame else rows
                getattr(change, kind)("t", given)
    except DelticError as error:
        return type(error), sorted(str(error))
    late = [(each.table, each.watermark, each.count, shown(each.rows)) for each in change.report.late]
    return change.report.rows_in, dict(change.report.changed), sorted(change.of("v"), key=repr), late


def shown(rows):
    return sorted(map(repr, rows.to_pylist()))


def same(*pipelines):
    for name in ("t", "v"):
        first, *others = (sorted(pipeline[name], key=repr) for pipeline in pipelines)
        assert all(other == first for other in others)
    assert len({repr(pipeline.watermarks) for pipeline in pipelines}) == 1


def test_late_rows_raise_no_watermark_of_their_shard(tmp_path):
    """A row with a time that has not come yet, in place of one that is too late, is late with it.

    Catches a shard that tells the latest time of all rows that come, and not of those that are not late.
    """
    table = TABLES["a time beside the key"]
    pipelines = [open_(tmp_path / name, table) for name in ("state", "driver")]
    for pipeline, given in zip(pipelines, (lambda rows: Frame(pa.Table.from_pylist(rows)), list), strict=True):
        with pipeline.transaction() as change:
            change.insert("t", given([{"id": 1, "at": 0, "x": 0}, {"id": 2, "at": 100, "x": 0}]))
        with pipeline.transaction() as change:
            change.upsert("t", given([{"id": 1, "at": 200, "x": 1}, {"id": 3, "at": 101, "x": 1}]))
        (late,) = change.report.late
        assert (late.count, shown(late.rows)) == (2, [repr({"id": 1, "at": 0, "x": 0, "__weight__": -1}),
                                                      repr({"id": 1, "at": 200, "x": 1, "__weight__": 1})])  # fmt: skip
        assert pipeline.watermarks == {"t": 97}
        assert sorted(pipeline["t"]) == [(1, 0, 0), (2, 100, 0), (3, 101, 1)]
    same(*pipelines)


def test_a_change_by_key_hides_no_conflict_of_a_row(tmp_path):
    """As in this process, tasks refuse the deletion of an absent row beside that of its key."""
    pipeline = open_(tmp_path / "state", TABLES["no lateness"])
    with pipeline.transaction() as change:
        change.insert("t", [{"id": 1, "at": 1, "x": 1}, {"id": 2, "at": 2, "x": 2}])
    made = [("delete", [{"id": 1, "at": 9, "x": 9}], True), ("delete", [{"id": 1}], True)]
    error = ConflictError("t", [Conflict(False, False, [(1, 9, 9)], 1)])
    assert outcome(pipeline, made, "error", True) == (ConflictError, sorted(str(error)))
    assert sorted(pipeline["t"]) == [(1, 1, 1), (2, 2, 2)]
    assert outcome(pipeline, made, "normalize", True)[0] == 1
    assert sorted(pipeline["t"]) == [(2, 2, 2)]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 4))])
def test_random_changes(tmp_path, seed, table):
    given = Random(seed, TABLES[table])
    pipeline, driver = (open_(tmp_path / name, TABLES[table]) for name in ("state", "driver"))
    seen = set()
    for step in range(12 if seed else 6):
        given.now = 2 * step
        made = [given.one() for _ in range(given.rng.choice([1, 2, 2, 3]))]
        conflicts = given.rng.choice(["error", "normalize", "normalize"])
        found = outcome(pipeline, made, conflicts, True)
        assert found == outcome(driver, made, conflicts, False), (step, made)
        same(pipeline, driver)
        seen.add("error" if len(found) == 2 else "late" if found[-1] else "none")
    assert seen >= ({"none"} if table == "no lateness" else {"late", "none"})
    pipeline.close()
    with open_(tmp_path / "state", TABLES[table], "process") as again:
        same(again, driver)


def test_the_driver_has_names_alone(tmp_path, monkeypatch):
    pipeline, rows = open_(tmp_path / "state", TABLES["a time beside the key"]), [(n, n % 90, 1) for n in range(300)]
    frame = Frame(pa.table([pa.array(column) for column in zip(*rows, strict=True)], ["id", "at", "x"]))
    run, read, at_work = Settlement.__call__, MessageBatch.parts, []

    def watched(task):
        at_work.append(task)
        yield from run(task)
        at_work.pop()

    def parts(rows):
        assert at_work, "the driver reads rows"
        return read(rows)

    with monkeypatch.context() as patch:
        patch.setattr(Settlement, "__call__", watched)
        patch.setattr(MessageBatch, "parts", parts)
        with pipeline.transaction() as change:
            change.upsert("t", frame)
        assert pipeline.watermarks == {"t": 85}
        with pipeline.transaction() as change:
            change.upsert("t", frame)
            change.update("t", Frame(pa.table({"id": [1, 89], "x": [5, 5]})))
            change.delete("t", [(88,)])
    (late,) = change.report.late
    assert (late.count, len(late.examples), late.rows.num_rows) == (572, 10, 572)
    assert sorted(x for *_, x in pipeline["t"]) == [1] * 298 + [5]
