"""DataFrames into a pipeline on shards: Spark's tasks write the rows, and the driver has names of files.

Catches rows that come through the driver, or get lost on the way; a failing task that leaves something behind; and
sources and streams that are read in another way than by the local engine.
"""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

import deltic
from deltic import External, Shards
from deltic.engine.executors.shards.staged_rows import StagedRows
from deltic.errors import ChangeError, DataError
from tests.engine.executors.shards.jobs import only_jobs
from tests.pipeline.streaming.files import Folder

SQL = """
    CREATE TABLE sale (id BIGINT NOT NULL, shop STRING, price DECIMAL(9, 2), day DATE, PRIMARY KEY (id));
    CREATE TABLE shop (shop STRING, land STRING);
    CREATE VIEW income AS
        SELECT land, count(*) AS n, sum(price) AS price, max(day) AS last
        FROM sale JOIN shop USING (shop) GROUP BY land
"""
SALE = "id long, shop string, price decimal(9, 2), day date"


@pytest.fixture(autouse=True)
def _jobs(monkeypatch):
    only_jobs(monkeypatch)


@pytest.fixture
def pipelines(spark, tmp_path):
    """One on shards, whose epochs are jobs, and one that has the same rows in its process."""
    made = [
        deltic.Pipeline(spark, engine="spark", shards=Shards(2, directory=tmp_path / "shards", executor="job")),
        deltic.Pipeline(),
    ]
    for pipeline in made:
        pipeline.sql(SQL)
    return made


def insert(pipelines, table, frame):
    """Insert a DataFrame; what stood for it in the transaction on shards."""
    given = []
    for pipeline in pipelines:
        with pipeline.transaction() as change:
            change.insert(table, frame)
            given.append(change.operations[-1].rows)
    return given[0]


def refused(pipeline, frame, why):
    """Insert a DataFrame, beside other rows, that cannot be."""
    with pytest.raises(Exception, match=why):
        insert_both(pipeline, frame)


def insert_both(pipeline, frame):
    with pipeline.transaction() as change:
        change.insert("shop", [("new", "land")])
        change.insert("sale", frame)


def same(pipelines, *names):
    for name in names or ("income",):
        first, second = (sorted(map(repr, pipeline[name])) for pipeline in pipelines)
        assert first == second


@pytest.mark.slow
def test_rows_of_a_dataframe_do_not_pass_the_driver(spark, pipelines):
    shops = spark.createDataFrame(
        [(f"s{n}", f"l{n % 3}") for n in range(6)] + [(None, None)], "shop string, land string"
    )
    insert(pipelines, "shop", shops)
    sales = spark.range(30_000, numPartitions=2).selectExpr(
        "id",
        "if(id % 7 = 6, NULL, concat('s', id % 7)) AS shop",
        "CAST(id % 1000 / 8 AS DECIMAL(9, 2)) AS price",
        "date_add(DATE'2026-01-01', CAST(id % 300 AS INT)) AS day",
    )
    given = insert(pipelines, "sale", sales)
    assert isinstance(given, StagedRows)
    assert all(message.file and not message.content for message in given.messages)
    same(pipelines)
    for pipeline in pipelines:
        with pipeline.transaction() as change:
            change.delete("sale", sales.where("id % 5 = 0"))
            change.insert("sale", [(30_001, "s1", Decimal("1.25"), None)])
    same(pipelines, "income", "sale")
    pipeline, before = pipelines[0], sorted(pipelines[0]["income"])
    refused(pipeline, spark.createDataFrame([(30_001, "s2", None, None)], SALE), r"several rows .* key id = 30001: ")
    small = spark.createDataFrame([(1, "s1", None, None), (None, "s2", None, None)], SALE).coalesce(1)
    refused(pipeline, small, r"insert: table sale, partition 0, row 2, column id: ")
    refused(
        pipeline, sales.where("assert_true(id < 5) IS NULL").withColumn("id", sales.id + 40_000), r"id.* is not true"
    )
    assert (sorted(pipeline["income"]), pipeline.epoch) == (before, pipelines[1].epoch)


