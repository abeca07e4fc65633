"""Structures that several equations take apart, and that join atoms by their fields, against Python. Catches
a field that is compared with another one, or not at all, where equations of one variable are unified.
"""

from __future__ import annotations

import random

import pytest

import deltic
from tests.datalog.naive import rows_of, seeds

PROGRAM = """
.type P = [x: number, y: number]
.type L = [p: P, l: L]
.type A = One {p: P} | Two {p: P, q: P}
.decl n(x: number)
.decl pair(p: P, q: P)
.input n
.input pair
.decl diagonal(p: P) inline
diagonal([x, y]) :- n(x), n(y), x != y.
.decl on(p: P)
on(p) :- pair(p, _), diagonal(p).
.decl chained(l: L)
chained([p, [q, nil]]) :- pair(p, q), diagonal(p), diagonal(q), p = [x, _], q = [y, _], x < y.
.decl longer(l: L)
longer([p, [q, t]]) :- chained([p, t]), chained([q, t]), p = [a, b], p = [c, d], q = [c, e], b != e, a = c.
.decl same(p: P, a: A)
same(p, $Two(p, q)) :- pair(p, r), r = q, q = [x, y], r = [y, x], p = [x, z], n(z).
same(p, $One(q)) :- pair(p, q), p = [x, y], q = [y, z], [x, y] = [y, z].
"""


def wanted(n, pairs):
    def text(p):
        return f"[{p[0]}, {p[1]}]"

    def diagonal(p):
        return p[0] in n and p[1] in n and p[0] != p[1]

    chained = {(p, q) for p, q in pairs if diagonal(p) and diagonal(q) and p[0] < q[0]}
    longer = {(p, q, t) for p, t in chained for q, s in chained if s == t and p[0] == q[0] and p[1] != q[1]}
    return {
        "on": {(text(p),) for p, _ in pairs if diagonal(p)},
        "chained": {(f"[{text(p)}, [{text(q)}, nil]]",) for p, q in chained},
        "longer": {(f"[{text(p)}, [{text(q)}, [{text(t)}, nil]]]",) for p, q, t in longer},
        "same": {(text(p), f"$Two({text(p)}, {text(q)})") for p, q in pairs if q[0] == q[1] == p[0] and p[1] in n}
        | {(text(p), f"$One({text(q)})") for p, q in pairs if q[0] == p[1] == p[0] == q[1]},
    }


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_random_epochs(seed):
    rng = random.Random(seed)
    pipeline = deltic.Pipeline()
    pipeline.datalog(PROGRAM)
    n, pairs = set(), set()
    for _ in range(4):
        numbers = {rng.randrange(3) for _ in range(2)}
        points = {tuple((rng.randrange(3), rng.randrange(3)) for _ in range(2)) for _ in range(rng.randrange(14))}
        with pipeline.transaction("normalize") as change:
            gone = {pair for pair in sorted(pairs) if rng.random() < 0.3} - points
            change.delete("pair", [tuple(f"[{x}, {y}]" for x, y in pair) for pair in sorted(gone)])
            change.insert("pair", [tuple(f"[{x}, {y}]" for x, y in pair) for pair in sorted(points)])
            left = {number for number in sorted(n) if rng.random() < 0.2} - numbers
            change.delete("n", [(number,) for number in sorted(left)])
            change.insert("n", [(number,) for number in sorted(numbers)])
        n, pairs = n - left | numbers, pairs - gone | points
        for name, rows in wanted(n, pairs).items():
            assert rows_of(pipeline[name]) == rows, (name, n, pairs)
