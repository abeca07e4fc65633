"""INSERT, DELETE, UPDATE and MERGE against DuckDB, on random tables; and what they refuse.

Catches a row that goes, comes or is counted wrongly, NULL in a condition taken for true or false, a value stored as
what it is not, and a refused statement that left something behind.
"""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltic
from deltic import ChangeError, DelticError, ProgramError

VALUES = st.one_of(st.none(), st.integers(0, 4))
ROWS = st.lists(st.tuples(VALUES, VALUES), max_size=8)
CHANGES = [
    "INSERT INTO t SELECT b, a FROM s",
    "INSERT INTO t (b) SELECT a FROM s WHERE a > 1",
    "INSERT INTO t SELECT * FROM t",
    "WITH w AS (SELECT b, a FROM s WHERE (b > 1)) INSERT INTO t SELECT * FROM w",
    "DELETE FROM t WHERE a > 2",
    "DELETE FROM t WHERE a IN (SELECT b FROM s)",
    "DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = t.a)",
    "DELETE FROM t",
    "UPDATE t SET a = b, b = a",
    "UPDATE t SET a = a + 1 WHERE b = 2 OR b IS NULL",
    "UPDATE t SET b = NULL WHERE a NOT IN (1, 2)",
]
MERGES = [
    "MERGE INTO k USING s ON k.id = s.a WHEN MATCHED THEN UPDATE SET n = s.b",
    "MERGE INTO k USING s ON k.id = s.a WHEN MATCHED AND s.b > 2 THEN DELETE WHEN MATCHED THEN UPDATE SET n = s.b + 1",
    "MERGE INTO k USING s ON k.id = s.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.a IS NOT NULL "
    "THEN INSERT (id, n) VALUES (s.a, s.b)",
    "MERGE INTO k USING s ON k.id = s.a WHEN NOT MATCHED BY SOURCE AND n > 1 THEN UPDATE SET n = 0 "
    "WHEN NOT MATCHED BY SOURCE THEN DELETE",
]


@given(ROWS, ROWS, st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3))
def test_bags_change_as_in_duckdb(rows, others, changes):
    pipeline, database = deltic.Pipeline(), duckdb.connect(":memory:")
    for run in (pipeline.sql, database.execute):
        run("CREATE TABLE t (a INT, b INT); CREATE TABLE s (a INT, b INT)")
    pipeline.sql("CREATE VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a")
    fill(pipeline, database, t=rows, s=others)
    for change in changes:
        pipeline.sql(change)
        database.execute(change)
    assert Counter(pipeline["t"]) == Counter(database.execute("FROM t").fetchall())
    assert Counter(pipeline["v"]) == Counter(database.execute("SELECT a, count(*) FROM t GROUP BY a").fetchall())


@given(st.dictionaries(st.integers(0, 4), VALUES), st.dictionaries(VALUES, VALUES), st.sampled_from(MERGES))
def test_merges_change_as_in_duckdb(rows, others, merge):
    pipeline, database = deltic.Pipeline(), duckdb.connect(":memory:")
    for run in (pipeline.sql, database.execute):
        run("CREATE TABLE k (id INT PRIMARY KEY, n INT); CREATE TABLE s (a INT, b INT)")
    fill(pipeline, database, k=list(rows.items()), s=list(others.items()))
    pipeline.sql(merge)
    database.execute(merge)
    assert Counter(pipeline["k"]) == Counter(database.execute("FROM k").fetchall())


def fill(pipeline, database, **tables):
    with pipeline.transaction() as change:
        for name, rows in tables.items():
            change.insert(name, rows)
            for row in rows:
                database.execute(f"INSERT INTO {name} VALUES (?, ?)", row)


@pytest.fixture
def pipeline():
    made = deltic.Pipeline()
    made.sql("CREATE TABLE t (id INT PRIMARY KEY, n STRING); CREATE TABLE b (a INT, s STRING)")
    made.sql("CREATE VIEW v AS SELECT n FROM t")
    made.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL); INSERT INTO b VALUES (1, 'x'), (1, 'x'), (2, 'y')")
    return made


def refused(pipeline, text, error=ProgramError):
    before = Counter(pipeline["t"]), Counter(pipeline["b"])
    with pytest.raises(error) as raised:
        pipeline.sql(text)
    assert (Counter(pipeline["t"]), Counter(pipeline["b"])) == before
    return str(raised.value)


def test_a_change_is_one_epoch_and_tells_of_its_views(pipeline):
    change = pipeline.sql("UPDATE t SET n = 'z' WHERE id = 1")
    assert set(change.of("v")) == {(("a",), -1), (("z",), 1)}
    assert repr(change) == "1 row changed; v +1 −1"


def test_the_names_of_columns_and_tables_have_no_case(pipeline):
    pipeline.sql("insert into T (N, ID) values ('c', 3); delete from B where A = 2")
    assert set(pipeline["t"]) == {(1, "a"), (2, None), (3, "c")}
    assert list(pipeline["b"]) == [(1, "x"), (1, "x")]


