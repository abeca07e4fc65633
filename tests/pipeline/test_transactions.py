"""Transactions against a model of dictionaries: changes of rows and by key, in every mode, all or nothing.

Catches changes that are resolved against other tables than those of the commit, or not in their order; previews that
leave something behind; epochs that are read as they never were.
"""

from __future__ import annotations

import datetime
import random
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deltic
from deltic import ChangeError, DelticError

COLUMNS = {"id": "int64", "name": "string?", "n": "int64"}
VIEW = "CREATE VIEW v AS SELECT name, count(*) AS c, sum(n) AS s FROM t GROUP BY name"


@pytest.fixture(params=["local", "reference"])
def pipeline(request):
    return keyed(request.param)


def keyed(engine="local", **options):
    made = deltic.Pipeline(engine=engine, **options)
    made.table("t", COLUMNS, key="id")
    made.sql(VIEW)
    return made


def load(pipeline, *rows):
    with pipeline.transaction() as change:
        change.insert("t", rows)
    return change


def groups(rows):
    """The view, computed from the rows of the table."""
    found = {}
    for _, name, n in rows:
        c, s = found.get(name, (0, 0))
        found[name] = (c + 1, s + n)
    return {(name, c, s) for name, (c, s) in found.items()}


class Model:
    """A table with a key: what it has, and what operations make of it; None where they are refused."""

    def __init__(self):
        self.rows = {}

    def apply(self, operations, conflicts):
        rows = dict(self.rows)
        for kind, given in operations:
            for row in given:
                key = row[0]
                if kind == "upsert":
                    rows[key] = row
                elif kind in ("delete", "update") and key not in rows:
                    if conflicts == "error":
                        return False
                elif kind == "delete":
                    del rows[key]
                else:
                    rows[key] = (key, row[1], rows[key][2])
        self.rows = rows
        return True


def random_operations(rng):
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(["upsert", "upsert", "delete", "update"])
        keys = [rng.randrange(30) for _ in range(rng.choice([1, 1, 3, 12]))]
        if kind == "delete":
            keys = sorted(set(keys))
        yield kind, [(key, rng.choice(["a", "b", None]), rng.randrange(5)) for key in keys]


def do(change, kind, rows, form):
    if kind == "upsert":
        change.upsert("t", rows if form else pd.DataFrame(rows, columns=list(COLUMNS)).astype({"name": object}))
    elif kind == "delete":
        change.delete("t", [(row[0],) for row in rows] if form else [{"id": row[0]} for row in rows])
    else:
        found = [{"id": row[0], "name": row[1]} for row in rows]
        change.update(
            "t",
            found
            if form
            else pa.table({"name": pa.array([r["name"] for r in found], pa.string()), "id": [r["id"] for r in found]}),
        )


def transact(pipeline, operations, conflicts):
    with pipeline.transaction(conflicts) as change:
        for number, (kind, rows) in enumerate(operations):
            do(change, kind, rows, number % 2)


@pytest.mark.parametrize("conflicts", ["error", "normalize", "trust"])
@pytest.mark.parametrize("seed", range(3))
def test_random_changes_by_key(conflicts, seed):
    rng, model, pipeline = random.Random(seed), Model(), keyed()
    refused = 0
    for _ in range(25):
        operations = list(random_operations(rng))
        if model.apply(operations, conflicts):
            transact(pipeline, operations, conflicts)
        else:
            refused += 1
            with pytest.raises(ChangeError, match="by key rows that are absent: id = "):
                transact(pipeline, operations, conflicts)
        assert set(pipeline["t"]) == set(model.rows.values())
        assert set(pipeline["v"]) == groups(model.rows.values())
    assert (refused > 0) is (conflicts == "error")


def test_changes_by_key_count_what_came_before_them(pipeline):
    load(pipeline, (1, "a", 1), (2, "b", 2))
    with pipeline.transaction() as change:
        change.insert("t", [(3, "c", 3)])
        change.update("t", [{"id": 3, "n": 4}])
        change.delete("t", [(1, "a", 1)])
        change.upsert("t", [(1, "z", 9)])
        change.sql("UPDATE t SET n = n + 1 WHERE id >= 2")
        change.sql("UPDATE t SET n = n * 10 WHERE n = 5")
        change.delete("t", [(2,)])
    assert set(pipeline["t"]) == {(1, "z", 9), (3, "c", 50)}
    assert change.report.epoch == pipeline.epoch


