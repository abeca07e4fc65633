"""Views that are published: to folders of Parquet files, Delta tables, and tables of databases.

Catches a row that is published twice or stays where it should go, a crash between the epoch and its publication, or in
the midst of that, after which a target has something else than an epoch, files that are written though none of their
rows changed, and a target that others have changed and that is believed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import random
import sqlite3
from collections import Counter

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltic
from deltic import DelticError, External
from tests.pipeline.durability.crashing import Faulty, Killed, disk
from tests.pipeline.durability.test_crashes import end

needs_delta = pytest.mark.skipif(
    not importlib.util.find_spec("deltalake"), reason="the extra deltic[delta] is optional"
)
DUCKDB, DELTA = pytest.param("duckdb", marks=pytest.mark.slow), pytest.param("delta", marks=needs_delta)
PROGRAM = """
CREATE TABLE sale (id BIGINT, shop STRING, price DECIMAL(10, 2), day DATE, at TIMESTAMP, weight DOUBLE);
CREATE VIEW takings AS SELECT shop, sum(price) AS total, max(day) AS day, max(at) AS at, min(weight) AS least
    FROM sale GROUP BY shop;
CREATE VIEW cheap AS SELECT shop, price, array(day, NULL) AS days FROM sale WHERE price < 5
"""


def rows(rng):
    shops = [f"shop {n}" for n in range(40)]
    values = (
        ["1.50", "7.25", None],
        ["2026-01-02", None],
        ["2026-01-02T03:04:05Z", None],
        [0.5, -0.0, "inf", None],
    )
    drawn = ([rng.choice(each) for each in values] for _ in range(rng.choice((1, 3, 30))))
    names = ("price", "day", "at", "weight")
    return [
        {"op": "+", "id": rng.randrange(9), "shop": rng.choice(shops), **dict(zip(names, row, strict=True))}
        for row in drawn
    ]


def change(pipeline, rng):
    with pipeline.transaction() as transaction:
        transaction.change("sale", [json.dumps(row) for row in rows(rng)])
        if rng.random() < 0.5:
            held = [row for row in pipeline["sale"] if rng.random() < 0.2]
            transaction.delete("sale", held)


def as_bag(found):
    return Counter(repr(row).replace("-0.0", "0.0") for row in found)


def shown(pipeline, view):
    return as_bag(tuple(row.values()) for row in pipeline[view].to_arrow().to_pylist())


def of_parquet(path):
    return as_bag(tuple(row.values()) for row in pq.read_table(path).to_pylist())


def of_delta(path):
    import deltalake

    found = pa.table(deltalake.DeltaTable(str(path)).scan())
    return as_bag(tuple(row.values()) for row in found.to_pylist())


def of_merged(path):
    """The rows of a folder that readers merge: those of its files, and the changes since."""
    listed = json.loads((path / "_deltic.json").read_text())["files"]
    result = of_parquet(path / listed["rows"])
    if listed["changes"]:
        for row in pq.read_table(path / listed["changes"]).to_pylist():
            result[repr(tuple(row.values())[:-1]).replace("-0.0", "0.0")] += row["__weight__"]
    assert all(count >= 0 for count in result.values())
    return +result


READERS = {"parquet": of_parquet, "by": of_parquet, "delta": of_delta, "merge_on_read": of_merged}


def targets(folder, kind):
    """A target, and what reads it as rows that tests compare."""
    database = folder / f"shop.{kind}"
    return {
        "parquet": External("parquet", path=folder / "takings", rows=4),
        "by": External("parquet", path=folder / "takings", rows=4, by=["shop"]),
        "delta": External("delta", path=folder / "takings", rows=4),
        "merge_on_read": External("merge_on_read", path=folder / "takings"),
        "sqlite": External("database", url=f"sqlite:///{database}", table="takings", key="shop"),
        "duckdb": External("database", url=f"duckdb:///{database}", table="takings", key="shop"),
    }[kind]


def check(pipeline, folder, kind):
    if kind in ("sqlite", "duckdb"):
        other = deltic.Pipeline()
        columns = pipeline.views["takings"]
        source = External("database", url=targets(folder, kind)["url"], table="takings")
        other.table("takings", columns, source=source)
        other.refresh()
        assert shown(other, "takings") == shown(pipeline, "takings")
    else:
        assert READERS[kind](folder / "takings") == shown(pipeline, "takings")


@pytest.mark.parametrize("kind", ["parquet", "by", "merge_on_read", "sqlite", DUCKDB, DELTA])
@pytest.mark.parametrize("steps", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_random_changes(tmp_path, kind, steps):
    rng, state = random.Random(f"{kind} {steps}"), tmp_path / "state"
    pipeline = deltic.Pipeline(state=state, program=PROGRAM)
    pipeline.publish("takings", targets(tmp_path, kind))
    for step in range(steps):
        for _ in range(rng.choice((0, 1, 2))):
            change(pipeline, rng)
        if rng.random() < 0.3:
            pipeline.close()
            pipeline = deltic.Pipeline(state=state)
        pipeline.refresh()
        check(pipeline, tmp_path, kind)
        assert pipeline.refresh().report is None, step
    pipeline.close()


@pytest.mark.parametrize("kind", ["parquet", "merge_on_read", DELTA])
def test_bags_and_composite_values(tmp_path, kind):
    rng, pipeline = random.Random(kind), deltic.Pipeline()
    pipeline.sql(PROGRAM)
    pipeline.publish("cheap", targets(tmp_path, kind))
    for _ in range(5):
        pipeline.refresh()
        assert READERS[kind](tmp_path / "takings") == shown(pipeline, "cheap")
        change(pipeline, rng)


def killed_at(folder, at, how, kind):
    system, pipeline, rng = Faulty(at, how), None, random.Random(at)
    with disk(system):
        with contextlib.suppress(Killed):
            pipeline = deltic.Pipeline(state=folder / "state", program=PROGRAM, durability=deltic.Durability(epochs=4))
            pipeline.publish("takings", targets(folder, "sqlite"))
            pipeline.publish("takings", targets(folder, kind))
            for _ in range(3):
                change(pipeline, rng)
                pipeline.refresh()
            pipeline.close()
        end(pipeline)
    return system.dead


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("every", [29, pytest.param(11, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["parquet", "merge_on_read", DELTA])
def test_crashes_between_all_steps(tmp_path, kind, every):
    at = 1
    while killed_at(tmp_path / f"{at}", at, "killed", kind):
        folder = tmp_path / f"{at}"
        with deltic.Pipeline(state=folder / "state", program=PROGRAM) as pipeline:
            pipeline.publish("takings", targets(folder, "sqlite"))
            pipeline.publish("takings", targets(folder, kind))
            pipeline.refresh()
            check(pipeline, folder, "sqlite")
            check(pipeline, folder, kind)
            change(pipeline, random.Random(at))
            pipeline.refresh()
            check(pipeline, folder, kind)
        at += every
    assert at > 50


@pytest.mark.parametrize("kind", ["parquet", DELTA])
def test_what_is_written_follows_the_change(tmp_path, kind):
    with deltic.Pipeline(state=tmp_path / "state", program="CREATE TABLE n (i BIGINT, t STRING)") as pipeline:
        pipeline.sql("CREATE VIEW takings AS SELECT i, count(*) AS n FROM n GROUP BY i")
        pipeline.publish("takings", External(kind, path=tmp_path / "takings", rows=100))
        with pipeline.transaction() as transaction:
            transaction.insert("n", [(i, "a") for i in range(10_000)])
        (first,) = pipeline.refresh().published.values()
        assert (first.files, first.rows) == (100, 10_000)
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        for number in (5, 77):
            with pipeline.transaction() as transaction:
                transaction.insert("n", [(number, "b")])
            (told,) = pipeline.refresh().published.values()
            assert (told.files, told.kept, told.how) == (
                2 if number != 5 else told.files,
                100 - told.files,
                "changed files",
            )
            assert told.rows < 300
            assert told.bytes < first.bytes / 25
            check(pipeline, tmp_path, kind)


def test_a_reader_sees_one_epoch(tmp_path):
    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    pipeline.publish("takings", tmp_path / "takings")
    rng, seen = random.Random(1), []
    for _ in range(3):
        change(pipeline, rng)
        pipeline.refresh()
        seen.append(((tmp_path / "takings").resolve(), shown(pipeline, "takings")))
    for folder, rows_then in seen[1:]:
        assert of_parquet(folder) == rows_then
    assert not seen[0][0].exists()
    found = duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/takings/*.parquet'").fetchall()
    assert found == [(len(pipeline["takings"]),)]


@pytest.mark.parametrize("kind", ["parquet", DELTA])
@pytest.mark.parametrize("what", ["a file", "the listing", "the rows of a file"])
def test_a_damaged_target_is_made_good(tmp_path, kind, what):
    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    pipeline.publish("takings", targets(tmp_path, "parquet" if kind == "parquet" else "delta"))
    change(pipeline, random.Random(3))
    pipeline.refresh()
    files = sorted((tmp_path / "takings").glob("*.parquet"))
    if what == "the listing":
        next((tmp_path / "takings").rglob("_deltic.json")).write_text("{")
    for file in files if what != "the listing" else []:
        file.write_bytes(b"PAR1") if what == "a file" else pq.write_table(pq.read_table(file).slice(1), file)
    with pipeline.transaction() as transaction:
        transaction.delete("sale", list(pipeline["sale"])[:1])
    pipeline.refresh(full=True)
    check(pipeline, tmp_path, kind)


@needs_delta
def test_a_delta_table_that_others_have_written_to(tmp_path):
    import deltalake

    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    pipeline.publish("takings", targets(tmp_path, "delta"))
    change(pipeline, random.Random(4))
    pipeline.refresh()
    deltalake.DeltaTable(str(tmp_path / "takings")).delete()
    pipeline.refresh()
    check(pipeline, tmp_path, "delta")
    deltalake.DeltaTable(str(tmp_path / "takings")).optimize.compact()
    change(pipeline, random.Random(5))
    pipeline.refresh()
    check(pipeline, tmp_path, "delta")


def test_a_jdbc_address_of_a_database_that_python_knows(tmp_path):
    """Spark reads by it, and Deltic writes by Python's interface to the same database."""
    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    url = f"jdbc:sqlite:{tmp_path / 'shop.sqlite'}"
    pipeline.publish("takings", External("database", url=url, table="takings", key="shop"))
    change(pipeline, random.Random(1))
    pipeline.refresh()
    check(pipeline, tmp_path, "sqlite")
    assert pipeline["takings"]


