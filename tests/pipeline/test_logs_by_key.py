"""Changes that name rows by the key of their table: `u`, `d`, and Debezium without whole rows.

Catches a row that is replaced by another one than the last of its key, an order that matters where it should not, forms
of the same changes that do not agree, and what is taken though no key tells which row is meant.
"""

from __future__ import annotations

import json
import random

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from deltic import ChangeError, DataError, Pipeline
from deltic.cli.main import app

WORDS = {
    "come": ["u", "U", "upsert", "update", "Update", "r", "c", "i", "insert", "+"],
    "go": ["d", "D"],
}


def pipeline_of(key="id", rows=(), columns=None):
    pipeline = Pipeline()
    pipeline.table("t", columns or {"id": "int64", "name": "string", "n": "int64?"}, key=key)
    with pipeline.transaction() as change:
        change.insert("t", list(rows))
    return pipeline


def changed(pipeline, rows, conflicts="error"):
    with pipeline.transaction(conflicts) as change:
        change.change("t", rows)
    return sorted(pipeline["t"], key=str)


def line(op, id_, name=None, n=None):
    return {"op": op, "id": id_, "name": name, "n": n}


def in_form(form, rows, folder):
    match form:
        case "dicts":
            return rows
        case "texts":
            return [json.dumps(row) for row in rows]
        case "arrow":
            return pa.Table.from_pylist(rows)
        case "pandas":
            return pd.DataFrame(rows, dtype=object)
    path = folder / f"t.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("form", ["dicts", "texts", "arrow", "pandas", "parquet", "jsonl"])
def test_the_last_row_of_a_key_counts(form, tmp_path):
    rng = random.Random(form)
    for size in (3, 60):
        model = {number: (number, "old", None) for number in range(8)}
        pipeline = pipeline_of(rows=model.values())
        rows = []
        for number in range(size):
            key, is_there = rng.randrange(16), rng.random() < 0.6
            op = rng.choice(WORDS["come"][:6] if is_there or key not in model else WORDS["go"])
            if op.lower() == "d":
                rows.append(line(op, key))
                del model[key]
            else:
                model[key] = (key, f"v{number}", rng.choice([None, number]))
                rows.append(line(op, *model[key]))
        assert changed(pipeline, in_form(form, rows, tmp_path)) == sorted(model.values(), key=str)


def test_insertions_of_a_key_that_is_named_are_part_of_its_log():
    pipeline = pipeline_of(rows=[(9, "kept", 9)])
    for word in WORDS["come"][6:]:
        rows = [line(word, 1, "a"), line("u", 1, "b"), line(word, 2, "c"), line("d", 1), line("-", 9, "kept", 9),
                line("+", 9, "new", 9)]  # fmt: skip
        assert changed(pipeline, rows) == [(2, "c", None), (9, "new", 9)]
        rows = [line("d", 2), line("delete", 9, "new", 9), line("+", 9, "kept", 9)]
        assert changed(pipeline, rows) == [(9, "kept", 9)]


def test_rows_that_add_up_do_so_in_any_order():
    pipeline = pipeline_of(rows=[(1, "a", None)])
    assert changed(pipeline, [line("insert", 1, "b"), line("delete", 1, "a"), line("u", 2, "c")]) == [
        (1, "b", None),
        (2, "c", None),
    ]


@pytest.mark.parametrize("form", ["dicts", "arrow", "jsonl"])
def test_a_key_alone_is_enough_to_go(form, tmp_path):
    pipeline = pipeline_of(rows=[(1, "a", 1), (2, "b", 2), (3, "c", 3)])
    rows = [line("delete", 1), line("-", 2)]
    assert changed(pipeline, in_form(form, rows, tmp_path)) == [(3, "c", 3)]
    assert changed(pipeline, [{"op": "d", "id": 3}]) == []


def test_a_row_of_nulls_is_a_row():
    pipeline = pipeline_of(rows=[(1, None)], columns={"id": "int64", "n": "int64?"})
    rows = [{"op": "+", "id": 1, "n": 5}, {"op": "-", "id": 1, "n": None}]
    assert changed(pipeline, rows) == [(1, 5)]


def test_keys_that_are_absent():
    pipeline = pipeline_of(rows=[(1, "a", None)])
    with pytest.raises(ChangeError, match="delete by key rows that are absent: id = 5"):
        changed(pipeline, [line("u", 1, "b"), line("d", 5)])
    assert list(pipeline["t"]) == [(1, "a", None)]
    assert changed(pipeline, [line("u", 5, "b"), line("d", 5)]) == [(1, "a", None)]
    assert changed(pipeline, [line("d", 5)], "normalize") == [(1, "a", None)]


@pytest.mark.parametrize("op", ["u", "upsert", "UPDATE"])
def test_without_a_key_nothing_tells_which_row_is_meant(op):
    for rows in ([line(op, 1, "a")], pa.Table.from_pylist([line(op, 1, "a")])):
        with pytest.raises(DataError) as caught:
            changed(pipeline_of(key=()), rows)
        assert f"table t, row 1, column op: found {op!r}, and the table has no key" in str(caught.value)
    with pytest.raises(DataError, match="column name: expected a string, found null"):
        changed(pipeline_of(key=()), [line("d", 1)])


def envelope(op, before=None, after=None):
    return {"before": before, "after": after, "op": op}


def test_debezium_without_whole_rows():
    row = {"id": 1, "name": "a", "n": None}
    pipeline = pipeline_of()
    assert changed(pipeline, [envelope("r", None, row), envelope("c", None, {**row, "id": 2})])[1] == (2, "a", None)
    records = [
        envelope("r", None, row),
        envelope("u", None, {**row, "name": "b"}),
        envelope("d", {"id": 2}),
        None,
        envelope("u", {"id": 1}, {**row, "id": 3}),
    ]
    assert changed(pipeline, [json.dumps(record) for record in records]) == [(3, "a", None)]
    assert changed(pipeline, [envelope("d", {"id": 3, "name": None, "n": None})]) == []
    with pytest.raises(DataError, match="before is missing in a change with op d"):
        changed(pipeline, [envelope("d")])
    with pytest.raises(DataError, match="before: column id is missing"):
        changed(pipeline, [envelope("d", {"name": "a"})])


def test_a_run_takes_them(tmp_path):
    (tmp_path / "p.sql").write_text(
        "CREATE TABLE t (id BIGINT PRIMARY KEY, name STRING NOT NULL); CREATE VIEW v AS SELECT id, name FROM t"
    )
    changes = tmp_path / "changes"
    changes.mkdir()
    first = [{"op": "u", "id": 1, "name": "a"}, {"op": "c", "id": 2, "name": "b"}, {"op": "u", "id": 1, "name": "c"}]
    (changes / "1.t.jsonl").write_text("\n".join(map(json.dumps, first)))
    pq.write_table(pa.table({"op": ["D", "Upsert"], "id": [2, 3], "name": [None, "d"]}), changes / "2.t.parquet")
    found = CliRunner().invoke(app, ["run", str(tmp_path / "p.sql"), "--facts", str(tmp_path), "--changes",
                                     str(changes), "--out", str(tmp_path / "out"), "--format", "json"])  # fmt: skip
    assert found.exit_code == 0, found.output
    rows = map(json.loads, (tmp_path / "out" / "v.json").read_text().splitlines())
    assert sorted((row["id"], row["name"]) for row in rows) == [(1, "c"), (3, "d")]
