"""Texts that are compared without regard to case, as views that follow changes.

Catches a collation that is lost on the way to a join, an order or a window, and one that is silently ignored.
"""

from __future__ import annotations

import pytest

import deltic

PROGRAM = """
CREATE TABLE person (name STRING, city STRING);
CREATE TABLE city (name STRING, land STRING);
CREATE VIEW lives AS SELECT p.name, c.land FROM person p JOIN city c ON p.city = c.name COLLATE UTF8_LCASE;
CREATE VIEW first AS SELECT name FROM person ORDER BY name COLLATE UTF8_LCASE DESC LIMIT 1;
CREATE VIEW numbered AS SELECT name, rank() OVER (PARTITION BY city COLLATE UTF8_LCASE ORDER BY name) AS n FROM person;
CREATE VIEW like_a AS SELECT name FROM person
    WHERE name COLLATE UTF8_LCASE LIKE 'A%' OR name COLLATE UTF8_LCASE IN ('DAN');
"""


def rows(pipeline: deltic.Pipeline, view: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in pipeline.sql(f"SELECT * FROM {view}"))


def test_views_that_compare_without_case_follow_changes():
    pipeline = deltic.Pipeline()
    pipeline.sql(PROGRAM)
    pipeline.sql("INSERT INTO person VALUES ('ada', 'BONN'), ('Bob', 'bonn'), ('dan', 'Rom'), (NULL, 'rom')")
    pipeline.sql("INSERT INTO city VALUES ('Bonn', 'D'), ('ROM', 'I')")
    assert sorted(map(repr, rows(pipeline, "lives WHERE name IS NOT NULL"))) == [
        "('Bob', 'D')",
        "('ada', 'D')",
        "('dan', 'I')",
    ]
    assert rows(pipeline, "first") == [("dan",)]
    assert rows(pipeline, "numbered WHERE name IS NOT NULL") == [("Bob", 1), ("ada", 2), ("dan", 2)]
    assert rows(pipeline, "like_a") == [("ada",), ("dan",)]
    pipeline.sql(
        "DELETE FROM person WHERE name COLLATE UTF8_LCASE = 'DAN'; UPDATE city SET name = 'x' WHERE land = 'D'"
    )
    assert rows(pipeline, "lives WHERE name IS NOT NULL") == []
    assert rows(pipeline, "first") == [("Bob",)]
    assert rows(pipeline, "like_a") == [("ada",)]


def test_answers_are_ordered_without_case():
    pipeline = deltic.Pipeline()
    found = pipeline.sql("SELECT x FROM VALUES ('c'), ('B'), ('a'), ('D') t(x) ORDER BY x COLLATE UTF8_LCASE")
    assert [row[0] for row in found] == ["a", "B", "c", "D"]


TYPED = """
CREATE TABLE t (id INT, s STRING COLLATE unicode_ci NOT NULL DEFAULT 'x', p STRING);
CREATE VIEW v AS SELECT s, count(*) AS n, min(s) AS least FROM t GROUP BY s;
CREATE VIEW w AS SELECT s || '!' AS e, n FROM v WHERE s = 'ADA';
"""


def described(pipeline: deltic.Pipeline, name: str) -> list[object]:
    return [row[1] for row in pipeline.sql(f"DESCRIBE {name}")]


def test_columns_have_collations_in_tables_views_and_a_state(tmp_path):
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.sql(TYPED)
        pipeline.sql("INSERT INTO t VALUES (1, 'Ada', 'a'), (2, 'ADA', 'b'), (3, 'bob', 'c')")
        assert rows(pipeline, "v") == [("ADA", 2, "ADA"), ("bob", 1, "bob")]
        assert described(pipeline, "t") == ["int", "string collate UNICODE_CI", "string"]
        assert described(pipeline, "w") == ["string collate UNICODE_CI", "bigint"]
        (shown,) = pipeline.sql("SHOW CREATE TABLE t")
        pipeline.table("u", {"s": "STRING COLLATE UTF8_LCASE"})
        with pytest.raises(deltic.ProgramError, match="do not all fit string collate de"):
            pipeline.sql("ALTER TABLE t ALTER COLUMN p TYPE STRING COLLATE de")
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.sql("DELETE FROM t WHERE id = 2; UPDATE t SET s = 'ZOE' WHERE s = 'BOB'")
        assert rows(pipeline, "w") == [("Ada!", 1)]
        assert described(pipeline, "u") == ["string collate UTF8_LCASE"]
        assert [tuple(row) for row in pipeline.sql("SELECT s FROM t ORDER BY s DESC, id")] == [("ZOE",), ("Ada",)]
        assert rows(pipeline, "(SELECT typeof(s) AS y, collation(e) AS c FROM t, w WHERE id = 1)") == [
            ("string collate UNICODE_CI", "SYSTEM.BUILTIN.UNICODE_CI")
        ]
        pipeline.sql("ALTER TABLE t ADD COLUMN q STRING COLLATE de_CI; DROP VIEW w; DROP VIEW v")
        assert described(pipeline, "t")[-1] == "string collate de_CI"
    assert "s STRING COLLATE unicode_ci NOT NULL" in shown[0]