@pytest.mark.parametrize("shop", ["concat(shop, '!')", "coalesce(concat(shop, '!'), '')"])
def test_rows_of_a_view_that_was_replaced_do_not_stay_in_a_database(tmp_path, shop):
    """Whether the columns of the view may be NULL as before or not."""
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE sale (shop STRING, n INT); CREATE VIEW takings AS SELECT DISTINCT shop FROM sale")
    pipeline.publish("takings", targets(tmp_path, "sqlite"))
    pipeline.sql("INSERT INTO sale VALUES ('north', 1), ('south', 2)")
    pipeline.refresh()
    pipeline.sql(f"CREATE OR REPLACE VIEW takings AS SELECT DISTINCT {shop} AS shop FROM sale")
    pipeline.refresh()
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        assert sorted(database.execute("SELECT shop FROM takings")) == [("north!",), ("south!",)]


def test_a_database_that_others_have_written_to(tmp_path):
    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    pipeline.publish("takings", targets(tmp_path, "sqlite"))
    change(pipeline, random.Random(4))
    pipeline.refresh()
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        database.execute("UPDATE deltic_published SET publication = 'another'")
        database.execute("UPDATE takings SET total = 7")
        database.execute("INSERT INTO takings VALUES ('none', 1, NULL, NULL, NULL)")
        database.commit()
    pipeline.refresh()
    check(pipeline, tmp_path, "sqlite")