@pytest.mark.slow
def test_changes_by_key_of_a_dataframe_do_not_pass_the_driver(spark, tmp_path):
    """Rows that come in place of others, keys of rows that go, and both with a sign; the last of a key counts."""
    shards = Shards(2, directory=tmp_path / "shards", executor="job")
    pipelines = deltic.Pipeline(spark, engine="spark", shards=shards), deltic.Pipeline()
    for pipeline in pipelines:
        pipeline.sql(f"{SQL.partition(';')[0]}; CREATE VIEW income AS SELECT shop, sum(price) FROM sale GROUP BY shop")
        with pipeline.transaction() as change:
            change.insert("sale", [(n, f"s{n % 3}", None, None) for n in range(40)])
    news = spark.range(60, numPartitions=3).selectExpr(
        "id % 50 AS id", "concat('s', id % 4) AS shop", "CAST(id AS DECIMAL(9, 2)) AS price", "DATE'2026-01-01' AS day"
    )
    signed = news.selectExpr("*", "if(id % 3 = 0, 'd', 'u') AS op").where("id < 40")
    keys = spark.range(5).selectExpr("id * 7 AS id")
    wanted = {"upsert": (news, 50), "change": (signed, 36), "delete": (keys.where("id % 3 > 0"), 33)}
    for kind, (frame, rows) in wanted.items():
        for pipeline in pipelines:
            with pipeline.transaction() as change:
                getattr(change, kind)("sale", frame)
                given = change.operations[-1]
            assert isinstance(getattr(given, "rows", None), StagedRows) is (pipeline is pipelines[0])
            assert len(pipeline["sale"]) == rows
        same(pipelines, "income", "sale")
    for pipeline in pipelines:
        with (
            pytest.raises(ChangeError, match="delete by key rows that are absent: id = 0;"),
            pipeline.transaction() as c,
        ):
            c.delete("sale", keys.where("id = 0"))
        with pytest.raises(DataError, match=r"upsert: table sale.* row 1, column id"), pipeline.transaction() as c:
            c.upsert("sale", news.limit(1).selectExpr("CAST(NULL AS LONG) AS id", "shop", "price", "day"))
        with pipeline.transaction() as change:
            change.insert("sale", [(1000, "s1", None, None)])
            change.upsert("sale", news.withColumn("id", news.id + 990))
    same(pipelines, "income", "sale")


@pytest.mark.slow
def test_changes_by_key_of_dataframes_one_after_the_other(spark, tmp_path):
    """A job settles them, or the driver, where they are few; both tell what is late, by a time beside the key."""
    shards = Shards(2, directory=tmp_path / "shards", executor="job")
    pipelines = [deltic.Pipeline(spark, engine="spark", shards=shards) for _ in range(2)]
    found = []
    for pipeline, few in zip(pipelines, (1 << 16, 1 << 30), strict=True):
        pipeline.sql(
            "CREATE TABLE visit (id BIGINT NOT NULL PRIMARY KEY, at TIMESTAMP LATENESS INTERVAL 1 HOUR, page STRING);"
            "CREATE VIEW pages AS SELECT page, count(*) AS n FROM visit GROUP BY page"
        )
        pipeline._epochs.engine.executor.there.holder.few = few
        hours = spark.range(80_000, numPartitions=3).selectExpr(
            "id", "timestamp_seconds(1000000 + id) AS at", "concat('p', id % 5) AS page"
        )
        with pipeline.transaction() as change:
            change.upsert("visit", hours)
        with pipeline.transaction() as change:
            change.upsert("visit", hours.selectExpr("id + 40000 AS id", "at + INTERVAL 11 HOURS AS at", "page"))
            change.update("visit", hours.where("id % 2 = 0").selectExpr("id", "'even' AS page"))
            change.delete("visit", [(79_999,)])
        (late,) = change.report.late
        found.append((change.report.rows_in, late.count, late.rows.num_rows, pipeline.watermarks))
    assert found[0] == found[1]
    same(pipelines, "pages")