def test_an_alias_names_the_changed_table(pipeline):
    pipeline.sql("UPDATE t AS x SET n = 'q' WHERE x.id = 2")
    pipeline.sql("DELETE FROM b AS y WHERE EXISTS (SELECT 1 FROM t WHERE t.id = y.a AND t.n = 'q')")
    assert set(pipeline["t"]) == {(1, "a"), (2, "q")}
    assert list(pipeline["b"]) == [(1, "x"), (1, "x")]


def test_overwriting_and_truncating(pipeline):
    pipeline.sql("INSERT OVERWRITE t VALUES (1, 'a'), (7, 'g'); TRUNCATE TABLE b")
    assert set(pipeline["t"]) == {(1, "a"), (7, "g")}
    assert list(pipeline["b"]) == []


def test_merge_takes_all_columns_by_their_names(pipeline):
    pipeline.sql("CREATE TABLE u (n STRING, id INT); INSERT INTO u VALUES ('new', 1), ('other', 9)")
    pipeline.sql("MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert set(pipeline["t"]) == {(1, "new"), (2, None), (9, "other")}


@pytest.mark.parametrize(
    "text", ["INSERT INTO t VALUES (1, 'z')", "INSERT INTO t VALUES (5, 'y'), (5, 'z')", "UPDATE t SET id = 3"]
)
def test_two_rows_of_one_key(pipeline, text):
    assert "several rows would have the key id = " in refused(pipeline, text, ChangeError)


def test_a_key_may_move_on_in_one_transaction(pipeline):
    pipeline.sql("UPDATE t SET id = id + 1")
    assert set(pipeline["t"]) == {(2, "a"), (3, None)}
    with pytest.raises(ChangeError), pipeline.transaction() as change:
        change.insert("t", [(2, "other")])
    with pipeline.transaction() as change:
        change.delete("t", [(2, "a")])
        change.insert("t", [(2, "other")])
    assert set(pipeline["t"]) == {(2, "other"), (3, None)}


def test_keys_of_many_rows(pipeline):
    rows = [(n, "z") for n in range(10, 200)]
    with pipeline.transaction() as change:
        change.insert("t", rows)
    assert "id = 150" in refused(pipeline, "INSERT INTO t SELECT id - 40, 'twice' FROM t WHERE id >= 190", ChangeError)


def test_several_rows_of_the_source_for_one_row(pipeline):
    told = refused(pipeline, "MERGE INTO t USING b ON t.id = b.a WHEN MATCHED THEN UPDATE SET n = b.s", ChangeError)
    assert "several rows of the source" in told
    pipeline.sql("MERGE INTO t USING b ON t.id = b.a WHEN MATCHED THEN DELETE")
    assert list(pipeline["t"]) == []


def test_values_are_stored_as_sparks_ansi_mode_stores_them(pipeline):
    pipeline.sql("CREATE TABLE w (i TINYINT, d DECIMAL(4, 1), f DOUBLE, s STRING)")
    pipeline.sql("INSERT INTO w VALUES (100, 3, 2, 1.5); INSERT INTO w (s) VALUES (7)")
    assert [tuple(map(str, row)) for row in pipeline.sql("SELECT * FROM w ORDER BY i DESC")] == [
        ("100", "3.0", "2.0", "1.5"),
        ("None", "None", "None", "7"),
    ]
    assert "column i of w is TINYINT, and its value is STRING" in refused(pipeline, "INSERT INTO w (i) VALUES ('1')")
    assert "300" in refused(pipeline, "INSERT INTO w (i) VALUES (300)", DelticError)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("INSERT INTO t (n) VALUES ('q')", "column id of t is NOT NULL, and gets no value"),
        ("INSERT INTO t (n, N) VALUES ('q', 'p')", "column N stands here twice"),
        ("INSERT INTO t VALUES (4)", "1 value for 2 columns of t: id, n"),
        ("INSERT INTO v VALUES ('q')", "v is a view"),
        ("INSERT INTO tt VALUES (1)", "did you mean `t`?"),
        ("UPDATE t SET m = 1", "there is no column in t called m"),
        ("UPDATE t SET n = 1 FROM b", "FROM is not supported"),
        ("DELETE FROM t USING b WHERE t.id = b.a", "USING is not supported"),
        ("DELETE FROM t WHERE m = 1", "there is no column m here"),
    ],
)
def test_what_does_not_fit(pipeline, text, told):
    assert told in refused(pipeline, text)


def test_null_in_a_column_without(pipeline):
    assert "id is NOT NULL" in refused(pipeline, "INSERT INTO t SELECT NULL, 'x'", DelticError)


def test_statements_in_a_transaction_see_what_those_before_them_have_done(pipeline):
    with pipeline.transaction() as change:
        change.sql("INSERT INTO t VALUES (3, 'c'); INSERT INTO b SELECT id, n FROM t WHERE id = 3")
        change.delete("b", [(2, "y")])
    assert set(pipeline["t"]) == {(1, "a"), (2, None), (3, "c")}
    assert sorted(pipeline["b"]) == [(1, "x"), (1, "x"), (3, "c")]
    with pytest.raises(ProgramError, match="a transaction takes INSERT"), pipeline.transaction() as change:
        change.sql("SELECT 1")