def test_a_table_of_somebody_else_is_left_alone(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        database.execute("CREATE TABLE takings (shop TEXT)")
        database.execute("INSERT INTO takings VALUES ('theirs')")
        database.commit()
        pipeline = deltic.Pipeline()
        pipeline.sql(PROGRAM)
        pipeline.publish("takings", targets(tmp_path, "sqlite"))
        with pytest.raises(DelticError, match="the table is one of something else"):
            pipeline.refresh()
        assert database.execute("SELECT * FROM takings").fetchall() == [("theirs",)]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "takings").mkdir()
    pq.write_table(pa.table({"theirs": [1]}), tmp_path / "takings" / "part-0.parquet")
    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    with pytest.raises(DelticError, match="there is something else; remove it, or publish to another path"):
        pipeline.publish("takings", tmp_path / "takings")
    assert not pipeline.publications
    assert of_parquet(tmp_path / "takings") == as_bag([(1,)])


@needs_delta
def test_a_delta_table_of_somebody_else_is_left_alone(tmp_path):
    import deltalake

    deltalake.write_deltalake(str(tmp_path / "takings"), pa.table({"theirs": [1]}))
    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    with pytest.raises(DelticError, match="a Delta table of something else"):
        pipeline.publish("takings", targets(tmp_path, "delta"))
    assert not pipeline.publications
    assert of_delta(tmp_path / "takings") == as_bag([(1,)])


