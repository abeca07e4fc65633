"""Formulas nested at will, case by case: what quantifiers, implications and negations in parentheses are about.

Each case catches a reading of a formula that is near the right one. All run on the local engine too, after every one
of a few changes.
"""

import re

import pytest

import deltic
from tests.datalog.meaning import derive

HEAD = ".decl p(x: number)\n.decl child(x: number, y: number)\n.decl r(x: number)\n.decl s(x: number, n: number)\n"
P = {(i,) for i in range(6)}
CHILD = {(0, 1), (1, 2), (3, 4), (4, 3), (2, 9)}
CASES = {
    "a negation's own variable": ("r(x) :- p(x), !(child(x, y), p(y)).", [2, 5]),
    "exists": ("r(x) :- p(x), exists y: (child(x, y), p(y)).", [0, 1, 3, 4]),
    "not exists": ("r(x) :- p(x), !exists y: (child(x, y), p(y)).", [2, 5]),
    "forall with a guard": ("r(x) :- p(x), forall y: (child(x, y) -> p(y)).", [0, 1, 3, 4, 5]),
    "forall as a disjunction": ("r(x) :- p(x), forall y: (!child(x, y); p(y)).", [0, 1, 3, 4, 5]),
    "forall of two": ("r(x) :- p(x), forall y, z: (child(x, y), child(y, z) -> z != x).", [0, 1, 2, 5]),
    "an implication binds to the right": (
        "r(x) :- p(x), forall y, z: (child(x, y) -> p(y) -> (y != z ; z = 1)).",
        [0, 2, 5],
    ),
    "an implication of known values": ("r(x) :- p(x), (x > 2 -> child(x, _)).", [0, 1, 2, 3, 4]),
    "an alternative inside of not": ("r(x) :- p(x), !(child(x, y), y > x ; child(y, x), y > x).", [4, 5]),
    "a value from outside as a bound": ("r(x) :- p(x), !(p(y), y > x).", [5]),
    "two values from outside": ("r(y) :- child(x, y), !(p(z), z > x, z < y).", [1, 2, 3, 4]),
    "not inside of not": ("r(x) :- p(x), !(child(x, y), !(child(y, z), z > x)).", [0, 1, 5]),
    "not not": ("r(x) :- p(x), !(!(child(x, y))).", [0, 1, 2, 3, 4]),
    "Soufflé's double negation": ("r(x) :- p(x), !(p(x), !child(x, y)).", [0, 1, 2, 3, 4]),
    "names are apart": ("r(x) :- p(x), !(child(x, y), y > 3), !(child(y, x), y > 3).", [0, 1, 4, 5]),
    "a quantified name that is used outside": ("r(x) :- p(x), exists x: (child(x, 2)), x > 3.", [4, 5]),
    "a quantifier inside of one of the same name": (
        "r(x) :- p(x), exists y: (child(x, y), !exists y: (child(y, x))).",
        [0],
    ),
    "alternatives have names of their own": (
        "r(x) :- p(x), (child(x, y), y > 3 ; !(child(y, x), p(y))).",
        [0, 2, 3, 5],
    ),
    "nothing from outside": ("r(x) :- p(x), !(child(y, _), y > 4).", [0, 1, 2, 3, 4, 5]),
    "a constant from outside": ("r(x) :- x = 1, !(child(x, y), y > 2).", [1]),
    "an aggregate in a negation": ("r(x) :- p(x), !(n = count : { child(x, y) ; child(y, x) }, n != 1).", [0, 3, 4]),
    "an aggregate's own name in a negation": (
        "r(x) :- p(x), !(m = max z : { child(_, z) }, child(x, m)).",
        [0, 1, 3, 4, 5],
    ),
    "alternatives count a binding once": (
        "s(x, n) :- p(x), n = count : { child(x, y) ; child(y, x) }.",
        [(0, 1), (1, 2), (2, 2), (3, 1), (4, 1), (5, 0)],
    ),
    "what one alternative alone mentions is not counted": (
        "s(x, n) :- p(x), n = sum y : { child(x, y) ; p(y), y > x, child(y, z) }.",
        [(0, 10), (1, 9), (2, 16), (3, 4), (4, 3), (5, 0)],
    ),
    "what exists quantifies is not counted": (
        "s(x, n) :- p(x), n = count : { p(y), exists z: (child(y, z), z > x) }.",
        [(0, 5), (1, 4), (2, 3), (3, 2), (4, 1), (5, 1)],
    ),
    "a negation in an aggregate": (
        "s(x, n) :- p(x), n = x + count : { child(x, y), !(child(y, z), !child(z, y)) }.",
        [(0, 0), (1, 1), (2, 3), (3, 4), (4, 5), (5, 5)],
    ),
    "an implication in an aggregate": (
        "s(0, n) :- n = count : { p(x), (x > 1 -> child(x, _)) }.",
        [(0, 5)],
    ),
    "witnesses of alternatives": (
        "s(x, n) :- n = max z : { child(x, z), !exists w: (child(z, w), w > z) ; child(x, z), z > 8 }.",
        [(2, 9)],
    ),
    "an alternative without an atom": (
        "s(x, n) :- p(x), n = min z : { z = 3 ; child(x, z) }.",
        [(0, 1), (1, 2), (2, 3), (3, 3), (4, 3), (5, 3)],
    ),
}
RECURSIVE = {
    "every child": ("r(x) :- p(x), forall y: (child(x, y) -> r(y)).", [5]),
    "no child that is not": ("r(x) :- p(x), !(child(x, y), !r(y)).", [5]),
    "through an inlined helper": (
        ".decl bad(x: number) inline\nr(x) :- p(x), !bad(x).\nbad(x) :- child(x, y), !r(y).",
        [5],
    ),
    "through a hidden helper": (
        '.decl bad(x: number)\n.pragma "hidden" "bad"\nr(x) :- p(x), !bad(x).\nbad(x) :- child(x, y), !r(y).',
        [5],
    ),
    "through the only one that can help": (
        ".decl bad(x: number)\nr(5). r(x) :- r(y), y = x + 1, p(x), x > 3.\nr(x) :- p(x), !bad(x).\n"
        "bad(x) :- child(x, y), !r(y).",
        [3, 4, 5],
    ),
    "a count of all": (
        "r(x) :- p(x), !(n = count : { child(x, y), r(y) }, m = count : { child(x, _) }, n < m).",
        [5],
    ),
    "heights": (
        "s(x, 0) :- p(x), !child(x, _).\n"
        "s(x, n + 1) :- p(x), n = max k : { child(x, y), s(y, k) }, forall y: (child(x, y) -> s(y, _)).",
        [(5, 0)],
    ),
    "distances": (
        "s(0, 0).\ns(x, n) :- p(x), n = min k + 1 : { child(y, x), s(y, k) }.",
        [(0, 0), (1, 1), (2, 2)],
    ),
    "a count of values that only the recursion has": (
        "s(0, 0).\ns(x + 1, n) :- s(x, _), x < 4, n = count : { p(y), y <= x }.",
        [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)],
    ),
}


