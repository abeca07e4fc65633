"""Changes by key that tasks have written: shards find what they replace, as this process does for rows of Python.

Catches a row that is not replaced, or replaced by one that is not the last; a deletion of what is not there that nobody
notices, or an insertion of a key that is; rows that a restart, other shards or another engine make something else of;
and a batch that comes to the driver's memory.
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import pyarrow as pa
import pytest

from deltic import Shards
from deltic.engine import options
from deltic.engine.executors.shards import staged_rows
from deltic.engine.executors.shards.staged_rows import MessageBatch, StagedRows
from deltic.engine.keyed import BY_KEY, UPSERT
from deltic.errors import DelticError
from deltic.pipeline.options import Durability
from deltic.pipeline.rows.posting import PostedRows
from deltic.pipeline.session import Pipeline
from tests.engine.executors.shards.jobs import only_jobs_here
from tests.pipeline.test_shards import Session

SQL = """
    CREATE TABLE t (id BIGINT NOT NULL, part STRING NOT NULL, x BIGINT, PRIMARY KEY (id, part));
    CREATE TABLE parts (part STRING, land STRING);
    CREATE VIEW v AS SELECT land, count(*) AS n, sum(x) AS x FROM t JOIN parts USING (part) GROUP BY land
"""
COLUMNS = ("id", "part", "x")


@pytest.fixture(autouse=True)
def tasks(monkeypatch):
    """Tasks run here, and all rows that they write stand in files."""
    only_jobs_here(monkeypatch)
    monkeypatch.setattr(staged_rows, "_FEW", 0)


def open_(place, executor="job", shards=3):
    return Pipeline(
        Session(),
        engine="spark",
        state=place,
        shards=Shards(shards, directory=f"{place} shards", executor=executor),
        durability=Durability(epochs=1000),
    )


def post(change, table, columns, weight, rows, rng, monkeypatch):
    """Rows as tasks write them, of three partitions, whose letters come in any order."""
    found = change.reader.definitions.catalog.tables[table]
    by_key = weight is None or abs(weight) > 1
    site, letters = change._epochs.site(found), []
    assert site.has_keys
    site = site.by_key(True) if by_key else site
    for part in range(3):
        mine = rows.slice(len(rows) * part // 3, len(rows) * (part + 1) // 3 - len(rows) * part // 3)
        context = SimpleNamespace(get=lambda part=part: SimpleNamespace(partitionId=lambda: part))
        monkeypatch.setattr("pyspark.TaskContext", context)
        read = PostedRows(table, columns, weight, found if by_key else None)
        letters += site.posting.over(mine.to_batches(4), read)
    rng.shuffle(letters)
    change.append(table, StagedRows(site, letters))


class Random:
    """Random changes of `t`, by rows of Python and as tasks write them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def row(self):
        return (self.rng.randrange(6), self.rng.choice("abc"), self.rng.choice([None, 1, 2, 3]))

    def one(self):
        """The kind of a change, and its rows."""
        kind = self.rng.choice(["upsert", "upsert", "delete", "insert", "change", "change"])
        rows = [self.row() for _ in range(self.rng.randrange(1, 12))]
        if kind == "insert":
            return kind, list({row[:2]: row for row in rows[:3]}.values())
        if kind == "delete":
            return kind, [row[:2] for row in rows[:4]]
        if kind == "change":
            ops = self.rng.choice(["ud", "uuud", "u", "u+-", "ud+"])
            return kind, [(*row, self.rng.choice(ops)) for row in rows]
        return kind, rows


def columns_of(rows, names):
    types = [pa.int64(), pa.string(), pa.int64(), pa.string()]
    return pa.table({n: pa.array([r[i] for r in rows], types[i]) for i, n in enumerate(names)})


