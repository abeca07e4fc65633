"""Functions that take functions in views: maintained, with the columns around them, and with errors in rows.

Catches a body that reads the column of another row, an element that hides a column or does not, an error of an element
that is lost or that names the wrong row, and a name that is taken for a column of a group.
"""

from __future__ import annotations

import random

import pytest

import deltic
from deltic.errors import DelticError

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, k INT, x INT, xs ARRAY<INT>, m MAP<STRING, INT>)"


def pipeline_with(view: str) -> deltic.Pipeline:
    pipeline = deltic.Pipeline()
    pipeline.sql(f"{TABLE}; CREATE VIEW v AS {view}")
    return pipeline


def rows(pipeline: deltic.Pipeline, query: str = "SELECT * FROM v") -> list[tuple]:
    found = pipeline.sql(query).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


def test_a_view_is_what_python_makes_of_its_rows():
    pipeline = pipeline_with(
        "SELECT id, transform(filter(xs, e -> e > k), (e, i) -> e * k + i) AS a, "
        "aggregate(xs, 0, (s, e) -> s + coalesce(e, k)) AS b, exists(xs, e -> e = x) AS c FROM t WHERE k > 0"
    )
    rng, kept = random.Random(7), {}
    for epoch in range(6):
        with pipeline.transaction() as transaction:
            for _ in range(40):
                if kept and rng.random() < 0.4:
                    transaction.delete("t", [kept.pop(rng.choice(sorted(kept)))])
                key = epoch * 1000 + rng.randrange(1000)
                if key not in kept:
                    xs = [rng.choice([None, *range(-3, 9)]) for _ in range(rng.randrange(5))]
                    kept[key] = (key, rng.randrange(5), rng.randrange(5), xs, [("a", 1)])
                    transaction.insert("t", [kept[key]])
        assert rows(pipeline) == sorted(map(expected, (row for row in kept.values() if row[1] > 0)), key=repr)


def expected(row: tuple) -> tuple:
    key, k, x, xs, _ = row
    chosen = [e for e in xs if e is not None and e > k]
    found = True if x in xs else None if None in xs else False
    return key, [e * k + i for i, e in enumerate(chosen)], sum(k if e is None else e for e in xs), found


def test_a_parameter_hides_a_column_in_any_case():
    pipeline = pipeline_with("SELECT transform(xs, X -> x + 1) AS a, transform(xs, q -> x) AS b FROM t")
    pipeline.sql("INSERT INTO t VALUES (1, 1, 100, array(1, 2), map('a', 1))")
    assert rows(pipeline) == [([2, 3], [100, 100])]


def test_an_error_of_an_element_rejects_the_change():
    pipeline = pipeline_with("SELECT id, transform(xs, e -> k div e) AS a FROM t WHERE x > 0")
    pipeline.sql("INSERT INTO t VALUES (1, 6, 1, array(1, 2), null), (2, 6, 0, array(0), null)")
    with pytest.raises(DelticError, match="e = 0") as error:
        pipeline.sql("INSERT INTO t VALUES (3, 6, 1, array(3), null), (4, 5, 1, array(1, 0), null)")
    assert "k = 5" in str(error.value)
    assert rows(pipeline) == [(1, [6, 3])]


def test_groups_are_put_into_functions():
    pipeline = pipeline_with(
        "SELECT k, aggregate(collect_list(x), 0, (s, e) -> s + e) AS s, transform(array(k, 9), e -> e + k) AS a, "
        "transform(array(1), e -> e + max(x)) AS b FROM t GROUP BY k HAVING exists(collect_list(x), e -> e > 1)"
    )
    pipeline.sql("INSERT INTO t VALUES (1, 1, 1, null, null), (2, 1, 2, null, null), (3, 2, 1, null, null)")
    assert rows(pipeline) == [(1, 3, [2, 10], [3])]


def test_functions_stand_in_joins_and_are_grouped_by():
    pipeline = pipeline_with(
        "SELECT transform(a.xs, e -> e + b.k) AS found, count(*) AS n FROM t a JOIN t b "
        "ON exists(a.xs, e -> e = b.id) GROUP BY transform(a.xs, e -> e + b.k)"
    )
    pipeline.sql("INSERT INTO t VALUES (1, 10, 1, array(1, 2), null), (2, 20, 2, array(2), null)")
    assert rows(pipeline) == [([11, 12], 1), ([21, 22], 1), ([22], 1)]


def test_maps():
    pipeline = pipeline_with("SELECT id, map_filter(m, (n, v) -> v > k) AS a FROM t")
    pipeline.sql("INSERT INTO t VALUES (1, 1, 1, null, map('a', 1, 'b', 2)), (2, 1, 1, null, null)")
    assert rows(pipeline) == [(1, [("b", 2)]), (2, None)]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("array_sort(xs, (a, b) -> a < b)", "INT"),
        ("upper(e -> e)", "takes no function"),
        ("transform(xs, (a, b, c) -> a)", "parameters"),
        ("transform(xs, (a, A) -> a)", "one name"),
        ("filter(xs, e -> e)", "BOOLEAN"),
        ("aggregate(xs, 0, (s, e) -> s + 1L)", "cast one of them"),
        ("transform(xs, e -> e + nothing)", "nothing"),
        ("transform(xs, 1)", "x -> x"),
        ("map_filter(xs, (a, b) -> true)", "map"),
        ("exists(xs, e -> (SELECT max(k) > e FROM t))", "no column e"),
    ],
)
def test_what_is_refused(expression: str, message: str):
    pipeline = deltic.Pipeline()
    pipeline.sql(TABLE)
    with pytest.raises(DelticError, match=message):
        pipeline.sql(f"CREATE VIEW v AS SELECT {expression} AS r FROM t")


def test_elements_whose_parts_are_never_null():
    pipeline = deltic.Pipeline()
    pipeline.table("t", {"k": "int64", "xs": "array(struct{a: string, b: int64})", "ys": "array(array(string))"})
    pipeline.sql(
        "CREATE VIEW v AS SELECT transform(xs, x -> concat(x.a, k)) AS a, filter(xs, x -> x.b > k) AS b, "
        "aggregate(xs, '', (s, x) -> concat(s, x.a)) AS c, transform(ys, y -> transform(y, z -> upper(z))) AS d, "
        "transform(map_entries(map('p', k)), e -> concat(e.key, e.value)) AS e FROM t"
    )
    with pipeline.transaction() as change:
        change.insert("t", [(1, [{"a": "u", "b": 2}, {"a": "w", "b": 0}], [["a"], ["b", "c"]]), (2, [], [])])
    one = (["u1", "w1"], [{"a": "u", "b": 2}], "uw", [["A"], ["B", "C"]], ["p1"])
    assert rows(pipeline) == sorted([one, ([], [], "", [], ["p2"])], key=repr)