def test_normalized_changes_and_changes_by_key_together():
    """A deletion of what is absent must not take away what an upsert brings."""
    pipeline = keyed()
    load(pipeline, (1, "a", 1))
    with pipeline.transaction("normalize") as change:
        change.insert("t", [(1, "a", 1)])
        change.delete("t", [(2, "b", 2)])
        change.upsert("t", [(2, "b", 2)])
        change.delete("t", [(1,)])
    assert set(pipeline["t"]) == {(2, "b", 2)}


@pytest.mark.parametrize(
    "keys",
    [
        lambda: ((key,) for key in (1, 3)),
        lambda: pa.table({"id": [1, 3]}),
        lambda: pa.table({"id": [1, 3]}).to_batches()[0],
        lambda: pa.table({"id": [1, 3]}).to_reader(),
        lambda: pa.table({"id": [1, 3], "name": ["a", "c"], "n": [1, 3]}).to_reader(),
        lambda: pd.DataFrame({"id": [1, 3]}),
        lambda: np.array([[1], [3]]),
        lambda: np.array([(1,), (3,)], dtype=[("id", "i8")]),
        lambda: [(1, "a", 1), (3, "c", 3)],
        lambda: iter([{"id": 1}, {"id": 3}]),
    ],
)
def test_rows_are_deleted_by_key_in_any_form(keys):
    pipeline = keyed()
    load(pipeline, (1, "a", 1), (2, "b", 2), (3, "c", 3))
    with pipeline.transaction() as change:
        change.delete("t", keys())
    assert list(pipeline["t"]) == [(2, "b", 2)]


@pytest.mark.parametrize("type_", ["string", "float64", "date", "decimal(30, 2)", "binary", "int8"])
def test_keys_of_any_type(type_):
    values = {
        "string": ["", "ä", "b"],
        "float64": [float("nan"), 0.0, 1.5],
        "date": [datetime.date(2026, 1, day) for day in (1, 2, 3)],
        "decimal(30, 2)": [Decimal("1.50"), Decimal("99999999999999999999999.25"), Decimal("-2")],
        "binary": [b"", b"\0", b"x"],
        "int8": [-128, 0, 127],
    }[type_]
    pipeline = deltic.Pipeline()
    pipeline.table("t", {"n": "int64", "k": type_}, key="k")
    with pipeline.transaction() as change:
        change.upsert("t", [(number, value) for number, value in enumerate(values)])
        change.upsert("t", [(7, -0.0 if type_ == "float64" else values[1])])
        change.delete("t", [(values[0],)])
    assert len(pipeline["t"]) == 2
    assert [row[0] for row in pipeline["t"].lookup(k=values[1])] == [7]
    with pipeline.transaction() as change:
        change.update("t", [{"k": values[2], "n": 8}])
    assert sorted(row[0] for row in pipeline["t"]) == [7, 8]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda c: c.delete("t", [(5,), (6,)]), "would delete by key rows that are absent: id = 5; id = 6; nothing"),
        (lambda c: c.update("t", [{"id": 5, "n": 1}]), "would update by key rows that are absent: id = 5; nothing"),
        (lambda c: c.delete("t", [(k,) for k in range(2, 20)]), "id = 11; and 8 more; nothing was changed"),
        (lambda c: c.upsert("b", [(1,)]), "table b has no key, by which its rows could be found"),
        (lambda c: c.update("t", [(1, "a", 1)]), "an update needs names"),
        (lambda c: c.update("t", [{"n": 1}]), "an update needs its whole key; id is missing"),
        (lambda c: c.update("t", [{"id": 1, "m": 1}]), "table t, row 1: there is no column m"),
        (lambda c: c.update("t", {"id": 1}), "one row is given as [row]"),
        (lambda c: c.upsert("t", [(1, "a", None)]), "column n"),
        (lambda c: c.delete("t", [("x",)]), "column id"),
        (lambda c: c.insert("t", [(1, "b", 2)]), "several rows would have the key id = 1: (1, 'a', 1) and (1, 'b', 2)"),
        (lambda c: c.insert("b", [(1,), (1,), (2,)]), "would insert the same row more than once: (1); nothing"),
    ],
)
def test_refusals_leave_no_trace(action, words):
    pipeline = keyed()
    pipeline.table("b", {"x": "int64"})
    load(pipeline, (1, "a", 1))
    before = pipeline.epoch
    with pytest.raises(DelticError) as caught, pipeline.transaction() as change:
        _both(change, action)
    assert words in str(caught.value)
    assert (pipeline.epoch, set(pipeline["t"]), len(pipeline["b"])) == (before, {(1, "a", 1)}, 0)