def do(change, made, rng, monkeypatch, by_tasks):
    """One change, of rows here or of tasks."""
    kind, rows = made
    table = change.reader.definitions.catalog.tables["t"]
    if not by_tasks:
        given = [dict(zip((*COLUMNS, "op"), row, strict=True)) for row in rows] if kind == "change" else rows
        getattr(change, kind)("t", given)
        return
    names = {"change": (*COLUMNS, "op"), "delete": COLUMNS[:2]}.get(kind, COLUMNS)
    columns = table.key_schema if kind == "delete" else table.schema
    weight = {"upsert": UPSERT, "delete": BY_KEY, "insert": 1, "change": None}[kind]
    post(change, "t", columns, weight, columns_of(rows, names), rng, monkeypatch)


def outcome(pipeline, made, conflicts, rng, monkeypatch, by_tasks, where="job"):
    """What comes of a transaction with some changes: its error, or its numbers."""
    try:
        with pipeline.transaction(conflicts) as change:
            for each in made:
                do(change, each, rng, monkeypatch, by_tasks)
            if by_tasks:
                monkeypatch.setattr(pipeline._epochs.engine.executor.placement, "places", (where,))
    except DelticError as error:
        return type(error), sorted(str(error))
    return change.report.rows_in, dict(change.report.changed), sorted(change.of("v"), key=repr)


def same(*pipelines):
    for name in ("t", "v"):
        first, *others = (sorted(pipeline[name], key=repr) for pipeline in pipelines)
        assert all(other == first for other in others)


def begin(place):
    """Pipelines with the same definitions and first rows: on shards, and in this process."""
    pipelines = open_(place), Pipeline()
    for pipeline in pipelines:
        pipeline.sql(SQL)
        with pipeline.transaction() as change:
            change.insert("parts", [("a", "x"), ("b", "y"), ("c", "x")])
    return pipelines


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 6))])
def test_random_changes(tmp_path, monkeypatch, seed):
    given, place = Random(seed), tmp_path / "state"
    rng, seen = given.rng, set()
    pipeline, local = begin(place)
    for step in range(12):
        where = rng.choice(["job", "job", "process"])
        made = [given.one() for _ in range(rng.choice([1, 1, 1, 2]))]
        conflicts = rng.choice(["error", "normalize", "normalize"])
        found = outcome(pipeline, made, conflicts, rng, monkeypatch, True, where)
        monkeypatch.setattr(pipeline._epochs.engine.executor.placement, "places", ("job",))
        assert found == outcome(local, made, conflicts, rng, monkeypatch, False), (step, made)
        same(pipeline, local)
        seen.add(type(found[0]))
    assert len(seen) == 2, "some transactions were refused, and some not"
    pipeline.close()
    for executor, shards in (("job", 3), ("process", 3), ("job", 2)):
        with open_(place, executor, shards) as again:
            same(again, local)
    with Pipeline(state=place) as other:
        same(other, local)


def test_the_driver_has_names_alone(tmp_path, monkeypatch):
    pipeline, local = begin(tmp_path / "state")
    with pipeline.transaction() as change:
        do(change, ("upsert", [(n, "a", n) for n in range(300)]), random.Random(1), monkeypatch, True)
    monkeypatch.setattr(MessageBatch, "to_arrow", None)
    monkeypatch.setattr(MessageBatch, "parts", None)
    again = [(n % 400, "a", n) for n in range(100, 800)]
    with pipeline.transaction() as change:
        do(change, ("upsert", again), random.Random(2), monkeypatch, True)
    with local.transaction() as other:
        other.insert("t", [(n, "a", n) for n in range(300)])
    with local.transaction() as other:
        other.upsert("t", again)
    assert (change.report.rows_in, len(pipeline["t"])) == (other.report.rows_in, 400)
    same(pipeline, local)


