"""The data source "deltic": views of a state as DataFrames and as streams.

Catches a row that is in no part or in two, an epoch that is mixed with another, a change that is given twice or not at
all when a query is started again, and epochs that are gone without a word.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException, StreamingQueryException

import deltic
from deltic import DelticError, Durability, Pipeline, StreamError
from deltic.errors import StateError, UnsupportedError
from deltic.pipeline.following import source
from deltic.pipeline.following.following import FollowedState, definitions_of
from deltic.pipeline.following.source import ChangeReader, StreamOptions

PROGRAM = """
    CREATE TABLE sale (shop STRING, price INT);
    CREATE VIEW takings AS SELECT shop, sum(price) AS total FROM sale GROUP BY shop;
    CREATE VIEW all_sales AS SELECT * FROM sale
"""


def sell(pipeline, *rows):
    with pipeline.transaction() as change:
        change.insert("sale", rows)


@pytest.fixture
def shop(tmp_path):
    with Pipeline(state=tmp_path / "state", durability=Durability(keep=1)) as pipeline:
        pipeline.sql(PROGRAM)
        sell(pipeline, ("a", 1), ("b", 2))
        sell(pipeline, ("a", 5), ("a", 5))
        yield pipeline


def reader_of(shop, view, **options):
    """What plans a stream in a process of Spark."""
    asked = StreamOptions({"path": str(shop.place), "view": view, "form": "weight", **options})
    return ChangeReader(asked, asked.fields)


def test_a_state_is_followed_while_it_is_written(shop):
    place = shop.place
    followed = FollowedState(place)
    assert (followed.epoch, sorted(followed.pipeline["takings"])) == (2, [("a", 11), ("b", 2)])
    for price in range(1, 5):
        sell(shop, ("b", price))
        followed.go_on()
        shop.checkpoint()
    assert sorted(followed.pipeline["takings"]) == sorted(shop["takings"])
    given = {epoch: changes["takings"].to_pylist() for epoch, changes in followed.changes.items()}
    assert sorted(given) == [3, 4, 5, 6]
    assert given[4] == [
        {"shop": "b", "total": 3, "__weight__": -1},
        {"shop": "b", "total": 5, "__weight__": 1},
    ] or given[4] == [
        {"shop": "b", "total": 5, "__weight__": 1},
        {"shop": "b", "total": 3, "__weight__": -1},
    ]


def test_an_epoch_before_the_last_is_read_while_it_is_retained(shop):
    assert [FollowedState(shop.place, epoch).epoch for epoch in (0, 1, 2)] == [0, 1, 2]
    forget_epochs_before_the_third(shop)
    for price in range(1, 3):
        sell(shop, ("b", price))
    assert [FollowedState(shop.place, epoch).epoch for epoch in (3, 4, 5)] == [3, 4, 5]
    with pytest.raises(StateError, match="epoch 1 is no longer retained; those from epoch 3 on are"):
        FollowedState(shop.place, 1)
    with pytest.raises(StateError, match="there is no epoch 9: the last one is 5"):
        FollowedState(shop.place, 9)


def test_a_state_of_shards_is_followed_and_read_in_parts(tmp_path):
    with Pipeline(engine="spark", shards=3, state=tmp_path / "state") as pipeline:
        pipeline.sql(PROGRAM)
        sell(pipeline, *((name, len(name)) for name in ("a", "bb", "a", "ccc", "dd")))
        followed = FollowedState(tmp_path / "state")
        sell(pipeline, ("bb", 7))
        followed.go_on()
        parts = [followed.part("all_sales", number, 2, counted=False).to_pylist() for number in range(2)]
        assert Counter((row["shop"], row["price"]) for part in parts for row in part) == Counter(pipeline["all_sales"])


def forget_epochs_before_the_third(shop):
    """Of the log a checkpoint removes what stands in files of which there is a later one."""
    shop.checkpoint()
    sell(shop, ("c", 1))
    shop.checkpoint()


def test_who_follows_too_slowly_is_told(shop):
    followed = FollowedState(shop.place)
    for price in range(1, 4):
        sell(shop, ("b", price))
        shop.checkpoint()
    with pytest.raises(StateError, match="what came after epoch 2 is no longer retained"):
        followed.go_on()
    assert followed.is_behind


def test_who_follows_too_slowly_goes_on_by_a_difference(shop):
    """And the changes that it had before stay; a view that is another one by then is told."""
    reader = reader_of(shop, "takings")
    assert reader.latestOffset({"epoch": 1}) == {"epoch": 2}
    sell(shop, ("b", 3))
    shop.checkpoint()
    for name in "bcd":
        sell(shop, (name, 1))
        shop.checkpoint()
    assert reader.latestOffset({"epoch": 2}) == {"epoch": 6}
    (part,) = reader.partitions({"epoch": 1}, {"epoch": 6})
    found = summed([batch.to_pylist() for batch in reader.read(part)])
    assert found == {("a", 1): -1, ("a", 11): 1, ("b", 2): -1, ("b", 6): 1, ("c", 1): 1, ("d", 1): 1}
    reader.commit({"epoch": 6})
    shop.drop("takings")
    shop.sql("CREATE VIEW takings AS SELECT shop, count(*) AS n FROM sale GROUP BY shop")
    for name in "efg":
        sell(shop, (name, 1))
        shop.checkpoint()
    assert reader.latestOffset({"epoch": 6}) == {"epoch": shop.epoch}
    with pytest.raises(StreamError, match="takings is another one now"):
        reader.partitions({"epoch": 6}, {"epoch": shop.epoch})
    with pytest.raises(StateError, match=r"epoch 6 is no longer retained.*Durability\(keep=N\)"):
        reader_of(shop, "takings").latestOffset({"epoch": 6})


@pytest.mark.parametrize("parts", [1, 3])
def test_the_rows_of_a_view_are_sent_before_their_epoch_is_gone(shop, parts):
    reader = reader_of(shop, "all_sales", numpartitions=str(parts))
    end = reader.latestOffset({"epoch": None})
    forget_epochs_before_the_third(shop)
    batches = [batch for part in reader.partitions({"epoch": None}, end) for batch in reader.read(part)]
    assert summed([batch.to_pylist() for batch in batches]) == {("a", 1): 1, ("a", 5): 2, ("b", 2): 1}


def test_executors_read_the_rows_of_a_large_view(shop, monkeypatch):
    reader = reader_of(shop, "all_sales", numpartitions="3")
    parts = reader.partitions({"epoch": None}, {"epoch": 2})
    monkeypatch.setattr(source, "SENT", len(parts[0].value) - 1)
    parts = reader.partitions({"epoch": None}, {"epoch": 2})
    assert [part.value for part in parts] == [(2, 0, 3), (2, 1, 3), (2, 2, 3)]
    batches = [batch for part in parts for batch in reader.read(part)]
    assert summed([batch.to_pylist() for batch in batches]) == {("a", 1): 1, ("a", 5): 2, ("b", 2): 1}


def test_definitions_are_read_without_rows(shop):
    shop.sql("CREATE VIEW shops AS SELECT DISTINCT shop FROM sale")
    assert list(definitions_of(shop.place).catalog.view_schemas) == ["takings", "all_sales", "shops"]


def collected(stream, checkpoint):
    """The batches that a query gives, up to what there is."""
    found = []

    def take(frame, batch):
        found.append(frame.toArrow())

    query = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()
    return [batch.to_pylist() for batch in found]


def summed(batches):
    """What changes with weights add up to."""
    sums = Counter()
    for row in (row for batch in batches for row in batch):
        weight = row.pop("__weight__")
        sums[tuple(row.values())] += weight
    return {row: weight for row, weight in sums.items() if weight}


@pytest.mark.slow
def test_a_view_is_read_and_followed(spark, shop, tmp_path):
    deltic.register(spark)
    read = spark.read.format("deltic").option("view", "all_sales").option("numPartitions", 3)
    assert sorted(map(tuple, read.load(shop.place).collect())) == [("a", 1), ("a", 5), ("a", 5), ("b", 2)]
    stream = deltic.changes_stream(shop["takings"], spark=spark)
    first = collected(stream, tmp_path / "checkpoint")
    assert summed(first) == {("a", 11): 1, ("b", 2): 1}
    sell(shop, ("b", 3))
    sell(shop, ("c", 1))
    again = collected(stream, tmp_path / "checkpoint")
    assert summed(again) == {("b", 2): -1, ("b", 5): 1, ("c", 1): 1}


def test_what_cannot_be_followed_is_refused(spark, shop):
    memory = Pipeline(spark)
    memory.sql(PROGRAM)
    with pytest.raises(StreamError, match="this pipeline is in memory"):
        deltic.changes_stream(memory["takings"])
    with pytest.raises(StreamError, match="expected changes with a column __weight__"):
        deltic.kafka_rows(spark.range(2), "id")
    deltic.register(spark)
    with pytest.raises(PySparkException, match="did you mean `takings`"):
        spark.read.format("deltic").option("view", "taking").load(shop.place).schema  # noqa: B018
    with pytest.raises(PySparkException, match="did you mean `view`"):
        spark.read.format("deltic").option("vew", "takings").load(shop.place).schema  # noqa: B018


@pytest.mark.slow
def test_the_feed_of_a_bag(spark, shop, tmp_path):
    feed = deltic.changes_stream(shop["all_sales"], since=1, form="feed", spark=spark)
    with shop.transaction() as change:
        change.delete("sale", [("a", 1)])
    batches = collected(feed, tmp_path / "checkpoint")
    parts = sorted((r["shop"], r["price"], r["_change_type"], r["_commit_version"]) for b in batches for r in b)
    assert parts == [("a", 1, "delete", 3), ("a", 5, "insert", 2), ("a", 5, "insert", 2)]


@pytest.mark.slow
def test_a_batch_may_have_few_epochs(spark, shop, tmp_path):
    stream = deltic.changes_stream(shop["takings"], since=0, max_rows=1, spark=spark)
    query = stream.writeStream.format("memory").queryName("few").option("checkpointLocation", str(tmp_path / "c"))
    running = query.start()
    running.processAllAvailable()
    progress = [p["numInputRows"] for p in running.recentProgress if p["numInputRows"]]
    running.stop()
    assert progress == [2, 2]


@pytest.mark.slow
def test_epochs_that_are_gone_are_told(spark, shop, tmp_path):
    forget_epochs_before_the_third(shop)
    stream = deltic.changes_stream(shop["takings"], since=1, spark=spark)
    with pytest.raises(StreamingQueryException, match="epoch 1 is no longer retained; those from epoch 3 on are"):
        collected(stream, tmp_path / "checkpoint")


def test_a_view_that_was_dropped_and_made_again_is_told(shop):
    """Its rows of before are taken back by nobody, though it has the same columns."""
    reader, begun = reader_of(shop, "takings"), {"epoch": shop.epoch}
    query = shop.catalog.views["takings"].text
    shop.drop("takings")
    shop.sql(query)
    with pytest.raises(StreamError, match=r"takings is another one now: .* start a new query"):
        reader.partitions(begun, {"epoch": shop.epoch})


@pytest.mark.slow
def test_a_view_that_has_become_another_is_told(spark, shop, tmp_path):
    stream = deltic.changes_stream(shop["takings"], spark=spark)
    collected(stream, tmp_path / "checkpoint")
    shop.drop("takings")
    shop.sql("CREATE VIEW takings AS SELECT shop, count(*) AS n FROM sale GROUP BY shop")
    with pytest.raises(StreamingQueryException, match="start a new query"):
        collected(stream, tmp_path / "checkpoint")


TYPES = {
    "flag": "boolean?", "tiny": "int8", "small": "uint32?", "real": "float64?", "text": "string?", "raw": "binary?",
    "price": "decimal(12, 3)?", "day": "date?", "at": "timestamp?", "local": "timestamp_ntz?",
    "tags": "array(string?)?",
}  # fmt: skip
ROWS = [
    (True, 1, 7, 0.1, 'a"b\n', b"\x00\xff", Decimal("1.250"), dt.date(1969, 12, 31),
     dt.datetime(2026, 3, 1, 12, 0, 0, 123456, dt.UTC), dt.datetime(2026, 3, 1, 12, 0, 0, 1), ["x", None]),
    (None, -2, None, None, None, None, None, None, None, None, None),
]  # fmt: skip


@pytest.mark.slow
def test_records_for_kafka_are_read_as_they_were_written(spark, tmp_path):
    """Changes of a view to (key, value), and from there into the table of another pipeline; without a broker."""
    with Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.table("t", TYPES, bag=True)
        pipeline.sql("CREATE VIEW v AS SELECT * FROM t")
        with pipeline.transaction() as change:
            change.insert("t", [*ROWS, ROWS[0]])
        records = deltic.kafka_rows(deltic.changes_stream(pipeline["v"], spark=spark), key="tiny")
        assert records.columns == ["key", "value"]
        other = Pipeline(spark)
        other.table("t", TYPES, bag=True)
        query = other.stream(records, into="t").option("checkpointLocation", str(tmp_path / "c"))
        query.trigger(availableNow=True).start().awaitTermination()
        assert sorted(other["t"], key=str) == sorted(pipeline["v"], key=str)
        assert len(other["t"]) == 3


@pytest.mark.slow
def test_types_and_parts_arrive_as_they_left(spark, tmp_path):
    with Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.table("t", TYPES, bag=True)
        with pipeline.transaction() as change:
            change.insert("t", ROWS * 5)
        deltic.register(spark)
        read = spark.read.format("deltic").option("view", "t")
        for parts in (1, 2, 7):
            found = read.option("numPartitions", parts).load(pipeline.place)
            assert found.schema == pipeline["t"].to_spark().schema
            assert sorted(map(str, found.toArrow().to_pylist())) == sorted(
                map(str, pipeline["t"].to_spark().toArrow().to_pylist())
            )


def test_options_are_checked():
    from deltic.pipeline.following.source import StreamOptions

    for options, entry in [
        ({"view": "v"}, "needs the directory"),
        ({"path": "p"}, "needs a view"),
        ({"path": "p", "view": "v", "epoch": "last"}, "it is a number"),
        ({"path": "p", "view": "v", "form": "weights"}, "did you mean `weight`"),
    ]:
        with pytest.raises(DelticError, match=entry):
            StreamOptions(options)


def test_the_format_is_no_sink():
    from deltic.pipeline.following.source import DelticSource

    for write in (DelticSource({}).writer, DelticSource({}).streamWriter):
        with pytest.raises(UnsupportedError, match=r"is read alone: rows come into a table by its pipeline"):
            write(None, overwrite=False)
