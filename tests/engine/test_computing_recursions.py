"""Recursions that compute with text and floats, in compiled iterations that ask for values, against the reference.

Catches a memo that gives the answer to other arguments or forgets one that is waited for, a derivation that is lost or
comes twice where a search goes back to a value that was not known, NULL and what is undefined taken for a value, labels
that are stale where a text is new, and recursions that leave compiled code for what they compute.
"""

from __future__ import annotations

import functools
import math
import random

import pytest

from deltic.algebra.zset import ZSet
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.inline.epoch_runner import EpochRunner
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.plan import questions
from deltic.engine.recursion import epoch
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh
from tests.differential.compare import batches_of, first_disagreement

INCREMENTAL = Refresh(Policy.INCREMENTAL)
TEXTS = ("", "a", "ab", "b😀", "é", "12", "-7", "007", "1.5", "x", "9223372036854775807", "😀😀😀", "aaaaaaaaa")
FLOATS = (0.0, -0.0, 1.0, -2.5, 1e300, -1e300, 5e-324, math.inf, -math.inf, 0.1)
PROGRAMS = {
    "texts grow": """
        .decl t(s: symbol, u: symbol)
        .input t
        .decl r(s: symbol, n: number)
        r(s, 0) :- t(s, _).
        r(cat(s, u), n + 1) :- r(s, n), t(u, _), n < 3, strlen(s) < 5.
        r(substr(s, 1, strlen(s) - 1), n + 1) :- r(s, n), n < 6.
    """,
    "a walk over a text": """
        .decl t(s: symbol, u: symbol)
        .input t
        .decl r(s: symbol, i: number, c: symbol)
        r(s, 0, "") :- t(s, _).
        r(s, i + 1, cat(substr(s, i, 1), c)) :- r(s, i, c), i < strlen(s), !match("x.*", s).
        .decl q(c: symbol)
        q(c) :- r(_, _, c), contains("b", c).
    """,
    "texts and numbers": """
        .decl t(s: symbol, u: symbol)
        .input t
        .decl r(s: symbol, n: number)
        r(s, to_number(s)) :- t(s, _).
        r(to_string(n / 3), n % 7) :- r(_, n).
        r(to_string(m), m - n) :- r(s, n), m = strlen(s), m < 4.
        r(s, n) :- t(s, u), r(u, n), to_float(s) >= itof(n).
    """,
    "ordered texts": """
        .decl t(s: symbol, u: symbol)
        .input t
        .decl r(s: symbol)
        r(u) :- t(_, u).
        r(cat(s, "b")) :- r(s), s < "ab", strlen(s) < 4.
        r(max(s, u)) :- r(s), t(s, u).
        .decl q(s: symbol, u: symbol)
        q(s, u) :- r(s), r(u), s < u.
    """,
    "joined by what is computed": """
        .decl t(s: symbol, u: symbol)
        .input t
        .decl r(s: symbol)
        r(s) :- t(s, _).
        r(v) :- r(s), u = cat(s, "a"), t(u, v).
        r(w) :- r(s), t(u, w), cat(u, u) = s.
    """,
    "floats": """
        .decl t(x: float, y: float)
        .input t
        .decl r(x: float, n: number)
        r(x, 0) :- t(x, _).
        r(x * y, n + 1) :- r(x, n), t(y, _), n < 3.
        r(max(x / y, -1.5) + 0.25, n + 1) :- r(x, n), t(_, y), n < 3.
        r(itof(ftoi(x)) - x, n + 1) :- r(x, n), n < 3, x != 0.1.
        r(x ^ 0.5, n + 1) :- r(x, n), n < 2.
    """,
}
THRESHOLDS = {
    "at ease": Thresholds(),
    "few at a time": Thresholds(allowance=1, handed=1, rest=0),
}


def random_run(rng, program, epochs=4, rows=4):
    values = FLOATS if "x: float, y" in program else TEXTS
    return [{"t": frozenset((rng.choice(values), rng.choice(values)) for _ in range(rows))} for _ in range(epochs)]


@pytest.mark.parametrize("strategy", [Strategy.NESTED, Strategy.ELASTIC])
@pytest.mark.parametrize("thresholds", THRESHOLDS.values(), ids=THRESHOLDS)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_random_epochs(program, thresholds, strategy):
    circuit = lower(check([parse(program)]))
    make = functools.partial(IncrementalEngine, strategy=strategy, refresh=INCREMENTAL, thresholds=thresholds)
    for seed in range(2):
        run = random_run(random.Random(seed), program)
        assert first_disagreement(circuit, run, make) is None, f"seed {seed}: {run}"


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_memos_that_have_room_for_little(program, monkeypatch):
    monkeypatch.setattr(questions, "_FIRST", 1)
    monkeypatch.setattr(questions, "_MOST", 2)
    circuit = lower(check([parse(program)]))
    for strategy in (Strategy.NESTED, Strategy.ELASTIC):
        make = functools.partial(IncrementalEngine, strategy=strategy, refresh=INCREMENTAL)
        run = random_run(random.Random(9), program)
        assert first_disagreement(circuit, run, make) is None, str(run)


LONG = """
    .decl start(s: symbol, most: number)
    .input start
    .decl r(s: symbol, n: number)
    .output r
    r(s, 0) :- start(s, _).
    r(cat("a", to_string(n)), n + 1) :- r(s, n), start(_, most), n < most.
"""


@pytest.fixture
def counted(monkeypatch):
    """Counts epochs that were begun, whole or amid them, and iterations that were run by vectors."""
    counts = {"epochs": 0, "iterations": 0}

    def counting(owner, name, what):
        original = getattr(owner, name)

        def call(self, *args):
            counts[what] += 1
            return original(self, *args)

        monkeypatch.setattr(owner, name, call)

    counting(EpochRunner, "attempt", "epochs")
    counting(EpochRunner, "grow", "epochs")
    counting(epoch.RecursionEpoch, "settle", "iterations")
    return counts


def test_many_new_texts_need_few_epochs(counted):
    circuit = lower(check([parse(LONG)]))
    engine = IncrementalEngine(circuit)
    engine.apply(batches_of(circuit, {"start": ZSet.of([("a", 10_000)])}))
    assert engine.count("r") == 10_001
    assert counted["epochs"] < 15
    assert counted["iterations"] < 15
