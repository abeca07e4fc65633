"""Each row of the tables of Soufflé's constructs in docs/datalog.md is what happens.

What is maintained has a program here with the rows that it derives, and follows random changes as a start from nothing
would; what is refused is so, in the words that matter. A row without a case here is an error. Constructs that mean here
what they mean in Soufflé have a case and no row.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import deltic
from deltic.errors import ProgramError

TEXT = (Path(__file__).parents[2] / "docs" / "datalog.md").read_text(encoding="utf-8")
TABLES = re.findall(r"\n\| construct \|.*\n\|---\|---\|\n((?:\|.*\n)+)", TEXT)
ROWS = [row for table in TABLES for row in re.findall(r"^\| (.*?) \| .*\|$", table, re.MULTILINE)]
E = ".decl e(x: number, y: number)\n.input e\n"


@dataclass(frozen=True)
class Maintained:
    """A program over `e` and other tables, the rows of these, and those of its view `o`."""

    program: str
    expected: set[tuple[object, ...]]
    rows: dict[str, list[tuple[object, ...]]] = field(default_factory=lambda: {"e": [(1, 2), (2, 3), (3, 4)]})


@dataclass(frozen=True)
class Refused:
    """A program, and what the message about it says."""

    program: str
    said: str


@deltic.functor(deterministic=True)
def twice(x: int) -> int:
    return 2 * x


@deltic.aggregate(of={"x": "int64"}, gives={"spread": "int64"})
def spread(values):
    return max(values) - min(values)


LISTS = ".type L = [head: number, tail: L]\n.decl l(l: L)\n.input l\n"
CASES = {
    "facts, rules, `,` `;` `!`, recursion": Maintained(
        E + ".decl o(x: number, y: number)\no(x, y) :- e(x, y) ; o(x, z), e(z, y), !e(y, x).\no(0, 0).",
        {(1, 2), (2, 3), (3, 4), (1, 3), (2, 4), (1, 4), (0, 0)},
    ),
    "`count`, `sum`, `min`, `max`, `mean`, nested, with witnesses": Maintained(
        E
        + ".decl f(x: float)\n.input f\n.decl o(n: number, s: number, least: number, who: number, m: float)\n"
        + "o(n, s, least, who, m) :- n = count : { e(_, _) }, s = sum y : { e(_, y) }, least = min y : { e(_, y) }, "
        + "z = max y : { e(who, y), y > min x : { e(x, _) } }, z > 0, m = mean x : { f(x) }.",
        {(3, 9, 2, 3, 1.5)},
        {"e": [(1, 2), (2, 3), (3, 4)], "f": [(1.0,), (2.0,)]},
    ),
    "user-defined aggregates": Maintained(E + ".decl o(s: number)\no(s) :- s = @@spread y : { e(_, y) }.", {(2,)}),
    "`@@f x : start, { … }`": Refused(
        E + ".functor f(x: number, y: number): number\n.decl o(s: number)\no(s) :- s = @@f y : 0, { e(_, y) }.",
        "deltic.aggregate",
    ),
    "records, `nil`, algebraic data types": Maintained(
        LISTS + ".type S = One {x: number} | Two {a: S, b: S}\n.decl o(l: L, s: S)\n"
        "o([x, nil], $Two($One(x), $One(y))) :- l([x, [y, nil]]).",
        {("[1, nil]", "$Two($One(1), $One(2))")},
        {"l": [("[1, [2, nil]]",), ("[3, nil]",)]},
    ),
    "subtypes, unions, aliases": Refused(
        ".type A <: number\n.type B <: number\n.decl a(x: A)\n.decl b(x: B)\nb(x) :- a(x).", "A"
    ),
    "`.functor`, `@f`": Maintained(
        E + ".functor twice(x: number): number\n.decl o(x: number)\no(@twice(y)) :- e(_, y).", {(4,), (6,), (8,)}
    ),
    "`match`": Maintained(
        '.decl t(x: symbol)\n.input t\n.decl o(x: symbol)\no(x) :- t(x), match("(?!.*b)(.).*\\\\1[[:alpha:]]{2}", x).\n'
        "o(cat(p, x)) :- t(x), t(p), match(p, x), x != p.",
        {("acacc",), ("a*aa",)},
        {"t": [("acacc",), ("acabc",), ("a*",), ("aa",)]},
    ),
    "`sin`, `cos` and the other functions of floats": Maintained(
        ".decl f(x: float)\n.input f\n.decl o(x: float)\no(cos(x) + sin(x)) :- f(x).", {(1.0,)}, {"f": [(0.0,)]}
    ),
    "`range`": Maintained(
        E + ".decl o(x: number, z: number)\no(x, z) :- e(x, y), z = range(x, y + 1).",
        {(1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 4)},
    ),
    "`ord`": Maintained(
        E + '.decl o(x: number, same: number)\no(ord(x), 1) :- e(x, _), ord("a") = ord("a"), ord("a") != ord("b").',
        {(1, 1), (2, 1), (3, 1)},
    ),
    "`$`, `autoinc()`": Refused(E + ".decl o(n: number)\no(autoinc()) :- e(_, _).", "order of evaluation"),
    "`choice-domain`": Maintained(
        E + ".decl o(x: number, y: number) choice-domain x\no(x, y) :- e(x, _), e(_, y).",
        {(1, 2), (2, 2), (3, 2)},
    ),
    "subsumption": Maintained(
        E + ".decl o(x: number, y: number)\no(0, y) :- e(_, y).\no(x, y) <= o(x, z) :- z < y.", {(0, 2)}
    ),
    "components, `.init`, `.override`": Maintained(
        E + ".comp A<T> {\n.decl r(x: T) overridable\nr(x) :- e(x, _).\n}\n"
        ".comp B<T> : A<T> {\n.override r\nr(y) :- e(_, y).\n}\n"
        ".init a = A<number>\n.init b = B<number>\n.decl o(x: number)\no(x) :- a.r(x), b.r(x).",
        {(2,), (3,)},
    ),
    "`#define`, `#if`, `.include` and the like": Maintained(
        E + "#define LEAST 2\n#if LEAST > 1\n.decl o(x: number)\no(x) :- e(x, _), x >= LEAST.\n#endif", {(2,), (3,)}
    ),
    "`.input`, `.output`, `.printsize`": Maintained(
        E + ".decl o(x: number)\n.output o\n.printsize o\no(x) :- e(x, _).", {(1,), (2,), (3,)}
    ),
    "`.limitsize`": Maintained(
        E + ".decl o(x: number)\no(1).\no(x + 1) :- o(x), e(_, _).\n.limitsize o(n=3)", {(1,), (2,), (3,)}
    ),
    "`inline`, `magic`, `no_magic`, `.pragma` of them": Maintained(
        '.pragma "magic-transform" "*"\n'
        + E
        + ".decl next(x: number, y: number) inline\nnext(x, y) :- e(x, y), x > 1.\n"
        ".decl o(x: number, y: number) no_magic\no(x, z) :- next(x, y), next(y, z).",
        {(2, 4)},
    ),
    "`eqrel`": Maintained(
        E + ".decl o(x: number, y: number) eqrel\no(x, y) :- e(x, y), x < 2.", {(1, 1), (1, 2), (2, 1), (2, 2)}
    ),
    "`btree`, `brie`, `.plan`, `.strict`": Maintained(
        E + ".decl o(x: number, z: number) btree\no(x, z) :- e(x, y), e(y, z). .plan 0: (2, 1)", {(1, 3), (2, 4)}
    ),
    "`.number_type T`, `.symbol_type T`, `.type T`": Maintained(
        E + ".number_type N\n.symbol_type S\n.type T\n.decl o(x: N, s: S, t: T)\n"
        'o(as(x, N), as("a", S), as("b", T)) :- e(x, _).',
        {(1, "a", "b"), (2, "a", "b"), (3, "a", "b")},
    ),
    "`input`, `output`, `printsize` behind a declaration": Maintained(
        ".decl e(x: number, y: number) input\n.decl o(x: number) output printsize\no(x) :- e(x, _).", {(1,), (2,), (3,)}
    ),
    "annotations (`@[...]`, `@![...]`), `///` and `//!`": Maintained(
        E + "/// what it is\n@[deprecated]\n.decl o(x: number)\no(x) :- e(x, _).", {(1,), (2,), (3,)}
    ),
    "`.pragma` of an option of Soufflé's command": Refused(
        '.pragma "jobs" "4"\n.pragma "fact-dir" "facts"', "fact-dir"
    ),
    "`c . r(x)`, a qualified name with blanks": Refused(
        ".comp C { .decl r(x: number) }\n.init c = C\n.decl o(x: number)\no(x) :- c . r(x).", "`c` is not a condition"
    ),
    "a string over several lines": Refused('.decl o(x: symbol)\no("one\ntwo").', "`\\n`"),
    "`debug_delta`": Refused(E + ".decl o(x: number)\no(x) :- e(x, _).\n.decl d = debug_delta(o)", "iterations"),
    "internet addresses, `127.0.0.1`": Maintained(
        E + ".decl o(x: unsigned)\no(127.0.0.1) :- e(_, _).", {(0x7F000001,)}
    ),
    "lattices (`.lattice`, `<>`)": Refused(
        ".lattice N<> { Bottom -> 0, Lub -> @max(_, _), Glb -> @min(_, _) }", "aggregate or a subsumption"
    ),
    "`recursive_iteration_cnt()`": Refused(
        E + ".decl o(x: number)\no(recursive_iteration_cnt()) :- e(_, _).", "order of evaluation"
    ),
    "two record types of one shape, one branch in two types": Maintained(
        E + ".type P = [x: number, y: number]\n.type Q = [x: number, y: number]\n.decl p(p: P)\n.decl q(q: Q)\n"
        "p([x, y]) :- e(x, y).\nq([y, x]) :- e(x, y).\n.decl o(x: number)\no(x) :- p([x, y]), q([x, z]), y > z.",
        {(2,), (3,)},
    ),
    "long sums, products and bodies": Maintained(
        E + f".decl o(x: number)\no(x + {' + '.join(['1'] * 1000)}) :- {', '.join(['e(x, _)'] * 20)}.",
        {(1001,), (1002,), (1003,)},
    ),
    "more than 100 levels of operators and parentheses inside of each other": Refused(
        E + f".decl o(x: number)\no({'-(1 + ' * 120}x{')' * 120}) :- e(x, _).", "parts"
    ),
    "records of a type that is not declared, `r = [x, y], r = [v, w]` between variables of equations alone": Maintained(
        E + ".decl o(x: number)\no(x) :- e(x, y), e(v, w), r = [x, y], r = [v, w].", {(1,), (2,), (3,)}
    ),
}


def test_each_row_has_a_case():
    assert ROWS
    assert set(ROWS) <= CASES.keys()


@pytest.mark.parametrize("construct", [name for name, case in CASES.items() if isinstance(case, Refused)])
def test_what_is_refused(construct):
    case = CASES[construct]
    with pytest.raises(ProgramError, match=re.escape(case.said)):
        deltic.Pipeline().datalog(case.program)


@pytest.mark.parametrize("construct", [name for name, case in CASES.items() if isinstance(case, Maintained)])
def test_what_is_maintained(construct):
    case, rng = CASES[construct], random.Random(construct)
    pipeline = deltic.Pipeline(functions=[twice, spread])
    pipeline.datalog(case.program)
    change_rows(pipeline, {}, case.rows)
    assert set(pipeline["o"]) == case.expected
    there = case.rows
    for _ in range(3):
        chosen = {table: [row for row in rows if rng.random() < 0.5] for table, rows in case.rows.items()}
        change_rows(pipeline, there, chosen)
        there = chosen
        anew = deltic.Pipeline(functions=[twice, spread], engine="reference")
        anew.datalog(case.program)
        change_rows(anew, {}, chosen)
        assert set(pipeline["o"]) == set(anew["o"]), chosen


def change_rows(pipeline, there, rows):
    with pipeline.transaction() as change:
        for table, chosen in rows.items():
            before = there.get(table, [])
            change.delete(table, [row for row in before if row not in chosen])
            change.insert(table, [row for row in chosen if row not in before])
