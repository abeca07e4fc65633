"""Views that are derived on demand, in a pipeline. Catches: a query that is added and asks in vain, lost state."""

from __future__ import annotations

import pytest

import deltic
from deltic.errors import DelticError

PROGRAM = """
.decl e(x: number, y: number)
.input e
.decl path(x: number, y: number) {hint}
.decl q(y: number)
path(x, y) :- e(x, y).
path(x, z) :- e(x, y), path(y, z).
q(y) :- path(1, y).
"""
EDGES = [(1, 2), (2, 3), (5, 6), (6, 7)]


def pipeline_of(hint="magic"):
    pipeline = deltic.Pipeline()
    pipeline.datalog(PROGRAM.format(hint=hint))
    with pipeline.transaction() as change:
        change.insert("e", EDGES)
    return pipeline


def rows(pipeline, name):
    return sorted(tuple(row.values()) for row in pipeline[name].to_arrow().to_pylist())


def test_only_what_is_asked_for_is_derived():
    pipeline = pipeline_of()
    assert rows(pipeline, "q") == [(2,), (3,)]
    assert "path: only rows with demanded (x)" in pipeline.explain("q")
    with pytest.raises(DelticError, match="hidden"):
        pipeline["path"]


def test_more_is_asked_for_later():
    pipeline = pipeline_of()
    pipeline.datalog(".decl r(y: number)\nr(y) :- path(5, y).")
    assert (rows(pipeline, "q"), rows(pipeline, "r")) == ([(2,), (3,)], [(6,), (7,)])
    pipeline.datalog(".decl s(x: number)\ns(x) :- path(x, 3).")
    assert rows(pipeline, "s") == [(1,), (2,)]
    with pipeline.transaction() as change:
        change.insert("e", [(3, 5)])
    assert rows(pipeline, "q") == [(y,) for y in (2, 3, 5, 6, 7)]
    pipeline.datalog(".decl t(x: number, y: number)\nt(x, y) :- path(x, y).")
    assert len(rows(pipeline, "t")) == 15
    assert "only rows" not in pipeline.explain("q")
    assert "path: all rows, though it is `magic`: some rule asks for all of it" in pipeline.explain("q")
    pipeline.drop("t")
    assert "all rows" not in pipeline.explain("q")
    assert "only rows" in pipeline.explain("q")
    assert rows(pipeline, "s") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("hint", "demanded"),
    [
        ('\n.pragma "hidden" "path"', False),
        ('no_magic\n.pragma "hidden" "path"', False),
        ('\n.pragma "magic-transform" "path"', True),
        ('\n.pragma "magic-transform" "*"\n.output q', True),
        ('magic\n.pragma "magic-transform-exclude" "*"', False),
        ("", False),
    ],
)
def test_hints(hint, demanded):
    pipeline = pipeline_of(hint)
    assert rows(pipeline, "q") == [(2,), (3,)]
    assert ("only rows" in pipeline.explain("q")) == demanded


def test_it_can_be_turned_off():
    pipeline = deltic.Pipeline(maintenance=deltic.Maintenance(demand=False))
    pipeline.datalog(PROGRAM.format(hint="magic"))
    with pipeline.transaction() as change:
        change.insert("e", EDGES)
    assert rows(pipeline, "q") == [(2,), (3,)]
    assert "derived on demand" not in pipeline.explain("q")


def test_inlined_relations_are_not_read_and_can_be_dropped():
    pipeline = deltic.Pipeline()
    pipeline.datalog(".decl e(x: number)\n.decl small(x: number) inline\nsmall(x) :- x < 3.")
    pipeline.datalog(".decl q(x: number)\nq(x) :- e(x), small(x).")
    with pytest.raises(DelticError, match=r"small.*it is inlined"):
        pipeline["small"]
    with pytest.raises(DelticError, match="there is no relation `small`"):
        pipeline.drop("small")
    pipeline.drop("q")
    pipeline.drop("small")
    with pytest.raises(DelticError, match="there is no relation `small`"):
        pipeline.datalog(".decl q(x: number)\nq(x) :- e(x), small(x).")