def _rows(expected):
    return {row if isinstance(row, tuple) else (row,) for row in expected}


@pytest.mark.parametrize("case", [*CASES, *RECURSIVE])
def test_rows(case):
    text, expected = {**CASES, **RECURSIVE}[case]
    views = derive(HEAD + text, {"p": P, "child": CHILD})
    assert views["s" if "s(" in text.split(":-")[0] else "r"] == _rows(expected)


def test_changes():
    """All cases at once on the local engine, against the reference, as rows of the tables go and come."""
    cases = {**CASES, **RECURSIVE}
    names = {case: f"c{number}" for number, case in enumerate(cases)}
    parts = [".decl p(x: number)\n.decl child(x: number, y: number)"]
    for case, name in names.items():
        text = re.sub(r"\bbad\b", f"bad_{name}", cases[case][0])
        read = "s" if re.search(r"\bs\(.*:-", text) else "r"
        columns = "(x: number, n: number)" if read == "s" else "(x: number)"
        parts.append(f".decl {name}{columns}\n" + re.sub(rf"\b{read}\(", f"{name}(", text))
    text, tables = "\n".join(parts), {"p": set(), "child": set()}
    changes = [
        {"p": P, "child": CHILD},
        {"child": {(5, 0), (1, 2)}},
        {"p": {(4,)}, "child": {(2, 9)}},
        {"child": {(3, 4), (0, 0)}},
        {"p": {(9,), (0,)}},
    ]
    pipeline = deltic.Pipeline(engine="local")
    pipeline.datalog(text)
    for change in changes:
        with pipeline.transaction() as transaction:
            for table, rows in change.items():
                transaction.delete(table, rows & tables[table])
                transaction.insert(table, rows - tables[table])
                tables[table] ^= rows
        expected = derive(text, tables)
        for case, name in names.items():
            assert set(pipeline[name]) == expected[name], case
