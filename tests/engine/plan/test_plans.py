"""Plans as text: a change of a rewrite, of extraction or of the planner shows as a difference here.

The programs are the ones whose plans a reader can judge: transitive closure, Galen's six rules, negation,
computed values and constants.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deltic.calculus import incrementalize
from deltic.datalog import check, lower, parse
from deltic.engine.plan.planner import plan
from deltic.program.compiling import extract

PROGRAMS = {
    "closure": """
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), path(y, z).
    """,
    "galen": """
        .decl p(x: number, z: number)
        .decl q(x: number, r: number, z: number)
        .decl r(y: number, u: number, e: number)
        .decl c(y: number, w: number, z: number)
        .decl u(w: number, r: number, z: number)
        .decl s(r: number, q: number)
        .input p, q
        p(x, z) :- p(x, y), p(y, z).
        q(x, r, z) :- p(x, y), q(y, r, z).
        p(x, z) :- p(y, w), u(w, r, z), q(x, r, y).
        p(x, z) :- c(y, w, z), p(x, w), p(x, y).
        q(x, k, z) :- q(x, r, z), s(r, k).
        q(x, e, o) :- q(x, y, z), r(y, v, e), q(z, v, o).
    """,
    "negation": """
        .decl person(name: symbol, age: number)
        .decl blocked(name: symbol)
        .decl knows(a: symbol, b: symbol)
        .decl stranger(a: symbol, b: symbol)
        stranger(a, b) :- person(a, _), person(b, age), age >= 18, a != b, !knows(a, b), !blocked(a).
        .decl alone(a: symbol)
        alone(a) :- person(a, _), !knows(a, _).
    """,
    "computed": """
        .decl word(w: symbol, n: number)
        .decl twice(w: symbol, n: number)
        twice(cat(w, w), n * 2) :- word(w, n), strlen(w) > 2, n != 7.
        .decl next(n: number)
        next(1).
        next(n + 1) :- next(n), n < 10.
        .decl linked(a: symbol, b: symbol)
        linked(a, b) :- word(a, n), word(b, n + 1), word("root", n).
    """,
}


@pytest.mark.law("ELA §4.2 scheduling")
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_plan(name: str, golden: Callable[[str, str], None]) -> None:
    program = extract(incrementalize(lower(check([parse(PROGRAMS[name])]))))
    golden(f"plans/{name}.txt", "\n".join(plan(query).describe() for rule in program.rules for query in rule.queries()))