@pytest.mark.slow
def test_sources_of_spark_are_loaded_by_tasks(spark, tmp_path):
    frame = spark.range(1, 500).selectExpr("id", "concat('n', id % 9) AS name", "id % 4 AS version")
    frame.createOrReplaceTempView("posted_orders")
    shards = Shards(2, directory=tmp_path / "shards", executor="job")
    pipeline = deltic.Pipeline(spark, engine="spark", shards=shards)
    pipeline.table("given", source=frame)
    pipeline.table("named", key="id", source=External("spark", table="posted_orders", changed="version"))
    pipeline.sql(
        "CREATE VIEW counted AS SELECT name, count(*) AS n FROM given JOIN named USING (id, name) GROUP BY name"
    )
    told = pipeline.refresh().sources
    assert [(each.how, each.rows_read, each.inserted, each.deleted) for each in told.values()] == [
        ("loaded, by tasks", 499, 499, 0)
    ] * 2
    assert sorted(pipeline["counted"]) == [(f"n{n}", len([i for i in range(1, 500) if i % 9 == n])) for n in range(9)]
    frame.union(spark.sql("SELECT 500L, 'n0', 3L")).createOrReplaceTempView("posted_orders")
    told = pipeline.refresh().sources
    assert (told["given"].how, told["given"].inserted) == ("compared, by tasks", 0)
    assert (told["named"].how, told["named"].inserted) == ("version from 3 on, by tasks", 1)
    assert len(pipeline["named"]) == 500


@pytest.mark.slow
def test_sources_of_spark_are_compared_by_tasks(spark, tmp_path, monkeypatch):
    """Snapshots, and rows from a change column on, beside tables with a key and without: as by the local engine."""
    monkeypatch.setattr("deltic.pipeline.connectors.tasks.FEW", -1)
    rng, there = random.Random(11), {n: (n, f"n{n % 5}", None, 0) for n in range(60)}
    shards = Shards(2, directory=tmp_path / "shards", executor="job")
    pipelines = deltic.Pipeline(spark, engine="spark", shards=shards), deltic.Pipeline(spark, engine="local")
    tables = [("whole", "id", {}), ("since", (), {"changed": "version"}), ("keyed", "id", {"changed": "version"})]

    def show():
        rows = list(there.values())
        rng.shuffle(rows)
        frame = spark.createDataFrame(rows, "id long, name string, price decimal(9, 2), version long")
        frame.repartition(3).createOrReplaceTempView("compared_by_tasks")

    show()
    for pipeline in pipelines:
        for name, key, options in tables:
            pipeline.table(name, key=key, source=External("spark", table="compared_by_tasks", **options))
            pipeline.sql(f"CREATE VIEW n_{name} AS SELECT name, count(*) AS n, sum(id) AS s FROM {name} GROUP BY name")
        pipeline.refresh()
    monkeypatch.setattr(StagedRows, "to_arrow", None)
    for n in rng.sample(sorted(there), 9):
        there[n] = (n, f"n{rng.randrange(5)}", Decimal("0.50"), 1)
    there |= {n: (n, None, None, rng.choice([None, 1])) for n in range(60, 65)}
    for n in rng.sample(sorted(there), 4):
        del there[n]
    show()
    told, others = (pipeline.refresh().sources for pipeline in pipelines)
    for name, *_ in tables:
        assert "by tasks" in told[name].how
        assert (told[name].inserted, told[name].deleted) == (others[name].inserted, others[name].deleted)
    same(pipelines, *(n for name, *_ in tables for n in (name, f"n_{name}")))
    pipelines[0].refresh(full=True)
    wanted = sorted(map(repr, there.values()))
    assert all(sorted(map(repr, pipelines[0][name])) == wanted for name, *_ in tables)


