"""Aggregates in rules, case by case: what is empty, which names are whose, what counts.

Each case catches a reading of Soufflé's language that is near the right one.
"""

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit.oracle.interpreter import run
from deltic.datalog import check, lower, parse

DATA = """
.decl a(n: symbol, x: number)
.decl f(x: float)
.decl none(x: number)
a("A", 3). a("A", 4). a("A", 5). a("B", 2). a("B", 4).
f(1.0e16). f(1.0). f(-1.0e16).
.decl r({columns})
.output r
"""
TWICE = ".decl p(x: number, y: number, z: number)\np(1, 1, 2). p(1, 1, 3). p(1, 2, 3)."
CASES = {
    "the count of nothing is 0": ("x: number", "r(count : { none(_) }).", [(0,)]),
    "the sum of nothing is 0": ("x: number", "r(x) :- x = sum y : { none(y) }.", [(0,)]),
    "there is no least value of nothing": ("x: number", "r(x) :- x = min y : { none(y) }.", []),
    "there is no mean of nothing": ("x: float", "r(x) :- x = mean y : { none(y) }.", []),
    "the argument of an atom": ("n: symbol", "r(n) :- a(n, count : { a(n, y), y > 2 }).", [("A",)]),
    "the argument of an atom, of nothing": (
        "x: number",
        ".decl z(x: number)\nz(0). z(1).\nr(1) :- z(count : { none(_) }).",
        [(1,)],
    ),
    "one group for each value from outside": (
        "n: symbol, x: number",
        "r(n, c) :- a(n, _), c = count : { a(n, x), x > 3 }.",
        [("A", 2), ("B", 1)],
    ),
    "groups without rows": (
        "n: symbol, x: number",
        "r(n, c) :- a(n, _), c = count : { a(n, x), x > 4 }.",
        [("A", 1), ("B", 0)],
    ),
    "values from outside in a comparison alone": (
        "x: number, n: number",
        "r(x, n) :- a(_, x), n = count : { a(_, y), y < x }.",
        [(2, 0), (3, 1), (4, 2), (5, 4)],
    ),
    "a wildcard is a binding of its own": ("x: number", "r(x) :- x = count : { a(_, _) }.", [(5,)]),
    "but none beside another atom": ("x: number", "r(x) :- x = count : { a(n, _), a(n, _) }.", [(2,)]),
    "nor in a sum of several atoms": ("x: number", "r(x) :- x = sum 1 : { a(n, _), a(_, _) }.", [(2,)]),
    "nor beside an aggregate": ("x: number", "r(x) :- x = count : { a(n, _), 3 <= max y : { a(n, y) } }.", [(2,)]),
    "nor beside a range": ("x: number", "r(x) :- x = count : { a(n, _), y = range(0, 3) }.", [(6,)]),
    "nor where a variable stands twice": ("x: number", "r(x) :- x = count : { p(z, z, _) }.\n" + TWICE, [(1,)]),
    "a negated atom beside it changes nothing": ("x: number", "r(x) :- x = count : { a(n, _), !a(n, 9) }.", [(5,)]),
    "so is it in a sum": ("x: number", "r(x) :- x = sum y : { a(_, y) }.", [(18,)]),
    "a wildcard behind ! is none": ("x: number", "r(x) :- x = count : { a(_, y), !none(_) }.", [(5,)]),
    "equal values of different bindings": ("x: number", 'r(x) :- x = sum 1 : { a("A", y) }.', [(3,)]),
    "the target's names are its own": (
        "x: number, y: number",
        'r(x, y) :- a("B", x), y = max x : { a("A", x) }.',
        [(2, 5), (4, 5)],
    ),
    "so are they where they equal the result": ("y: number", "r(y) :- y = max y + 1 : { a(_, y) }.", [(6,)]),
    "siblings do not share names": (
        "x: number, y: number",
        'r(x, y) :- x = count : { a("A", z), z > 3 }, y = count : { a("B", z), z > 3 }.',
        [(2, 1)],
    ),
    "witnesses": ("n: symbol, x: number", "r(n, x) :- x = max y : { a(n, y) }.", [("A", 5)]),
    "several witnesses": ("n: symbol", "r(n) :- 4 = max y : { a(n, y), y < 5 }.", [("A",), ("B",)]),
    "witnesses in the target": ("x: number, y: number", "r(x, y) :- y = min -x : { a(_, x) }.", [(5, -5)]),
    "witnesses of an aggregate in another": (
        "n: symbol, x: number",
        "r(n, c) :- c = count : { a(_, y), y > min z : { a(n, z) } }.",
        [("B", 3)],
    ),
    "in the target of an aggregate in another": (
        "x: number, c: number",
        "r(x, c) :- c = sum y : { a(_, y), y > max x : { a(_, x), x < 5 } }.",
        [(4, 5)],
    ),
    "of one in one in another": (
        "n: symbol, c: number",
        "r(n, c) :- c = count : { a(_, y), y > max v : { a(_, v), v < max z : { a(n, z) } } }.",
        [("A", 1)],
    ),
    "of one around an aggregate that depends on it": (
        "n: symbol, x: number",
        "r(n, x) :- x = min y : { a(n, _), y = max z : { a(n, z) } }.",
        [("B", 4)],
    ),
    "nested": (
        "n: symbol",
        "r(n) :- a(n, _), m = max c : { a(k, _), c = count : { a(k, _) } }, m = count : { a(n, _) }.",
        [("A",)],
    ),
    "an outer name in the inner aggregate": (
        "n: symbol, x: number",
        "r(n, x) :- a(n, _), x = sum y : { a(n, y), y > min z : { a(n, z) } }.",
        [("A", 9), ("B", 4)],
    ),
    "symbols": ("n: symbol, m: symbol", "r(n, m) :- n = min x : { a(x, _) }, m = max x : { a(x, _) }.", [("A", "B")]),
    "in arithmetic": ("x: number", 'r(x) :- x = 10 - 2 * count : { a("A", _) } + 1.', [(5,)]),
    "in an atom": ("n: symbol", 'r(n) :- a(n, 1 + count : { a("A", _) }).', [("A",), ("B",)]),
    "behind !": ("n: symbol", 'r(n) :- a(n, _), !a(n, 2 + min x : { a("A", x) }).', [("B",)]),
    "undefined behind !": ("n: symbol", "r(n) :- a(n, _), !a(n, min x : { none(x) }).", []),
    "undefined targets do not count": ("x: number", "r(x) :- x = sum 12 / (y - 3) : { a(_, y) }.", [(18,)]),
    "in alternatives": (
        "x: number",
        'r(x) :- x = count : { a("A", _) } ; x = count : { a("B", _) }.',
        [(2,), (3,)],
    ),
    "two aggregates that must agree": (
        "n: symbol, x: number",
        "r(n, x) :- a(n, _), x = min y : { a(n, y), y > 3 }, x = max y : { a(n, y), y < 5 }.",
        [("A", 4), ("B", 4)],
    ),
    "a constant from outside": ("x: number", 'r(x) :- n = "B", x = count : { a(n, _) }.', [(2,)]),
    "a condition that never holds": ("x: number", "r(x) :- x = count : { a(_, _), 1 = 2 }.", [(0,)]),
    "without an atom": ("x: number", "r(x) :- x = count : { 1 = 1 }.", [(1,)]),
    "in a recursion": (
        "x: number",
        "r(0). r(n) :- r(x), n = x + count : { a(_, x) } + 1, x < 4.",
        [(0,), (1,), (2,), (4,)],
    ),
    "by the rest of a recursive rule": (
        "x: number",
        "r(2). r(y) :- r(x), a(_, y), y = x + 1, 0 < count : { a(_, z), z > y }.",
        [(2,), (3,), (4,)],
    ),
    "a sum of floats has no order": ("x: float", "r(x) :- x = sum y : { f(y) }.", [(1.0,)]),
    "a mean of whole numbers": ("x: float", 'r(x) :- x = mean y : { a("B", y) }.', [(3.0,)]),
    "a sum wraps around": ("x: number", 'r(x) :- x = sum 9223372036854775807 : { a("B", _) }.', [(-2,)]),
    "a result that may be any": ("n: symbol", "r(n) :- a(n, _), _ = min y : { a(n, y), y > 4 }.", [("A",)]),
    "without braces": ("x: number", "r(x) :- x = max y : a(_, y).", [(5,)]),
}


@pytest.mark.parametrize("case", CASES)
def test_rows(case):
    columns, rule, expected = CASES[case]
    views = run(lower(check([parse(DATA.format(columns=columns) + rule)])), {})
    assert views["r"] == ZSet.of(expected)