def _both(change, action):
    change.insert("t", [(100, "new", 1)])
    action(change)


def test_ten_rows_are_told_and_a_count():
    pipeline = keyed()
    load(pipeline, *[(i, "a", i) for i in range(25)])
    with pytest.raises(ChangeError) as caught, pipeline.transaction() as change:
        change.insert("t", [(i, "a", i) for i in range(25)])
    assert str(caught.value).count("'a'") == 10
    assert "and 15 more; nothing was changed" in str(caught.value)


# Epochs, snapshots, what-if


def test_epochs_are_numbered_and_the_last_ones_stay():
    pipeline = keyed(transactions=deltic.Transactions(retain=3))
    assert pipeline.epoch == 0
    epochs = [load(pipeline, (i, "a", i)).report.epoch for i in range(6)]
    assert (epochs, pipeline.epoch) == ([1, 2, 3, 4, 5, 6], 6)
    for epoch in (4, 5, 6):
        at = pipeline.at(epoch)
        assert len(at["t"]) == epoch == at.epoch
        assert set(at["t"].lookup(id=epoch - 1)) == {(epoch - 1, "a", epoch - 1)}
        assert set(at.query("SELECT count(*) AS n, sum(id) AS s FROM t")) == {(epoch, sum(range(epoch)))}
        assert set(at["v"]) == groups([(i, "a", i) for i in range(epoch)])
    for epoch in (0, 3, 7, -1):
        with pytest.raises(DelticError, match=rf"epoch {epoch} cannot be read: epochs 4 to 6 are retained"):
            pipeline.at(epoch)
    with pytest.raises(DelticError, match="retain is 0"):
        deltic.Pipeline(transactions=deltic.Transactions(retain=0))


def test_an_epoch_is_read_with_its_definitions():
    pipeline = keyed(transactions=deltic.Transactions(retain=5))
    load(pipeline, (1, "a", 1))
    pipeline.sql("DROP VIEW v; CREATE VIEW w AS SELECT id FROM t")
    assert [list(pipeline.at(epoch)) for epoch in (1, 2)] == [["t", "v"], ["t", "w"]]
    assert set(pipeline.at(1)["v"]) == {("a", 1, 1)}
    with pytest.raises(DelticError, match="v"):
        pipeline.at(2)["v"]


def test_a_snapshot_stays_as_it_is(pipeline):
    load(pipeline, (1, "a", 1))
    with pipeline.snapshot() as before:
        load(pipeline, (2, "a", 2), (3, "text that is new", 1 << 40))
        assert (set(before["t"]), set(before["v"])) == ({(1, "a", 1)}, {("a", 1, 1)})
        assert list(before["t"].lookup(id=3)) == list(before["t"].lookup(n=1 << 40)) == []
        assert list(before["t"].lookup(name="text that is new")) == []
        assert len(pipeline["t"]) == 3
        with pytest.raises(DelticError, match="a question is SELECT"):
            before.query("DELETE FROM t")
    with pytest.raises(DelticError, match="the snapshot of epoch 1 ended with its block"):
        before["t"]


def test_what_would_be(pipeline):
    load(pipeline, (1, "a", 1))
    with pipeline.what_if() as change:
        change.upsert("t", [(1, "b", 5)])
        change.insert("t", [(2, "b", 1)])
        preview = change.preview()
    assert dict(preview.of("v")) == {("a", 1, 1): -1, ("b", 2, 6): 1}
    assert set(preview["t"]) == {(1, "b", 5), (2, "b", 1)}
    assert set(preview.query("SELECT s FROM v")) == {(6,)}
    assert (preview.report.epoch, pipeline.epoch) == (2, 1)
    assert set(pipeline["t"]) == {(1, "a", 1)}
    with pytest.raises(DelticError, match="was discarded"):
        change.of("v")