@pytest.mark.slow
def test_batches_of_a_stream_are_written_by_tasks(spark, tmp_path):
    shards = Shards(2, directory=tmp_path / "shards", executor="job")
    rng, there, folder = random.Random(8), [], Folder(tmp_path, "who string, whom string, op string")
    pipeline = deltic.Pipeline(spark, engine="spark", shards=shards)
    pipeline.sql("CREATE TABLE follows (who STRING, whom STRING)")
    pipeline.sql("CREATE VIEW fans AS SELECT whom, count(*) AS n FROM follows GROUP BY whom")
    for _ in range(2):
        gone = [there.pop(rng.randrange(len(there))) for _ in range(len(there) // 2)]
        come = [(f"p{rng.randrange(9)}", f"p{rng.randrange(9)}") for _ in range(12)]
        there += come
        folder.put(*({"who": a, "whom": b, "op": op} for op, rows in (("+", come), ("-", gone)) for a, b in rows))
    folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
    assert pipeline.epoch == 2
    assert sorted(pipeline["follows"]) == sorted(there)
    whom = [whom for _, whom in there]
    assert sorted(pipeline["fans"]) == sorted((name, whom.count(name)) for name in set(whom))
    folder.forget_commit(1)
    folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
    assert pipeline.epoch == 2
    folder.put({"who": "a", "whom": None, "op": "x"})
    with pytest.raises(Exception, match=r"table follows, partition \d+, row 1, column op"):
        folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
    assert (pipeline.epoch, sorted(pipeline["follows"])) == (2, sorted(there))


@pytest.mark.slow
def test_batches_of_a_stream_by_key_are_written_by_tasks(spark, tmp_path, monkeypatch):
    shards = Shards(2, directory=tmp_path / "shards", executor="job")
    rng, there, folder = random.Random(9), {}, Folder(tmp_path, "id long, x long, op string, at long")
    pipeline = deltic.Pipeline(spark, engine="spark", shards=shards)
    pipeline.sql("CREATE TABLE t (id BIGINT NOT NULL, x BIGINT, PRIMARY KEY (id))")
    pipeline.sql("CREATE VIEW total AS SELECT sum(x) AS x FROM t")
    for _ in range(3):
        changes = [(rng.randrange(9), rng.randrange(99), rng.choice("uuud"), at) for at in range(20)]
        known = {}
        for key, x, op, _ in changes:
            known[key] = (x, op)
        for key, (x, op) in known.items():
            if op == "u":
                there[key] = x
            elif there.pop(key, None) is None:
                changes = [each for each in changes if each[0] != key]
        rng.shuffle(changes)
        folder.put(*({"id": key, "x": x, "op": op, "at": at} for key, x, op, at in changes))
    digests = lambda frame, *_: frame.toArrow() if len(frame.columns) == 1 else pytest.fail("rows pass the driver")  # noqa: E731
    monkeypatch.setattr("deltic.pipeline.streaming.forms.from_dataframe", digests)
    folder.drain(pipeline.stream(folder.frame(spark), into="t", order="at"))
    assert pipeline.epoch == 3
    assert dict(pipeline["t"]) == there
    folder.forget_commit(2)
    folder.drain(pipeline.stream(folder.frame(spark), into="t", order="at"))
    assert (pipeline.epoch, dict(pipeline["t"])) == (3, there)
    other = Folder(tmp_path / "other", "id long, x long, op string")
    other.put({"id": 77, "x": 1, "op": "u"}, {"id": 77, "x": 2, "op": "u"})
    with pytest.raises(Exception, match=r"several changes are of the key id = 77, and a batch of Spark has no order"):
        other.drain(pipeline.stream(other.frame(spark), into="t", name="other"))
    assert dict(pipeline["t"]) == there
