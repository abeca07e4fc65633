"""Changes as other systems write them: Debezium's envelopes and Delta's change data feed.

Catches a change that is taken for another one, a value of a foreign encoding that is read as a number, and what is
refused without its place.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from deltic import DataError, Pipeline
from deltic.cli.main import app

COLUMNS = {"id": "int64", "name": "string?", "price": "decimal(10, 2)?", "day": "date?", "at": "timestamp?"}
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def row(id_, name="a", price="1.50", day=None, at=None):
    return {"id": id_, "name": name, "price": price, "day": day, "at": at}


def envelope(op, before=None, after=None):
    return {"before": before, "after": after, "op": op, "source": {"table": "t"}, "ts_ms": 1}


HISTORY = [
    envelope("r", None, row(1)),
    envelope("c", None, row(2)),
    envelope("u", row(2), row(2, "b")),
    envelope("d", row(1)),
    None,
    envelope("m"),
]


def pipeline_of(columns=COLUMNS):
    pipeline = Pipeline()
    pipeline.table("t", columns)
    return pipeline


def changed(pipeline, rows):
    with pipeline.transaction() as change:
        change.change("t", rows)
    return sorted(tuple(row) for row in pipeline["t"])


@pytest.mark.parametrize("form", ["dicts", "texts", "bytes", "payloads"])
def test_envelopes_of_debezium(form):
    given = {
        "dicts": HISTORY,
        "texts": [json.dumps(record) for record in HISTORY],
        "bytes": [json.dumps(record).encode() for record in HISTORY],
        "payloads": [{"schema": None, "payload": record} for record in HISTORY],
    }[form]
    assert changed(pipeline_of(), iter(given)) == [(2, "b", Decimal("1.50"), None, None)]


def test_envelopes_in_the_columns_of_a_frame():
    records = [record for record in HISTORY[:4] if record]
    shown = {name: [record[name] for record in records] for name in ("before", "after", "op", "ts_ms")}
    for frame in (pa.table(shown), pd.DataFrame(shown)):
        assert changed(pipeline_of(), frame) == [(2, "b", Decimal("1.50"), None, None)]


def test_values_that_the_schema_beside_them_tells():
    fields = [
        {"field": "id", "type": "int64"},
        {
            "field": "price",
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "parameters": {"scale": "2"},
        },
        {"field": "day", "type": "int32", "name": "io.debezium.time.Date"},
        {"field": "at", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    ]
    schema = {"type": "struct", "fields": [{"field": "before", "fields": fields}, {"field": "after", "fields": fields}]}
    digits = base64.b64encode((-12345).to_bytes(3, "big", signed=True)).decode()
    micros = int(NOON.timestamp()) * 1_000_000
    record = {"schema": schema, "payload": envelope("c", None, row(1, None, digits, 20_513, micros))}
    assert changed(pipeline_of(), [record]) == [(1, None, Decimal("-123.45"), dt.date(2026, 3, 1), NOON)]
    texts = envelope("c", None, row(2, None, 7, "2026-03-01", "2026-03-01T13:00:00+01:00"))
    assert changed(pipeline_of(), [texts]) == [(2, None, Decimal(7), dt.date(2026, 3, 1), NOON)]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (envelope("x", None, row(1)), "table t, row 1: op: expected c, r, u or d, found 'x'"),
        (envelope("t"), "truncate the table by deleting its rows"),
        (envelope("u", None, row(1)), "before is missing in a change with op u\n  hint: declare the key of the table"),
        (envelope("d", {"id": 1}), "row 1: before: column name is missing"),
        (envelope("c", None, row("1")), "row 1: after: column id: expected a number, found '1' (str)"),
        (envelope("c", None, row(1, at=5)), "after: column at: expected a timestamp with a time zone or null, found"),
        (envelope("c", None, row(1, price="x")), "column price: expected a value of type decimal(10, 2), found 'x'"),
        (envelope("c", None, 5), "after: expected an object with the columns as its keys, found 5"),
        ("{", "row 1: not JSON"),
        (b"\xff", "row 1: the change is not UTF-8 text"),
        ((1, 2), "row 1: expected a dict or its JSON, found (1, 2)"),
        ({**row(1, price=None), "op": "x"}, "expected one of +, insert, i, c, r, -, delete, d, found 'x'"),
        ({**row(1, price=None), "op": "+", "nam": 1}, "row 1: there is no column nam\n  hint: did you mean `name`?"),
        ({**row(1, price=None)}, "neither an insertion nor a deletion"),
    ],
)  # fmt: skip
def test_what_is_no_change_is_refused_with_its_place(record, reason):
    pipeline = pipeline_of()
    with pytest.raises(DataError) as caught:
        changed(pipeline, [record])
    assert reason in str(caught.value)
    assert not len(pipeline["t"])


@pytest.mark.parametrize("form", [list, pd.DataFrame, pa.Table.from_pylist])
def test_an_inserted_row_may_leave_out_columns(form):
    pipeline, rows = Pipeline(), form([{"a": 1}])
    pipeline.sql("CREATE TABLE t (a INT, b INT, c DATE DEFAULT DATE'2026-03-01')")
    with pipeline.transaction() as change:
        change.insert("t", rows)
    assert list(pipeline["t"]) == [(1, None, dt.date(2026, 3, 1))]
    with pytest.raises(DataError, match="column b is missing"), pipeline.transaction() as change:
        change.delete("t", rows)


def test_a_change_that_inserts_may_leave_out_columns():
    pipeline = pipeline_of({"id": "int64", "name": "string?"})
    assert changed(pipeline, [{"op": "+", "id": 1}]) == [(1, None)]
    with pytest.raises(DataError, match="row 1, column name is missing"):
        changed(pipeline, [{"op": "-", "id": 1}])
    with pytest.raises(DataError, match="row 1, column id is missing"):
        changed(pipeline, [{"op": "+", "name": "a"}])


FEED = {
    "id": [1, 2, 2, 2, 1, 3],
    "name": ["a", "a", "a", "b", "a", "c"],
    "_change_type": ["insert", "insert", "update_preimage", "update_postimage", "delete", "insert"],
    "_commit_version": [1, 1, 2, 2, 3, 3],
    "_commit_timestamp": [NOON] * 6,
}


@pytest.mark.parametrize("form", [pa.table, pd.DataFrame, lambda feed: pa.table(feed).to_pylist()])
def test_the_change_data_feed_of_delta(form):
    found = changed(pipeline_of({"id": "int64", "name": "string"}), form(FEED))
    assert found == [(2, "b"), (3, "c")]


def test_a_run_takes_both(tmp_path):
    (tmp_path / "p.sql").write_text(
        "CREATE TABLE t (id BIGINT NOT NULL, name STRING); CREATE VIEW v AS SELECT count(*) AS n FROM t"
    )
    changes = tmp_path / "changes"
    changes.mkdir()
    records = [{**record, "after": record["after"] and {"id": record["after"]["id"], "name": record["after"]["name"]}}
               for record in HISTORY[:2]]  # fmt: skip
    (changes / "1.t.jsonl").write_text("\n".join(map(json.dumps, [*records, None])))
    pq.write_table(pa.table({name: values[2:4] + values[5:] for name, values in FEED.items()}), changes / "2.t.parquet")
    options = ["run", "p.sql", "--facts", ".", "--changes", "changes", "--out", "out"]
    found = CliRunner().invoke(app, [options[0], str(tmp_path / "p.sql"), "--facts", str(tmp_path), "--changes",
                                     str(changes), "--out", str(tmp_path / "out"), "--format", "json"])  # fmt: skip
    assert found.exit_code == 0, found.output
    assert (tmp_path / "out" / "v.json").read_text() == '{"n":3}\n'