WITHIN = """
CREATE TABLE t (id INT, s STRING COLLATE UTF8_LCASE, xs ARRAY<STRING COLLATE UNICODE_CI>);
CREATE VIEW grouped AS SELECT array(s) AS a, count(*) AS n FROM t GROUP BY array(s);
CREATE VIEW alike AS SELECT DISTINCT struct(s, 1) AS r FROM t;
CREATE VIEW joined AS SELECT a.id AS x, b.id AS y FROM t a JOIN t b ON named_struct('s', a.s) = named_struct('s', b.s);
CREATE VIEW parts AS SELECT x, count(*) AS n FROM (SELECT explode(xs) AS x FROM t) GROUP BY x;
CREATE VIEW listed AS SELECT listagg(id, '') WITHIN GROUP (ORDER BY s, id) AS ids, collect_list(s) AS all FROM t;
CREATE VIEW left_over AS SELECT s FROM t EXCEPT ALL SELECT upper(s) FROM t WHERE id = 1;
CREATE VIEW both AS SELECT s FROM t INTERSECT ALL SELECT upper(s) FROM t WHERE id < 3;
CREATE VIEW found AS SELECT id, array_contains(xs, s COLLATE UNICODE_CI) AS has, map(s, 1)['ADA'] AS one FROM t
"""


def test_collations_go_into_arrays_and_structs_of_views_and_of_a_state(tmp_path):
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.sql(WITHIN)
        pipeline.sql("INSERT INTO t VALUES (1, 'ada', array('ADA', 'x')), (2, 'Ada', array('X')), (3, 'bob', array())")
        assert rows(pipeline, "grouped") == [(["Ada"], 2), (["bob"], 1)]
        assert rows(pipeline, "joined") == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3)]
        assert rows(pipeline, "parts") == [("ADA", 1), ("X", 2)]
        assert rows(pipeline, "listed") == [("123", ["Ada", "ada", "bob"])]
        assert rows(pipeline, "left_over") == [("Ada",), ("bob",)]
        assert rows(pipeline, "both") == [("Ada",), ("Ada",)]
        assert rows(pipeline, "found") == [(1, True, 1), (2, False, 1), (3, False, None)]
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.sql("DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4, 'BOB', array('bob'))")
        assert rows(pipeline, "grouped") == [(["BOB"], 2), (["ada"], 1)]
        assert rows(pipeline, "(SELECT r.s FROM alike)") == [("BOB",), ("ada",)]
        assert rows(pipeline, "found") == [(1, True, 1), (3, False, None), (4, True, None)]
        assert (
            described(pipeline, "t")[-1]
            == described(pipeline, "QUERY SELECT xs FROM t")[0]
            == "array<string collate UNICODE_CI>"
        )
        assert described(pipeline, "grouped") == ["array<string collate UTF8_LCASE>", "bigint"]


def test_what_would_lose_a_collation_is_refused():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (s STRING COLLATE UTF8_LCASE, p STRING, r STRING COLLATE UNICODE_RTRIM)")
    for query, message in {
        "SELECT array(s, p) FROM t": "texts of UTF8_BINARY and UTF8_LCASE stand together",
        "SELECT mode(s) FROM t": "compared by bytes",
        "SELECT replace(r, 'a', 'b') FROM t": "ignores blanks at the end",
        "SELECT contains(p COLLATE UNICODE_AI, 'a') FROM t": "ignores accents and not case",
        "SELECT upper(p COLLATE tr) FROM t": "rules of its own in tr",
        "SELECT array(s) FROM t UNION SELECT array(p) FROM t": "the collations UTF8_LCASE and UTF8_BINARY",
        "WITH RECURSIVE r AS (SELECT s FROM t UNION SELECT s FROM r) SELECT * FROM r": "a recursion over the collation",
    }.items():
        with pytest.raises(deltic.ProgramError, match=message):
            pipeline.sql(f"CREATE VIEW v AS {query}")


def test_plans_that_are_kept_for_other_values_compare_keys():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (s STRING COLLATE UTF8_LCASE, r STRING COLLATE UTF8_BINARY_RTRIM)")
    pipeline.sql("INSERT INTO t VALUES ('Ab', 'x')")
    for text, count in {"AB": 1, "no": 0, "ab": 1}.items():
        assert len(list(pipeline.query("SELECT s FROM t WHERE s = ? OR s IN (?, 'z')", args=[text, text]))) == count
        assert len(list(pipeline.query(f"SELECT s FROM t WHERE s BETWEEN '{text}' AND '{text}'"))) == count
    for text in ("x", "x  "):
        assert rows(pipeline, f"(SELECT r FROM t WHERE r = '{text}')") == [("x",)]
        assert len(list(pipeline.query("SELECT r FROM t WHERE r = ?", args=[text]))) == 1
