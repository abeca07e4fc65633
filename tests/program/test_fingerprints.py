"""Relations are named and told apart by what they contain, whatever else a program has and in whatever order.

Catches a name by position, a fingerprint that misses something below, and one that depends on an unrelated view.
"""

from __future__ import annotations

import pytest

from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.graph import CircuitBuilder
from deltic.datalog import check, lower, parse
from deltic.program.compiling import extract
from deltic.program.histories import Examined
from deltic.values.types import Schema, Type

EDGES = ".decl edge(x: number, y: number)\n.decl node(x: number)\n"
PATH = """.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
ENDS = """.decl end(x: number)
end(x) :- node(x), !edge(x, _).
.decl ways(x: number, n: number)
ways(x, n) :- node(x), n = count : { path(x, _) }.
"""
OTHER = """.decl before(x: number, y: number)
before(x, y) :- edge(y, x), !edge(x, _), x != 7.
"""
MUTUAL = """.decl even(x: number)
.decl odd(x: number)
even(0) :- node(0).
even(y) :- odd(x), edge(x, y).
odd(y) :- even(x), edge(x, y).
"""


def program(*parts: str):
    return extract(incrementalize(lower(check([parse(EDGES + "".join(parts))]))))


def test_text(golden):
    golden("program/text.txt", str(program(PATH, ENDS, MUTUAL)))


def test_the_order_of_declarations_does_not_matter():
    one, other = program(PATH, ENDS, MUTUAL), program(MUTUAL, PATH, ENDS)
    assert one.fingerprints() == other.fingerprints()


@pytest.mark.parametrize("parts", [(OTHER, PATH, ENDS), (PATH, OTHER, ENDS), (PATH, ENDS, OTHER)])
def test_an_unrelated_view_changes_nothing(parts):
    before, after = program(PATH, ENDS).fingerprints(), program(*parts).fingerprints()
    assert before.items() <= after.items()
    assert "before" in after
    assert "before" not in before


def test_what_depends_on_a_change_is_another_relation():
    before = program(PATH, ENDS, MUTUAL).fingerprints()
    after = program(PATH.replace("edge(y, z)", "edge(y, z), y != 3"), ENDS, MUTUAL).fingerprints()
    changed = {name for name in before if before[name] != after.get(name)}
    assert {"path", "ways"} <= changed
    assert changed.isdisjoint({"edge", "node", "end", "even", "odd"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("even(0) :- node(0)", "even(1) :- node(1)"),
        ("odd(y) :- even(x), edge(x, y)", "odd(y) :- even(x), edge(y, x)"),
        ("odd(y) :- even(x), edge(x, y)", "odd(y) :- even(x), edge(x, y), !node(y)"),
    ],
)
def test_a_stratum_changes_as_a_whole(old, new):
    before, after = program(MUTUAL), program(MUTUAL.replace(old, new))
    for name in ("even", "odd"):
        assert before.relations[name].fingerprint != after.relations[name].fingerprint


def test_types_and_rules_tell_relations_apart():
    parts = [
        program(".decl v(x: number)\nv(x) :- node(x).\n"),
        program(".decl v(y: number)\nv(x) :- node(x).\n"),
        program(".decl v(x: number)\nv(x) :- node(x), node(x + 1).\n"),
        program(".decl v(x: number)\nv(x) :- edge(x, x).\n"),
        program(".decl v(x: number)\nv(x) :- edge(x, _).\n"),
        program(".decl v(x: number)\nv(x) :- edge(_, x).\n"),
    ]
    assert len({p.relations[p.sinks["v"]].fingerprint for p in parts}) == len(parts)


def test_the_names_of_variables_do_not_matter():
    one = program(".decl v(x: number)\nv(x) :- edge(x, y), node(y).\n")
    other = program(".decl v(x: number)\nv(a) :- edge(a, b), node(b).\n")
    assert one.fingerprints() == other.fingerprints()


def test_a_view_of_a_table_of_its_name_and_a_relation_of_a_view_s_name():
    builder = CircuitBuilder()
    rows = builder.add(ops.Source("a", Schema.of(x=Type.INT64)))
    positive = builder.add(ops.Filter(column("x") > 0), rows)
    builder.add(ops.Sink("a"), positive)
    builder.add(ops.Sink("b"), positive)
    found = extract(incrementalize(builder.build()))
    assert dict(found.tables) == {"a": "a.in"}
    assert dict(found.sinks) == {"a": "a", "b": "a"}


def test_every_query_is_a_position_of_its_rule():
    found = program(PATH, ENDS, MUTUAL, OTHER)
    for rule in found.rules:
        queries = list(rule.queries())
        assert [q.delta.relation for q in queries] == [a.relation for a in (*rule.body.atoms, *rule.body.absent)]
        assert all(query.rule is rule for query in queries)


@pytest.mark.parametrize("far", ["edge(x, y), node(x)", "edge(y, x)"])
def test_relations_of_a_long_recursion_tell_what_is_far_away(far):
    def chain(base):
        rules = (
            f".decl r{i}(x: number, y: number)\nr{i}(x, y) :- r{(i + 1) % 9}(x, y), edge(x, y).\n" for i in range(9)
        )
        return program(*rules, f"r8(x, y) :- {base}.\n").fingerprints()

    one, other = chain("edge(x, y)"), chain(far)
    mine = [f"r{i}" for i in range(9)]
    assert len({one[name] for name in mine}) == len(mine)
    assert not {one[name] for name in mine} & {other[name] for name in mine}


SHORTEST = """.decl far(y: number, d: number)
far(y, d) :- edge(_, y), d = min c : { y = 0, c = 0 ; edge(x, y), far(x, n), c = n + 1 }.
"""


def test_what_engines_keep_in_another_way_is_another_relation(monkeypatch):
    """So that a state that an older version has written is not taken for one of this one."""
    now = program(PATH, SHORTEST)
    monkeypatch.setattr(Examined, "kept", "")
    before = program(PATH, SHORTEST)
    assert now.relations["path"].fingerprint == before.relations["path"].fingerprint
    assert now.relations["far"].fingerprint != before.relations["far"].fingerprint
