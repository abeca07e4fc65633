"""Texts that are compared without regard to case, as views that follow changes.

Catches a collation that is lost on the way to a join, an order or a window, and one that is silently ignored.
"""

from __future__ import annotations

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