def test_insert_by_name_takes_the_names_of_the_query(pipeline):
    pipeline.sql("INSERT INTO t BY NAME SELECT 'c' AS N, 3 AS id; INSERT INTO b BY NAME SELECT 7 AS a")
    assert set(pipeline["t"]) == {(1, "a"), (2, None), (3, "c")}
    assert (7, None) in set(pipeline["b"])
    assert "there is no column in t called m" in refused(pipeline, "INSERT INTO t BY NAME SELECT 4 AS id, 1 AS m")
    assert "leave the list out" in refused(pipeline, "INSERT INTO t (id) BY NAME SELECT 4 AS id")


def test_update_and_merge_assign_fields_of_structs(pipeline):
    pipeline.sql("CREATE TABLE s (id INT, p STRUCT<x: INT, q: STRUCT<y: INT, z: STRING>>)")
    pipeline.sql("INSERT INTO s VALUES (1, named_struct('x', 1, 'q', named_struct('y', 2, 'z', 'c'))), (2, NULL)")
    pipeline.sql("UPDATE s SET p.x = id + 10, s.p.q.z = 'd'")
    pipeline.sql("MERGE INTO s USING t ON s.id = t.id AND t.n IS NULL WHEN MATCHED THEN UPDATE SET p.q.y = t.id")
    found = [
        (row.id, row.p["x"], row.p["q"]["y"], row.p["q"]["z"]) for row in pipeline.sql("SELECT * FROM s ORDER BY id")
    ]
    assert found == [(1, 11, 2, "d"), (2, 12, 2, "d")]
    for text, entry in {
        "UPDATE s SET p.x = 1, p.X = 2": "stands here twice",
        "UPDATE s SET p = NULL, p.x = 2": "as a whole and by its fields",
        "UPDATE s SET p.w = 1": "there is no field called w",
        "UPDATE s SET id.w = 1": "there is no field w in INT",
    }.items():
        assert entry in refused(pipeline, text)


def test_fields_of_an_inserted_struct_are_stored_in_their_order():
    """Spark's store assignment: names of fields do not matter, their number and types do; arrays and maps go inside."""
    pipeline = deltic.Pipeline()
    pipeline.sql(
        "CREATE TABLE r (s STRUCT<v: INT, w: STRING>, xs ARRAY<STRUCT<a: BIGINT>>, m MAP<STRING, STRUCT<a: INT>>)"
    )
    pipeline.sql("INSERT INTO r VALUES (struct(1L AS w, 'b' AS v), array(struct(1)), map('k', named_struct('z', 2)))")
    pipeline.sql("INSERT INTO r (s) SELECT (2, 3)")
    first = {"s": {"v": 1, "w": "b"}, "xs": [{"a": 1}], "m": [("k", {"a": 2})]}
    second = {"s": {"v": 2, "w": "3"}, "xs": None, "m": None}
    assert sorted(pipeline["r"].to_arrow().to_pylist(), key=repr) == sorted([first, second], key=repr)
    for value in ("struct(1)", "struct('x', 'y')", "struct(1, array(2))"):
        with pytest.raises(ProgramError, match="column s of r is STRUCT<v: INT, w: STRING>, and its value is"):
            pipeline.sql(f"INSERT INTO r (s) VALUES ({value})")
    with pytest.raises(ProgramError, match="its value is STRUCT<col1: INT, col2: STRING>"):
        pipeline.sql("UPDATE r SET s = struct(7, 'z')")
    pipeline.sql("UPDATE r SET s = named_struct('v', 7L, 'w', 'z')")
    assert {row["s"]["v"] for row in pipeline["r"].to_arrow().to_pylist()} == {7}


def test_a_statement_says_how_many_rows_it_affects():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (id INT NOT NULL, name STRING, PRIMARY KEY (id))")

    def affected(text):
        change = pipeline.sql(text)
        count = sum(change.affected)
        assert repr(change) == f"{count or 'no'} row{'s' * (count != 1)} changed"
        return count

    assert affected("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')") == 4
    assert affected("UPDATE t SET name = 'z' WHERE id < 3") == 2
    assert affected("DELETE FROM t WHERE id = 9") == 0
    source = "(VALUES (1, 'q'), (2, 'r'), (8, 's'), (9, 'n')) AS s(id, name)"
    merge = f"MERGE INTO t USING {source} ON t.id = s.id WHEN MATCHED AND s.id = 2 THEN DELETE"
    merge += " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    assert affected(f"{merge} WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE") == 5
    assert affected("INSERT OVERWRITE t VALUES (5, 'e')") == 1
    assert affected("INSERT INTO t VALUES (5, 'f') ON CONFLICT (id) DO UPDATE SET name = excluded.name") == 1
