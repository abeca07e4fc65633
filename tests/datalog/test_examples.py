"""Small programs with what they derive, written down by hand: one fact of the language each."""

import pytest

from tests.datalog.meaning import derive

NUMBERS = ".decl n(x: number)\n.decl r(x: number)\n"
PAIRS = ".decl n(x: number)\n.decl e(x: number, y: number)\n.decl r(x: number, y: number)\n"
E = {(1, 2), (2, 3), (3, 3)}

CASES = {
    "facts": (NUMBERS + "r(1). r(2), r(3). r(1).", {}, {(1,), (2,), (3,)}),
    "several heads": (NUMBERS + ".decl q(x: number)\nr(x), q(x) :- n(x).", {"n": {(7,)}}, {(7,)}),
    "disjunction": (NUMBERS + "r(x) :- n(x), (x = 1 ; x > 5).", {"n": {(1,), (2,), (6,)}}, {(1,), (6,)}),
    "comma binds tighter": (NUMBERS + "r(x) :- n(x), x = 1 ; n(x), x = 2.", {"n": {(1,), (2,), (3,)}}, {(1,), (2,)}),
    "negation": (NUMBERS + ".decl q(x: number)\nr(x) :- n(x), !q(x).", {"n": {(1,), (2,)}, "q": {(2,)}}, {(1,)}),
    "absence for all": (PAIRS + "r(x, x) :- n(x), !e(x, _).", {"n": {(3,), (4,)}, "e": E}, {(4, 4)}),
    "absence of a diagonal": (PAIRS + "r(x, x) :- n(x), !e(x, x).", {"n": {(1,), (3,)}, "e": E}, {(1, 1)}),
    "absence of a constant": (PAIRS + "r(x, x) :- n(x), !e(x, 3).", {"n": {(1,), (2,)}, "e": E}, {(1, 1)}),
    "absence of a computed row": (PAIRS + "r(x, x) :- n(x), !e(x, x + 1).", {"n": {(1,), (3,)}, "e": E}, {(3, 3)}),
    "absence of a proposition": (NUMBERS + ".decl stop()\nr(1) :- !stop().", {}, {(1,)}),
    "presence of a proposition": (NUMBERS + ".decl go()\nr(1) :- !go().", {"go": {()}}, set()),
    "repeated variable": (PAIRS + "r(x, x) :- e(x, x).", {"e": E}, {(3, 3)}),
    "constant argument": (PAIRS + "r(x, 0) :- e(x, 3).", {"e": E}, {(2, 0), (3, 0)}),
    "computed argument": (PAIRS + "r(x, y) :- e(x, y), e(x + 1, y + 1).", {"e": E}, {(1, 2)}),
    "wildcards differ": (PAIRS + "r(1, 1) :- e(_, _), !e(_, 9).", {"e": E}, {(1, 1)}),
    "equal variables": (PAIRS + "r(x, y) :- n(x), x = y.", {"n": {(5,)}}, {(5, 5)}),
    "equal variables of two atoms": (PAIRS + "r(x, y) :- e(x, z), e(w, y), z = w.", {"e": {(1, 2), (2, 9)}}, {(1, 9)}),
    "chain of equations": (PAIRS + "r(a, c) :- c = b * 2, b = a + 1, n(a).", {"n": {(3,)}}, {(3, 8)}),
    "only equations": (NUMBERS + "r(y) :- x = 3, y = x ^ 2.", {}, {(9,)}),
    "contradiction": (NUMBERS + "r(x) :- n(x), x = 1, x = 2.", {"n": {(1,), (2,)}}, set()),
    "true and false": (NUMBERS + "r(1) :- true. r(2) :- false. r(3) :- !false.", {}, {(1,), (3,)}),
    "division by zero does not fire": (NUMBERS + "r(6 / x) :- n(x).", {"n": {(0,), (2,)}}, {(3,)}),
    "undefined facts are none": (NUMBERS + "r(1 / 0). r(1).", {}, {(1,)}),
    "undefined is neither": (NUMBERS + "r(1) :- 1 / 0 = 1. r(2) :- 1 / 0 != 1. r(3) :- !(1 / 0 = 1).", {}, set()),
    "undefined conditions": (NUMBERS + "r(x) :- n(x), 6 / x < 9.", {"n": {(0,), (1,)}}, {(1,)}),
    "undefined absence": (NUMBERS + "r(x) :- n(x), !n(6 / x).", {"n": {(0,), (1,)}}, {(1,)}),
    "not a number": (
        ".decl s(x: symbol)\n.decl r(x: number)\nr(to_number(x)) :- s(x).",
        {"s": {("12",), ("x",), ("1.5",), ("-3",)}},
        {(12,), (-3,)},
    ),
    "wrap around": (NUMBERS + "r(x + 1) :- n(x).", {"n": {(2**63 - 1,)}}, {(-(2**63),)}),
    "recursion": (
        PAIRS + "r(x, y) :- e(x, y). r(x, z) :- r(x, y), e(y, z).",
        {"e": E},
        {(1, 2), (2, 3), (3, 3), (1, 3)},
    ),
    "recursion from facts": (NUMBERS + "r(0). r(x + 1) :- r(x), x < 3.", {}, {(0,), (1,), (2,), (3,)}),
    "table and view": (NUMBERS + ".input r\nr(x + 10) :- n(x).", {"n": {(1,)}, "r": {(5,)}}, {(5,), (11,)}),
    "recursive table and view": (
        NUMBERS + ".input r\nr(x + 1) :- r(x), x < 3.",
        {"r": {(1,), (7,)}},
        {(1,), (2,), (3,), (7,)},
    ),
    "equivalence": (
        PAIRS.replace("r(x: number, y: number)", "r(x: number, y: number) eqrel") + "r(x, y) :- e(x, y).",
        {"e": {(1, 2), (2, 3), (7, 7)}},
        {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)} | {(7, 7)},
    ),
    "symbols in order": (
        '.decl s(x: symbol)\n.decl r(x: symbol)\nr(x) :- s(x), x < "b".',
        {"s": {("a",), ("b",), ("B",), ("ä",), ("",)}},
        {("a",), ("B",), ("",)},
    ),
    "whole numbers as floats": (
        ".decl n(x: number)\n.decl r(f: float)\nr(x) :- n(y), x = 1. r(to_float(y) / 2) :- n(y).",
        {"n": {(3,)}},
        {(1.0,), (1.5,)},
    ),
    "nobody declared it input": (NUMBERS + "r(x) :- n(x).", {}, set()),
}


@pytest.mark.parametrize("name", CASES)
def test_derives(name):
    text, tables, expected = CASES[name]
    assert derive(text, tables)["r"] == expected


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_a_negated_comparison_is_the_opposite(operator):
    text = PAIRS + ".decl q(x: number, y: number)\n"
    text += f"r(x, y) :- e(x, y), x {operator} y. q(x, y) :- e(x, y), !(x {operator} y)."
    pairs = {(x, y) for x in range(3) for y in range(3)}
    found = derive(text, {"e": pairs})
    assert found["q"] == pairs - found["r"]


def test_views_and_tables():
    assert set(derive(PAIRS + "r(x, x) :- n(x).", {})) == {"r"}
