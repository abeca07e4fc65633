"""Arrays that many rows share are written once: values are as for a few rows, and long arrays are exploded in time."""

from __future__ import annotations

import pytest

import deltic

CALLS = [
    "size(xs)",
    "xs[i]",
    "get(xs, i)",
    "try_element_at(xs, i + 1)",
    "array_contains(xs, 2)",
    "array_position(xs, 2)",
    "array_join(xs, '-', '?')",
    "sort_array(xs, false)",
    "array_max(xs)",
    "reverse(xs)",
    "slice(xs, 1, 2)",
    "concat(xs, array(i))",
    "array_distinct(xs)",
    "arrays_overlap(xs, array(3))",
    "to_json(named_struct('a', xs))",
    "transform(xs, x -> x + i)",
    "flatten(array(xs, xs))",
    "coalesce(xs, array(7))",
    "get(get(ys, i), i)",
    "size(get(ys, 0))",
    "array_repeat(xs, 2)[1]",
    "exists(xs, x -> x = 2)",
    "aggregate(xs, 0, (a, x) -> a + coalesce(x, 0))",
    "xs = array(1, 2)",
    "hash(xs)",
]
ROWS = """
    (0, array(1, NULL, 2), array(array(1), NULL)), (1, array(2, 3), array(array('5', NULL), array('4', '6'))),
    (0, CAST(NULL AS ARRAY<INT>), NULL), (0, CAST(array() AS ARRAY<INT>), array())
""".replace("array(1), NULL)", "array('1'), NULL)")


@pytest.mark.parametrize("call", CALLS)
def test_values_are_those_of_a_few_rows(call: str) -> None:
    pipeline = deltic.Pipeline()
    pipeline.sql(
        f"""
        CREATE TABLE few (i INT, xs ARRAY<INT>, ys ARRAY<ARRAY<STRING>>);
        INSERT INTO few VALUES {ROWS};
        CREATE TABLE many (k BIGINT, i INT, xs ARRAY<INT>, ys ARRAY<ARRAY<STRING>>);
        INSERT INTO many SELECT id, few.* FROM range(300), few;
        """
    )
    guarded = f"CASE WHEN i < coalesce(size(xs), 0) OR NOT '{call[:3]}' = 'xs[' THEN {call} END"
    few = {str(row[0]) for row in pipeline.query(f"SELECT {guarded} FROM few")}
    many = [str(row[0]) for row in pipeline.query(f"SELECT {guarded} FROM many")]
    assert set(many) == few
    assert len(many) == 1200


def test_a_long_array_is_exploded_in_time() -> None:
    """Each element was computed from a copy of the whole array: 100,000 of them took 40 GB."""
    pipeline = deltic.Pipeline()
    ((most, sum_),) = pipeline.query("SELECT max(n), sum(n) FROM (SELECT explode(sequence(1, 100000)) AS n)")
    assert (most, sum_) == (100_000, 5_000_050_000)