def test_what_a_database_does_not_hold_is_refused(tmp_path):
    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    pipeline.publish("takings", targets(tmp_path, "sqlite"))
    with pipeline.transaction() as transaction:
        transaction.insert("sale", [(1, "ada", 1, None, None, 0.5)])
    pipeline.refresh()
    with pipeline.transaction() as transaction:
        transaction.insert("sale", [(1, "bob", 1, None, None, float("nan"))])
    for _ in range(2):
        with pytest.raises(DelticError, match="SQLite has no NaN"):
            pipeline.refresh()
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        assert database.execute("SELECT shop FROM takings").fetchall() == [("ada",)]


def test_what_is_published_is_declared_once(tmp_path):
    with deltic.Pipeline(state=tmp_path / "state", program=PROGRAM) as pipeline:
        pipeline.publish("takings", tmp_path / "takings")
        pipeline.refresh()
    with deltic.Pipeline(state=tmp_path / "state", program=PROGRAM) as pipeline:
        epoch = pipeline.epoch
        pipeline.publish("takings", tmp_path / "takings")
        assert len(pipeline.publications) == 1
        assert pipeline.refresh().epoch == epoch
        pipeline.unpublish("takings")
        with pytest.raises(DelticError, match="takings is not published"):
            pipeline.unpublish("takings")
    with deltic.Pipeline(state=tmp_path / "state", program=PROGRAM) as pipeline:
        assert not pipeline.publications


@pytest.mark.parametrize(
    ("to", "message"),
    [
        (
            lambda _: External("csv", path="x"),
            "csv is no target; the kinds of targets are parquet, delta",
        ),
        (lambda _: External("database", url="sqlite:///a.db", table="t"), "name its columns with key="),
        (
            lambda _: External("database", url="jdbc:db2://x", table="t", key="shop"),
            "published by JDBC to sqlite, duckdb",
        ),
        (lambda _: External("parquet", path="x", headers=True), "there is no option 'headers'"),
        (lambda folder: External("parquet", path=folder, by="shp"), "did you mean `shop`?"),
        (lambda folder: folder.parent, "there is something else"),
        (lambda folder: External("parquet", path=folder, rows="many"), "is a number from 1 on, found 'many'"),
        (lambda folder: External("database", url=f"sqlite:///{folder}.db", table="t", key="day"), "NULL in its key"),
    ],
)
def test_targets_that_are_none(tmp_path, to, message):
    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    with pipeline.transaction() as transaction:
        transaction.insert("sale", [(1, "ada", 1, None, None, None)])
    with pytest.raises(DelticError) as raised:  # noqa: PT012
        pipeline.publish("takings", to(tmp_path / "takings"))
        pipeline.refresh()
    assert message in str(raised.value)
    with pytest.raises(DelticError, match="did you mean `takings`"):
        pipeline.publish("taking", tmp_path)
