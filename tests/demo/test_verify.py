"""The final check: catches a check that would let a wrong view pass."""

import pyarrow as pa
import pytest

from deltic.demo.verify import difference, differences
from tests.demo.small import replay_of, tree_of


def rows(*pairs):
    return pa.table(
        {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}, pa.schema([("x", pa.string()), ("y", pa.int64())])
    )


def test_order_does_not_matter():
    assert difference("v", rows(("a", 1), ("b", 2)), rows(("b", 2), ("a", 1))) is None


@pytest.mark.parametrize(
    ("kept", "missing", "lost", "extra", "example"),
    [
        (rows(("a", 1)), 1, "1 row", 0, ("b", 2)),
        (rows(("a", 1), ("b", 2), ("c", 3)), 0, "no rows", 1, ("c", 3)),
        (rows(("a", 1), ("b", 3)), 1, "1 row", 1, ("b", 2)),
        (rows(("a", 1), ("a", 1)), 1, "1 row", 1, ("b", 2)),
        (rows(("a", 1), ("b", 2), ("b", 2)), 0, "no rows", 1, ("b", 2)),
        (rows(), 2, "2 rows", 0, None),
    ],
)
def test_what_differs_is_counted_and_shown(kept, missing, lost, extra, example):
    found = difference("v", kept, rows(("a", 1), ("b", 2)))
    assert (found.missing, found.extra) == (missing, extra)
    assert example in (found.example, None)
    assert f"v: {lost} missing, {extra} too many" in str(found)


def test_pipelines_are_compared_by_size_or_by_row():
    one = replay_of(tree_of({"a.py": "import b", "b.py": ""})).pipeline
    other = replay_of(tree_of({"a.py": "", "b.py": "import a"})).pipeline
    smaller = replay_of(tree_of({"a.py": "", "b.py": ""})).pipeline
    assert differences(one, other, every_row=False) == []
    assert {d.view for d in differences(one, other, every_row=True)} == {
        "imports",
        "loads",
        "affects",
        "binds",
        "means",
    }
    assert {d.view for d in differences(one, smaller, every_row=False)} == {
        "imports",
        "loads",
        "affects",
        "binds",
        "means",
    }
