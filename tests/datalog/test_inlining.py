"""Inlined relations. Catches: a rule that derives other rows because a relation of its body is inlined.

Each case is a program whose relations are inlined, and the program that a writer would write without them; both run on
the same rows. Random programs compare relations that are inlined with the same ones that are not.
"""

from __future__ import annotations

import random
import re

import pytest

from deltic.datalog import check, parse
from deltic.errors import ProgramError
from tests.datalog.meaning import derive
from tests.datalog.printer import print_item
from tests.differential.random_programs import random_program, random_run

HEAD = ".decl e(x: number, y: number)\n.decl s(x: number)\n.decl p(x: number)\n"
LESS = ".decl less(a: number, b: number) inline\nless(a, b) :- a < b.\n"
ROWS = {"e": {(1, 2), (3, 2), (5, 6), (6, 6), (2, 5)}, "s": {(2,), (5,), (6,)}}

PAIRS = {
    "unsafe alone": (LESS + "p(x) :- e(x, y), less(x, y).", "p(x) :- e(x, y), x < y."),
    "unsafe and behind not": (LESS + "p(x) :- e(x, y), !less(x, y).", "p(x) :- e(x, y), x >= y."),
    "in two places": (LESS + "p(x) :- e(x, y), less(x, y), !less(y, 5).", "p(x) :- e(x, y), x < y, y >= 5."),
    "own variables differ from place to place": (
        ".decl r(a: number) inline\nr(a) :- e(a, y), s(y).\np(x) :- r(x), e(x, y), r(y).",
        "p(x) :- e(x, a), s(a), e(x, y), e(y, b), s(b).",
    ),
    "rules multiply": (
        ".decl r(a: number) inline\nr(a) :- s(a).\nr(a) :- e(_, a).\nr(9).\np(x + 10 * y) :- r(x), r(y).",
        ".decl r(a: number)\nr(a) :- s(a).\nr(a) :- e(_, a).\nr(9).\np(x + 10 * y) :- r(x), r(y).",
    ),
    "rules behind not": (
        ".decl r(a: number) inline\nr(a) :- s(a), a > 2.\nr(a) :- e(a, 5).\np(x) :- e(x, _), !r(x).",
        "p(x) :- e(x, _), !(s(x), x > 2), !e(x, 5).",
    ),
    "a variable that says any, behind not": (
        ".decl r(a: number) inline\nr(a) :- e(a, y).\np(x) :- s(x), !r(x + 1).",
        "p(x) :- s(x), !e(x + 1, _).",
    ),
    "anything given, behind not": (
        ".decl r(a: number, b: number) inline\nr(a, b) :- e(b, a), a > 2.\np(x) :- s(x), !r(x, _).",
        "p(x) :- s(x), !(e(_, x), x > 2).",
    ),
    "not behind not": (
        ".decl r(a: number) inline\nr(a) :- e(a, y), s(y).\np(x) :- s(x), !(!r(x)).",
        "p(x) :- s(x), e(x, y), s(y).",
    ),
    "own variables behind not": (
        ".decl r(a: number) inline\nr(a) :- e(a, y), s(y).\np(x) :- e(x, _), !r(x).",
        "p(x) :- e(x, _), !(e(x, y), s(y)).",
    ),
    "own variables behind two nots": (
        ".decl r(a: number) inline\nr(a) :- e(a, y), s(y).\np(x) :- s(x), !(e(x, y), !r(y)).",
        "p(x) :- s(x), forall y: (e(x, y) -> exists z: (e(y, z), s(z))).",
    ),
    "own variables in an aggregate": (
        ".decl r(a: number, b: number) inline\nr(a, b) :- e(a, y), s(b).\nr(a, 6) :- e(a, _).\n"
        "p(n) :- n = sum a : { r(a, _) }.",
        ".decl r(a: number, b: number)\nr(a, b) :- e(a, y), s(b).\nr(a, 6) :- e(a, _).\n"
        "p(n) :- n = sum a : { r(a, _) }.",
    ),
    "own variables in an aggregate, behind not": (
        ".decl r(a: number, b: number) inline\nr(a, b) :- e(a, y), s(b).\np(n) :- n = count : { s(x), !r(x, _) }.",
        ".decl r(a: number, b: number)\nr(a, b) :- e(a, y), s(b).\np(n) :- n = count : { s(x), !r(x, _) }.",
    ),
    "constants and repeated variables in a head": (
        ".decl r(a: number, b: number, c: number) inline\nr(a, a, 7) :- s(a).\np(x + z) :- e(x, y), r(x, y, z).",
        "p(x + 7) :- e(x, x), s(x).",
    ),
    "computed in the head": (
        ".decl r(a: number, b: number) inline\nr(a, a + 1) :- s(a).\np(x) :- r(_, x). p(x + 100) :- e(x, y), r(x, y).",
        "p(a + 1) :- s(a). p(a + 100) :- e(a, a + 1), s(a).",
    ),
    "computed arguments": (LESS + "p(x) :- e(x, y), less(x * 2, y + 2).", "p(x) :- e(x, y), x * 2 < y + 2."),
    "a relation of another": (
        LESS + ".decl up(a: number, b: number) inline\nup(a, b) :- e(a, b), less(a, b).\np(x) :- up(x, _), up(_, x).",
        "p(x) :- e(x, y), x < y, e(z, x), z < x.",
    ),
    "in an aggregate": (
        LESS + "p(n) :- n = count : { e(x, y), less(x, y) }.",
        "p(n) :- n = count : { e(x, y), x < y }.",
    ),
    "with an aggregate": (
        ".decl r(a: number, n: number) inline\nr(a, n) :- s(a), n = sum y : { e(y, a) }.\np(x + n) :- r(x, n).",
        "p(x + n) :- s(x), n = sum y : { e(y, x) }.",
    ),
    "a target called as the argument": (
        ".decl r(y: number) inline\nr(y) :- s(y), y <= max y : { e(_, y) }.\np(x) :- r(x).",
        "p(x) :- s(x), x <= max z : { e(_, z) }.",
    ),
    "an aggregate as the argument": (
        LESS + "p(x) :- s(x), less(count : { e(y, _), y < x }, x - 2).",
        "p(x) :- s(x), count : { e(y, _), y < x } < x - 2.",
    ),
    "in a recursion": (
        ".decl step(a: number, b: number) inline\nstep(a, b) :- e(a, b). step(a, b) :- e(b, a).\n"
        "p(1). p(y) :- p(x), step(x, y).",
        "p(1). p(y) :- p(x), e(x, y). p(y) :- p(x), e(y, x).",
    ),
    "around a recursion": (
        ".decl r(a: number) inline\nr(a) :- p(a), a < 9.\np(1). p(x + 1) :- r(x).",
        "p(1). p(x + 1) :- p(x), x < 9.",
    ),
    "one of two heads": (
        ".decl r(a: number) inline\nr(x), p(x) :- s(x).\np(x + 1) :- r(x).",
        "p(x), p(x + 1) :- s(x).",
    ),
    "a proposition": (".decl go() inline\ngo() :- s(5), !s(7).\np(x) :- s(x), go().", "p(x) :- s(x), s(5), !s(7)."),
    "whole numbers of another type": (
        ".decl half(a: float, b: float) inline\nhalf(a, a / 2).\np(to_number(x)) :- half(7, x).",
        "p(3).",
    ),
    "excluded": (
        '.decl r(a: number) inline\n.pragma "inline-exclude" "r"\nr(a) :- e(a, y), s(y).\np(x) :- s(x), !r(x).',
        ".decl r(a: number)\nr(a) :- e(a, y), s(y).\np(x) :- s(x), !r(x).",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    inlined, written = (derive(HEAD + text, ROWS)["p"] for text in PAIRS[name])
    assert inlined == written


@pytest.mark.parametrize("name", PAIRS)
def test_no_row_of_an_inlined_relation_is_computed(name):
    if name != "excluded":
        checked = check([parse(HEAD + PAIRS[name][0])])
        names = re.findall(r"\.decl (\w+)\([^)]*\) inline", PAIRS[name][0])
        mentioned = {atom.relation for rule in checked.rules for atom in rule.body if hasattr(atom, "relation")}
        assert not {*names} & {*checked.relations, *mentioned}


def test_null_is_no_value_of_an_inlined_relation():
    import deltic

    pipeline = deltic.Pipeline(engine="reference")
    pipeline.table("t", {"x": "int64", "y": "int64?"})
    pipeline.datalog(".decl r(a: number) inline\n.decl p(x: number)\nr(a) :- t(a, b), b = b.\np(x) :- r(x).")
    with pipeline.transaction() as change:
        change.insert("t", [(1, None), (2, 3)])
    assert pipeline["p"].to_arrow().column("x").to_pylist() == [2]
    pipeline.datalog(".decl q(a: number) inline\n.decl o(x: number)\nq(a) :- t(a, b).\no(x) :- t(x, _), !q(x).")
    assert pipeline["o"].to_arrow().column("x").to_pylist() == [1]


def test_random_programs():
    """Relations inlined wherever nothing forbids it: the others have the same rows."""
    inlined = 0
    for seed in range(50):
        rng = random.Random(seed)
        program = random_program(rng)
        names = [r.name for r in program.relations if not r.table]
        text = str(program)
        for name in rng.sample(names, len(names)):
            attempt = re.sub(rf"(\.decl {name}\(.*\))$", r"\1 inline", text, flags=re.MULTILINE)
            if can_be_inlined(attempt):
                text, inlined = attempt, inlined + 1
        contents = {name: set(rows) for name, rows in random_run(rng, program)[-1].items()}
        expected = derive(str(program), contents)
        assert all(rows == expected[name] for name, rows in derive(text, contents).items()), f"seed {seed}\n{text}"
    assert inlined > 25


def can_be_inlined(text):
    """Whether the program is accepted; where it is not, inlining must be what is wrong with it."""
    try:
        return check([parse(text)])
    except ProgramError as error:
        if "inlined" in str(error) or "alternatives" in str(error):
            return None
        raise


def test_the_printed_form_reads_back():
    text = '.pragma "inline-exclude" "r"\n.pragma "magic-transform" "*"\n.decl r(x: number) inline magic'
    program = parse(text)
    assert parse("\n".join(map(print_item, program.items))) == program
