"""Mistakes that users of the Python API make, with their messages. Catches one without a place or a remedy."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path

import pytest

import deltic
from deltic import DelticError, Pipeline

DEFINITIONS = """
CREATE TABLE orders (id INT PRIMARY KEY, who STRING NOT NULL, price DECIMAL(8, 2), at TIMESTAMP);
CREATE TABLE plain (a INT, b STRING);
CREATE VIEW v AS SELECT who, sum(price) AS s FROM orders GROUP BY who;
"""


def changed(pipeline, how):
    with pipeline.transaction() as change:
        how(change)


MISTAKES = {
    "a path as a text": lambda p: changed(p, lambda c: c.insert("orders", "orders.csv")),
    "SQL for view": lambda p: p.view("w", "SELECT a FROM plain"),
    "query of a change": lambda p: p.query("INSERT INTO plain VALUES (1,'x')"),
    "execute of a question": lambda p: p.execute("SELECT 1"),
    "execute of a definition": lambda p: p.execute("CREATE TABLE q (a INT)"),
    "naive datetime": lambda p: changed(p, lambda c: c.insert("orders", [(1, "a", 1, dt.datetime(2020, 1, 1))])),
    "too few values": lambda p: changed(p, lambda c: c.insert("plain", [(1,)])),
    "misspelt column": lambda p: changed(p, lambda c: c.insert("plain", [{"a": 1, "bb": "x"}])),
    "float for int": lambda p: changed(p, lambda c: c.insert("plain", [(1.5, "x")])),
    "text for int": lambda p: changed(p, lambda c: c.insert("plain", [("1", "x")])),
    "NULL": lambda p: changed(p, lambda c: c.insert("orders", [(1, None, 1, None)])),
    "same key": lambda p: changed(p, lambda c: c.insert("orders", [(1, "a", 1, None), (1, "b", 1, None)])),
    "too many digits": lambda p: changed(p, lambda c: c.insert("orders", [(1, "a", 1.234, None)])),
    "delete of an absent key": lambda p: changed(p, lambda c: c.delete("orders", [(1,)])),
    "insert into a view": lambda p: changed(p, lambda c: c.insert("v", [(1, 2)])),
    "misspelt table": lambda p: changed(p, lambda c: c.insert("order", [(1, 2)])),
    "upsert without a key": lambda p: changed(p, lambda c: c.upsert("plain", [(1, "x")])),
    "one dict": lambda p: changed(p, lambda c: c.insert("plain", {"a": 1, "b": "x"})),
    "one tuple": lambda p: changed(p, lambda c: c.insert("plain", (1, "x"))),
    "texts as rows": lambda p: changed(p, lambda c: c.insert("plain", ["ab"])),
    "no with-block": lambda p: p.transaction().insert("plain", [(1, "x")]),
    "definition in a transaction": lambda p: changed(p, lambda c: p.sql("CREATE TABLE q (a INT)")),
    "of before the end": lambda p: changed(p, lambda c: c.of("v")),
    "misspelt name": lambda p: p["orderz"],
    "explain of a table": lambda p: p.explain("orders"),
    "changes of a table": lambda p: p.changes("orders"),
    "epoch to come": lambda p: p.changes("v", since=99),
    "epoch that is gone": lambda p: p.at(9),
    "drop of what is read": lambda p: p.drop("orders"),
    "drop of nothing": lambda p: p.drop("nope"),
    "table twice": lambda p: p.table("plain", {"a": "int64"}),
    "misspelt type": lambda p: p.table("q", {"a": "integr"}),
    "key that is no column": lambda p: p.table("q", {"a": "int64"}, key="b"),
    "names as columns": lambda p: p.table("q", ["a", "b"]),
    "a source as rows": lambda p: p.table("q", deltic.External("csv", path="q.csv")),
    "no columns": lambda p: p.table("q"),
    "other parameter": lambda p: p.query("SELECT * FROM plain WHERE a = :x", {"y": 1}),
    "two values": lambda p: p.query("SELECT * FROM plain WHERE a = ?", [1, 2]),
    "no value": lambda p: p.query("SELECT * FROM plain WHERE a = ?"),
    "parameter of a view": lambda p: p.sql("CREATE VIEW q AS SELECT * FROM plain WHERE a = ?", [1]),
    "lookup by no column": lambda p: p["plain"].lookup(c=1),
    "lookup of another type": lambda p: p["plain"].lookup(a="x"),
    "option of a group": lambda p: Pipeline(iteration_limit=5),
    "misspelt engine": lambda p: Pipeline(engine="sparc"),
    "durability without a state": lambda p: Pipeline(durability=deltic.Durability()),
    "master for a session": lambda p: Pipeline("local[2]"),
    "misspelt policy": lambda p: p.transaction(conflicts="ignore"),
    "function without types": lambda p: p.function("f", lambda x: x),
    "function that may vary": lambda p: p.function("f", lambda x: x, arguments=["int64"], returns="int64"),
    "detach of nothing": lambda p: p.detach("plain"),
    "unpublish of nothing": lambda p: p.unpublish("v"),
    "checkpoint without a state": lambda p: p.checkpoint(),
    "follow of a writer": lambda p: p.follow(),
    "publish of a table": lambda p: p.publish("plain", "x"),
    "sql of a path": lambda p: p.sql(Path("x.sql")),
    "query of nothing there": lambda p: p.query("SELECT * FROM ordres"),
    "value in place of args": lambda p: p.query("SELECT ?", 20),
    "text in place of args": lambda p: p.execute("INSERT INTO plain VALUES (1, ?)", "ab"),
    "why of a value": lambda p: p.why("v", 13),
    "column": lambda p: p.query("SELECT prise FROM orders"),
    "pickle": lambda p: pickle.dumps(p),
    "file of no kind": lambda p: p["plain"].rows().write("x.xls"),
    "drop of no column": lambda p: p.alter("plain", drop="c"),
    "misspelt kind": lambda p: deltic.External("csvv", path="x"),
    "input of nothing": lambda p: p.datalog(".decl a(x: number) .input b"),
    "replace of nothing": lambda p: p.replace("a(1)."),
}


def test_what_is_said(golden):
    parts = []
    for name, mistake in MISTAKES.items():
        pipeline = Pipeline()
        pipeline.sql(DEFINITIONS)
        with pytest.raises(DelticError) as caught:
            mistake(pipeline)
        assert (len(pipeline["orders"]), list(pipeline)) == (0, ["orders", "plain", "v"]), name
        parts += [f"── {name}", f"{type(caught.value).__name__}: {caught.value}".replace("PosixPath", "Path"), ""]
    assert len(MISTAKES) >= 60
    golden("pipeline/mistakes.txt", "\n".join(parts))