def test_errors_of_all_shards_are_one(tmp_path, monkeypatch):
    pipeline, _ = begin(tmp_path / "state")
    keys = [(n, "a") for n in range(30)]
    wanted = r"^table t: the transaction would delete by key rows that are absent: (id = \d+, part = 'a'(; )?){10}"
    with pytest.raises(DelticError, match=wanted + "; and 20 more; nothing was changed"), pipeline.transaction() as c:
        do(c, ("delete", keys), random.Random(1), monkeypatch, True)
    rows = [(n // 2, "b", n) for n in range(40)]
    wanted = r"several rows would have the key id = \d+, part = 'b': \(\d+, 'b', \d+\) and .*; and 10 more keys"
    with pytest.raises(DelticError, match=wanted), pipeline.transaction() as change:
        do(change, ("insert", rows), random.Random(1), monkeypatch, True)
    assert len(pipeline["t"]) == 0


def append_unordered(pipeline, rows):
    with pipeline.transaction() as change:
        table = change.reader.definitions.catalog.tables["t"]
        site, read = change._epochs.site(table).by_key(False), PostedRows("t", table.schema, None, table)
        read.is_ordered = False
        change.append("t", StagedRows(site, site.posting.over(rows.to_batches(), read)))


def test_changes_without_an_order(tmp_path, monkeypatch):
    pipeline, _ = begin(tmp_path / "state")
    rows = columns_of([(1, "a", 1, "u"), (2, "a", 1, "u"), (1, "a", 2, "d")], (*COLUMNS, "op"))
    with pytest.raises(DelticError, match="several changes are of the key id = 1, part = 'a', and a batch of Spark"):
        append_unordered(pipeline, rows)
    assert len(pipeline["t"]) == 0


def test_a_table_that_an_older_state_has_elsewhere(tmp_path, monkeypatch):
    """It stays where it is, and this process finds what is replaced."""
    with monkeypatch.context() as patch:
        patch.setattr(options, "key_columns", lambda *_: {})
        pipeline = open_(tmp_path / "state")
        pipeline.sql("CREATE TABLE t (id BIGINT NOT NULL, g BIGINT, PRIMARY KEY (id)); CREATE TABLE g (g BIGINT)")
        pipeline.sql("CREATE VIEW v AS SELECT id FROM t JOIN g USING (g)")
        with pipeline.transaction() as change:
            change.insert("t", [(1, 2), (2, 2)])
            change.insert("g", [(3,)])
        pipeline.checkpoint()
        pipeline.close()
    with open_(tmp_path / "state") as pipeline:
        assert not pipeline._epochs.site(pipeline.catalog.tables["t"]).has_keys
        with pipeline.transaction() as change:
            change.upsert("t", [(1, 2), (1, 3)])
        assert (sorted(pipeline["t"]), list(pipeline["v"])) == ([(1, 3), (2, 2)], [(1,)])
        with pytest.raises(DelticError, match="several rows would have the key id = 2"), pipeline.transaction() as c:
            c.insert("t", [(2, 5)])


ELSEWHERE = (
    SQL.replace("parts USING (part)", "sizes USING (x)")
    .replace("(part STRING,", "(x BIGINT,")
    .replace("TABLE parts", "TABLE sizes")
)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 6))])
def test_a_table_that_is_joined_by_another_column(tmp_path, monkeypatch, seed):
    """Its rows are at home by the key, and are sent from there to where the join wants them."""
    given, rng = Random(seed), random.Random(seed)
    pipelines = pipeline, local = open_(tmp_path / "state"), Pipeline()
    for each in pipelines:
        each.sql(ELSEWHERE)
        with each.transaction() as change:
            change.insert("sizes", [(1, "x"), (2, "y"), (3, "x")])
    assert "t by x: by x" in pipeline.explain("v")
    for step in range(8):
        made, conflicts = [given.one()], rng.choice(["error", "normalize"])
        where = rng.choice(["job", "process"])
        found = outcome(pipeline, made, conflicts, given.rng, monkeypatch, True, where)
        monkeypatch.setattr(pipeline._epochs.engine.executor.placement, "places", ("job",))
        assert found == outcome(local, made, conflicts, given.rng, monkeypatch, False), (step, made)
        same(pipeline, local)
    pipeline.close()
