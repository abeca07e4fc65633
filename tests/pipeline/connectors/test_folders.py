"""Tables over folders of files that come and go.

Catches a file that is read twice or not at all, rows of a removed file that stay, a crash between two steps of a
refresh after which either happens, a refresh that reads what did not change, and one that half of its sources reject.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltic
from deltic import CatalogError, DataError, DelticError, External, ProgramError
from tests.pipeline.connectors.folders import VIEW, change, expected, rows, shown
from tests.pipeline.durability.crashing import Faulty, Killed, disk
from tests.pipeline.durability.test_crashes import end

TABLE = "CREATE TABLE orders (id BIGINT, shop STRING, price BIGINT, day DATE) USING {} LOCATION '{}';"


def defined(pipeline, folder, kind="parquet"):
    if "orders" not in pipeline:
        pipeline.sql(TABLE.format(kind, folder) + VIEW)
    return pipeline


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "orders"
    made.mkdir()
    return made


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_random_folders(tmp_path, folder, ending, seed):
    rng = random.Random(seed)
    pipeline = defined(deltic.Pipeline(state=tmp_path / "state"), folder, ending[1:])
    for _ in range(12 if seed < 2 else 200):
        for _ in range(rng.choice((0, 1, 1, 3))):
            change(folder, rng, ending)
        if rng.random() < 0.2:
            pipeline.close()
            pipeline = deltic.Pipeline(state=tmp_path / "state")
        pipeline.refresh(full=rng.random() < 0.1)
        assert shown(pipeline) == expected(folder, ending)
    kept = {p.name for p in (tmp_path / "state" / "sources").iterdir()} if any(folder.iterdir()) else set()
    files = pipeline.positions["source orders"]["at"]["files"].values()
    used = {copy["file"] for file in files for copy in file["copy"]}
    assert {f"sources/{name}" for name in kept} == used
    pipeline.close()


def killed_at(folder, place, at, how, rng):
    """Refresh on a disk on which the process ends; whether it did."""
    system, pipeline = Faulty(at, how), None
    with disk(system):
        with contextlib.suppress(Killed):
            pipeline = deltic.Pipeline(state=place, durability=deltic.Durability(epochs=3))
            defined(pipeline, folder).refresh()
            change(folder, rng, ".parquet")
            pipeline.refresh()
            pipeline.close()
        end(pipeline)
    return system.dead


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("every", [9, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["killed", "power"])
def test_crashes_between_all_steps(tmp_path, folder, how, every):
    rng, at = random.Random(how), 1
    while killed_at(folder, tmp_path / f"state {at}", at, how, rng):
        change(folder, rng, ".parquet")
        with defined(deltic.Pipeline(state=tmp_path / f"state {at}"), folder) as pipeline:
            pipeline.refresh()
            assert shown(pipeline) == expected(folder, ".parquet"), at
            assert pipeline.refresh().report is None
        at += every
    assert at > 20


def test_what_is_read_follows_the_change(tmp_path, folder):
    for number in range(20):
        pq.write_table(rows(random.Random(3)), folder / f"{number}.parquet")
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.table("orders", source=folder)
        assert pipeline.tables["orders"].names == ("id", "shop", "price")
        assert pipeline.refresh().sources["orders"].files_read == 20
        told = pipeline.refresh()
        assert (told.sources["orders"].files_read, told.report) == (0, None)
        size = pq.write_table(rows(random.Random(4)), folder / "7.parquet") or (folder / "7.parquet").stat().st_size
        (folder / "8.parquet").unlink()
        assert pipeline.pending() == {"orders": f"1 file to read, {size:,} bytes; 2 to take back"}
        told = pipeline.refresh().sources["orders"]
        assert (told.files_read, told.bytes_read) == (1, size)
        assert pipeline["orders"].rows().count() == sum(pq.read_metadata(f).num_rows for f in folder.iterdir())


def test_a_copy_that_is_lost_is_made_good(tmp_path, folder):
    with defined(deltic.Pipeline(state=tmp_path / "state"), folder) as pipeline:
        for seed in range(4):
            change(folder, random.Random(seed), ".parquet")
        pipeline.refresh()
        for copy in (tmp_path / "state" / "sources").iterdir():
            copy.write_bytes(copy.read_bytes()[:70])
        next(iter(folder.rglob("*.parquet"))).unlink()
        assert pipeline.refresh().sources["orders"].how == "all files compared"
        assert shown(pipeline) == expected(folder, ".parquet")


def test_a_table_that_was_dropped_is_read_anew(folder):
    pq.write_table(pa.table({"id": [1, 2]}), folder / "a.parquet")
    pipeline = deltic.Pipeline()
    for _ in range(2):
        pipeline.table("orders", source=folder)
        pipeline.refresh()
        assert sorted(pipeline["orders"]) == [(1,), (2,)]
        pipeline.drop("orders")


def test_another_source_is_compared(tmp_path, folder):
    pq.write_table(pa.table({"id": [1, 2, 2]}), folder / "a.parquet")
    (tmp_path / "other.csv").write_text("2\n3\n")
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.table("orders", source=folder)
        pipeline.refresh()
        pipeline.attach("orders", tmp_path / "other.csv")
        told = pipeline.refresh().sources["orders"]
        assert (told.inserted, told.deleted) == (1, 2)
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        assert str(pipeline.sources["orders"]) == f"csv {tmp_path / 'other.csv'}"
        assert pipeline.refresh().report is None
        assert sorted(pipeline["orders"]) == [(2,), (3,)]


@pytest.mark.parametrize(
    ("kind", "sep"),
    [
        ("csv OPTIONS (header 'true', sep ';', inferSchema 'true')", ";"),
        ("csv OPTIONS (headers 'true', rfc4180 'true')", ","),
    ],
)
def test_text_tells_its_columns(tmp_path, kind, sep):
    lines = (
        ("id", "name", "day", "ok", "x"),
        ("1", '"a;,b"', "2026-01-02", "true", ""),
        ("2", "c", "2026-01-03", "false", ""),
    )
    (tmp_path / "a.csv").write_text("".join(f"{sep.join(line)}\n" for line in lines))
    pipeline = deltic.Pipeline()
    pipeline.sql(f"CREATE TABLE t USING {kind} LOCATION '{tmp_path}'")
    assert repr(pipeline["t"]) == "t{id: int64?, name: string?, day: date?, ok: boolean?, x: string?}: 2 rows"
    assert sorted(pipeline["t"])[0] == (1, "a;,b", dt.date(2026, 1, 2), True, None)


def test_json_tells_its_columns(tmp_path):
    (tmp_path / "a.json").write_text('{"id": 1, "xs": [1.5]}\n')
    pipeline = deltic.Pipeline()
    pipeline.sql(f"CREATE TABLE t USING json LOCATION '{tmp_path}'")
    assert list(pipeline["t"]) == [(1, [1.5])]


def test_a_statement_reads_what_it_names(tmp_path):
    text = f"CREATE TABLE IF NOT EXISTS t (id INT, name STRING) USING csv LOCATION '{tmp_path}'"
    (tmp_path / "a.csv").write_text("1,ada\n2,bob\n")
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE other (id INT)")
    made = pipeline.sql(text + "; CREATE VIEW v AS SELECT count(*) AS n FROM t")
    assert repr(made) == "added t, v; kept other; t: 2 rows read"
    assert list(pipeline["v"]) == [(2,)]
    (tmp_path / "b.csv").write_text("3,cyd\n")
    assert repr(pipeline.sql(text)) == "nothing changed"
    assert list(pipeline["v"]) == [(2,)]
    assert pipeline.refresh().sources["t"].inserted == 1


def test_a_statement_that_cannot_read_leaves_no_table(tmp_path):
    text = f"CREATE TABLE t (id INT, name STRING) USING csv LOCATION '{tmp_path}'; CREATE VIEW v AS SELECT id FROM t"
    (tmp_path / "a.csv").write_text("1,ada\nx,bob\n")
    pipeline = deltic.Pipeline()
    with pytest.raises(DataError, match=r"a.csv:2:1: expected"):
        pipeline.sql(text)
    assert list(pipeline) == []
    (tmp_path / "a.csv").write_text("1,ada\n")
    pipeline.sql(text)
    assert list(pipeline["v"]) == [(1,)]


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("none", "; relative paths start at {}"),
        ("none/*.parquet", "; patterns are not read: name the folder, .*"),
        ("{}/none", ""),
    ],
)
def test_a_folder_that_is_missing(tmp_path, monkeypatch, path, remedy):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProgramError, match=f"it cannot be read: No such file or directory{remedy.format(tmp_path)}\n"):
        deltic.Pipeline().sql(f"CREATE TABLE sale USING parquet LOCATION '{path.format(tmp_path)}'")


def test_a_program_keeps_the_columns_that_it_found(tmp_path, folder):
    pq.write_table(pa.table({"id": [1]}), folder / "a.parquet")
    program = f"CREATE TABLE orders USING parquet LOCATION '{folder}';\nCREATE VIEW ids AS SELECT id FROM orders"
    with deltic.Pipeline(state=tmp_path / "state", program=program) as pipeline:
        pipeline.refresh()
    pq.write_table(pa.table({"id": [2], "more": [1]}), folder / "0.parquet")
    with deltic.Pipeline(state=tmp_path / "state", program=program) as pipeline:
        assert not pipeline.evolution.replaced
        pipeline.refresh()
        assert sorted(pipeline["ids"]) == [(1,), (2,)]


def test_sources_of_which_one_fails(tmp_path, folder):
    pq.write_table(pa.table({"id": [1]}), folder / "a.parquet")
    (tmp_path / "names.csv").write_text("1,ada\n1,bob\n")
    pipeline = deltic.Pipeline()
    pipeline.table("orders", source=folder)
    pipeline.table("names", {"id": "int64", "name": "string"}, key="id", source=tmp_path / "names.csv")
    assert "several rows would have the key id = 1" in pipeline.refresh().failed["names"].reason
    assert (pipeline["orders"].rows().count(), "source names" in pipeline.positions) == (1, False)
    (tmp_path / "names.csv").write_text("1,ada\n2\n")
    assert "names.csv:2:2: expected 2 fields, found 1" in pipeline.refresh().failed["names"].reason
    (tmp_path / "names.csv").write_text("1,ada\n2,bob\n")
    pipeline.refresh(tables=["names"])
    assert (pipeline["orders"].rows().count(), pipeline["names"].rows().count()) == (1, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: External("parqet", path="x"), "did you mean `parquet`?"),
        (lambda: External("csv", path="x", headr=True), "did you mean `headers`?"),
        (lambda: External("delta"), "the option path is missing"),
        (lambda: External("parquet", path="x", by="id"), "by is no option of a source"),
    ],
)
def test_sources_that_are_none(given, message):
    with pytest.raises(CatalogError, match=message.replace("?", r"\?")):
        deltic.Pipeline().table("orders", {"id": "int64"}, source=given())


def test_rows_of_a_source_are_changed_there_alone(folder):
    pipeline = deltic.Pipeline()
    pipeline.table("orders", {"id": "int64"}, source=External("parquet", path=folder))
    for text in ("INSERT INTO orders VALUES (1)", "DELETE FROM orders"):
        with pytest.raises(DelticError, match="table orders has the rows of parquet"):
            pipeline.sql(text)
    with pytest.raises(DelticError, match="call `refresh`"), pipeline.transaction() as change:
        change.insert("orders", [(1,)])
    with pytest.raises(DelticError, match="call `refresh`"), pipeline.transaction() as change:
        change.append("orders", pa.table({"id": [1], "__weight__": [1]}))
    pipeline.refresh()


@pytest.mark.parametrize("conflicts", ["error", "normalize"])
def test_a_set_takes_no_row_twice(folder, conflicts):
    pipeline = deltic.Pipeline(transactions=deltic.Transactions(conflicts=conflicts))
    pipeline.datalog(".decl orders(id: number)\n.input orders\n.decl ids(id: number)\nids(x) :- orders(x).")
    pq.write_table(pa.table({"id": [1, 2]}), folder / "a.parquet")
    pipeline.attach("orders", folder)
    pipeline.refresh()
    pq.write_table(pa.table({"id": [2, 3]}), folder / "b.parquet")
    with pytest.raises(DelticError, match="orders"):
        pipeline.refresh()
    assert sorted(pipeline["ids"]) == [(1,), (2,)]
    (folder / "a.parquet").unlink()
    pipeline.refresh()
    assert sorted(pipeline["ids"]) == [(2,), (3,)]


def test_a_state_that_is_read_stays_as_it_is(tmp_path, folder):
    pq.write_table(pa.table({"id": [1, 2]}), folder / "a.parquet")
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.table("orders", source=folder)
    before = sorted(tmp_path.rglob("*"))
    with deltic.Pipeline(state=tmp_path / "state", durability=deltic.Durability(readonly=True)) as pipeline:
        assert pipeline.pending() == {"orders": f"1 file, {(folder / 'a.parquet').stat().st_size:,} bytes"}
        with pytest.raises(DelticError, match="readonly=True"):
            pipeline.refresh()
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_attached_is_told_and_detached(tmp_path):
    (tmp_path / "a.csv").write_text("1\n")
    pipeline = deltic.Pipeline(state=tmp_path / "state")
    pipeline.sql("CREATE TABLE orders (id BIGINT); CREATE VIEW many AS SELECT count(*) AS n FROM orders")
    pipeline.attach("orders", tmp_path / "a.csv")
    pipeline.publish("many", tmp_path / "out")
    assert str(pipeline.catalog).splitlines()[0] == f"table orders{{id: int64?}} bag from csv {tmp_path}/a.csv"
    text = pipeline.explain("many")
    assert text.endswith(
        f"outside:\n  orders has the rows of csv {tmp_path}/a.csv\n  published to parquet {tmp_path}/out"
    )
    pipeline.refresh()
    pipeline.detach("orders")
    pipeline.unpublish("many")
    pipeline.close()
    with deltic.Pipeline(state=tmp_path / "state") as again:
        assert again.sources == {}
        assert str(again.catalog).splitlines()[0] == "table orders{id: int64?} bag"
        assert list(again["orders"]) == [(1,)]
        assert "outside:" not in again.explain("many")
        with pytest.raises(deltic.DelticError, match="orders has no source that was attached to it"):
            again.detach("orders")


def test_headers_name_the_columns_in_any_order(tmp_path):
    (tmp_path / "orders.csv").write_text("name,id\nada,1\n")
    pipeline = deltic.Pipeline()
    place = f"USING csv OPTIONS (header 'true') LOCATION '{tmp_path}'"
    pipeline.sql(f"CREATE TABLE orders (id INT PRIMARY KEY, name STRING) {place}")
    assert sorted(pipeline["orders"]) == [(1, "ada")]
    with pytest.raises(DelticError, match="no field has the name of the column city"):
        pipeline.sql(f"CREATE TABLE others (id INT PRIMARY KEY, city STRING) {place}")