def test_what_was_seen_is_committed_or_nothing(pipeline):
    load(pipeline, (1, "a", 1))
    with pipeline.what_if() as change:
        change.upsert("t", [(1, "b", 5)])
        seen = dict(change.preview().of("v"))
        change.commit()
    assert (dict(change.of("v")), set(pipeline["t"])) == (seen, {(1, "b", 5)})
    with pipeline.what_if() as change:
        change.delete("t", [(1,)])
        change.preview()
        in_thread(load, pipeline, (7, "c", 7))
        with pytest.raises(ChangeError, match="at epoch 2, and the pipeline is now at epoch 3"):
            change.commit()
    assert set(pipeline["t"]) == {(1, "b", 5), (7, "c", 7)}
    load(pipeline, (8, "c", 7))


def test_rows_that_were_counted_are_committed_or_nothing(pipeline):
    load(pipeline, (1, "a", 1), (2, "a", 2))
    with pipeline.transaction() as change:
        change.sql("UPDATE t SET n = 9 WHERE name = 'a'")
        assert change.count() == 2
        in_thread(load, pipeline, (3, "b", 3))
        change.sql("DELETE FROM t WHERE id = 1")
        assert change.count() == 1
        in_thread(load, pipeline, (4, "b", 3))
    assert set(pipeline["t"]) == {(2, "a", 9), (3, "b", 3), (4, "b", 3)}
    with pipeline.transaction() as change:
        change.sql("UPDATE t SET n = 1 WHERE name = 'b'")
        assert change.count() == 2
        in_thread(load, pipeline, (5, "b", 5))
        with pytest.raises(ChangeError, match=r"change 1 .* affected 2 rows .*, and affects 3 after"):
            change.commit()
    with pipeline.transaction() as change:
        change.sql("UPDATE t SET n = 1 WHERE name = 'b'")
        change.count()
        in_thread(load, pipeline, (6, "b", 6))
        change.rewind(0)
    assert set(pipeline["t"]) == {(2, "a", 9), (3, "b", 3), (4, "b", 3), (5, "b", 5), (6, "b", 6)}


def test_a_transaction_is_discarded_or_committed_early(pipeline):
    with pipeline.transaction() as change:
        change.insert("t", [(1, "a", 1)])
        change.discard()
    assert len(pipeline["t"]) == 0
    with pipeline.transaction() as change:
        change.insert("t", [(1, "a", 1)])
        change.commit()
        assert change.report.rows_in == 1
        with pytest.raises(DelticError, match="has been committed"):
            change.insert("t", [(2, "a", 1)])
    assert len(pipeline["t"]) == 1


def in_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


@pytest.mark.parametrize(
    ("operation", "rows"),
    [
        ("insert", [("a", "b", "c")]),
        ("delete", [("a", 1, 1)]),
        ("upsert", [("a",)]),
        ("update", [{"id": "a", "n": 1}]),
        ("change", [{"op": "+", "id": "a"}]),
    ],
)
def test_a_row_that_does_not_fit_is_told_with_the_operation(operation, rows):
    pipeline = deltic.Pipeline()
    pipeline.table("stock", {"id": "int64", "name": "string", "n": "int64"}, key="id")
    with pytest.raises(deltic.DelticError, match=f"^{operation}: table stock, row 1"), pipeline.transaction() as change:
        getattr(change, operation)("stock", rows)
    assert pipeline.epoch == 0


def test_what_an_empty_table_was_trusted_to_have_is_settled_by_a_checked_change():
    pipeline = deltic.Pipeline(engine="local")
    pipeline.datalog(".decl e(x: number)\n.input e\n.decl o(x: number)\n.output o\no(x) :- e(x).")
    epochs = (("trust", "delete"), ("error", "insert"), ("trust", "delete"), ("trust", "insert"))
    for conflicts, action in epochs:
        with pipeline.transaction(conflicts=conflicts) as change:
            getattr(change, action)("e", [(1,)])
    assert len(pipeline["o"]) == 1


def test_a_check_raises_what_a_commit_would_and_binds_nothing(pipeline):
    load(pipeline, (1, "a", 1))
    with pipeline.what_if() as change:
        change.insert("t", [(1, "b", 2)])
        with pytest.raises(ChangeError, match="several rows would have the key id = 1"):
            change.check()
    with pipeline.transaction() as change:
        change.insert("t", [(2, "b", 2)])
        change.check()
        other = threading.Thread(target=load, args=(pipeline, (3, "c", 3)))
        other.start()
        other.join()
    assert sorted(pipeline["t"]) == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]
