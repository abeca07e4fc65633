"""Values that searches compute: where plans bind them, and what becomes of one that has no place in its domain.

A domain that grows for values that no view has costs memory; one that does not grow for a value that a view has loses
rows; and each growth runs the epoch again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlglot import parse_one

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.operators.query import Evaluation
from deltic.engine.plan.plan import LetStep, Plan
from deltic.engine.plan.planner import plan
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh
from deltic.engine.resources import ResourceLimits
from deltic.errors import IterationLimitError
from deltic.program.queries import Atom, Body, Query, Rule, When
from deltic.values.types import Type, ValueType
from tests.conformance.engines import Driver
from tests.differential.compare import Contents, first_disagreement

LARGE = 10**12


class Counted:
    """An engine of a program, with the number of times that it ran an epoch, or began a stratum of one once more."""

    def __init__(self, program: str, monkeypatch: pytest.MonkeyPatch, **options: object) -> None:
        circuit = lower(check([parse(program)]))
        self.engine = IncrementalEngine(circuit, **options)  # type: ignore[arg-type]
        self.driver = Driver(self.engine, circuit)
        self.runs = 0
        runner = self.engine.executor.running.runner
        for begins in ("attempt", "grow"):
            monkeypatch.setitem(vars(runner), begins, self._counted(getattr(runner, begins)))

    def _counted(self, original: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object) -> object:
            self.runs += 1
            return original(*args)

        return counted

    def bits(self, relation: str, column: int = 0) -> int:
        return self.engine.executor.running.states[relation].domains[column].bits


TABLES = ".decl a(x: number)\n.input a\n.decl b(x: number, y: number)\n.input b\n"


def test_a_sought_value_that_nothing_has_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    view = Counted(TABLES + f".decl v(x: number)\nv(x) :- a(x), b(y, _), y = x + {LARGE}.", monkeypatch)
    view.driver.insert(a=[(-LARGE,), (1,), (7,)], b=[(0, 0), (5, 5)])
    assert view.driver.rows("v") == {(-LARGE,)}
    assert view.runs == 1
    assert view.bits("b") <= 4
    view.driver.insert(b=[(LARGE + 1, 1)])
    assert view.driver.rows("v") == {(-LARGE,), (1,)}


def test_a_second_equation_of_a_variable_is_a_condition() -> None:
    """And it is decided before anything is sought."""
    x, y = 0, 1
    sum_, product = (parse_one(text, dialect="duckdb") for text in ('"‹0›" + 1', '"‹0›" * 2'))
    atoms = (Atom("a", When.DELTA, (x,)), Atom("b", When.NEW, (y,)))
    body = Body(atoms=atoms, equations=((y, sum_), (y, product)), types=dict.fromkeys((x, y), ValueType(Type.INT64)))
    lines = plan(Query("v", (x,), body, Rule("v", (x,), body))).describe().splitlines()[1:]
    assert [line.strip() for line in lines[1:4]] == ["let _1 = _0 + 1", "if _1 = _0 * 2", "seek b[0] at _1"]


def test_an_empty_domain_has_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    view = Counted(TABLES + ".decl v(x: number)\nv(x) :- a(x), b(y, _), y = x * 0.", monkeypatch)
    view.driver.insert(a=[(3,)])
    assert view.driver.rows("v") == set()
    view.driver.insert(b=[(0, 1)])
    assert view.driver.rows("v") == {(3,)}


@pytest.mark.parametrize("rule", ["v(y) :- a(x), y = x * {}, y < 10.", "v(x * {}) :- a(x), x < 1."])
def test_a_value_that_is_refused_needs_no_place(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    view = Counted(TABLES + ".decl v(x: number)\n" + rule.replace("{}", str(LARGE)), monkeypatch)
    view.driver.insert(a=[(0,), (1,), (-3,), (7,)])
    expected = {(0,), (-3 * LARGE,)}
    assert view.driver.rows("v") == expected
    assert view.bits("v") <= (4 * LARGE).bit_length()


RULES = [
    "v(y) :- a(x), y = x * {}, y < 10.",
    "v(x * {}) :- a(x), b(x, _).",
    "v(x * {}) :- a(x), b(y, y).",
    "v(x * {}) :- a(x), !b(x * 2, x + x * {}).",
    "v(x) :- a(x), b(x, _), !v2(x * {}, x). .decl v2(x: number, y: number) v2(y, x) :- b(x, y).",
]


@pytest.mark.parametrize("rule", RULES)
def test_refused_values_leave_domains_alone(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a comparison, for want of a row, or of one that agrees with itself; before another row is refused."""
    view = Counted(TABLES + ".decl v(x: number)\n" + rule.replace("{}", str(LARGE)), monkeypatch)
    view.driver.insert(b=[(3, 4), (0, 1), (14, 7 + 7 * LARGE), (2, 1 + LARGE)])
    bits = view.bits("v")
    view.driver.insert(a=[(1,), (7,)])
    assert view.driver.rows("v") == set()
    assert view.bits("v") == bits
    assert view.runs <= 2


def test_a_value_that_must_be_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    view = Counted(TABLES + f".decl v(x: number)\nv(x) :- a(x), !b(x * {LARGE}, x + 1).", monkeypatch)
    view.driver.insert(a=[(0,), (1,), (7,)], b=[(0, 1), (7, 8), (1, 2)])
    assert view.driver.rows("v") == {(1,), (7,)}
    view.driver.insert(b=[(7 * LARGE, 8), (LARGE, 3)])
    assert view.driver.rows("v") == {(1,)}


def test_one_growth_for_all_values_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search goes on to find the least and the greatest value, so that squares do not grow bit by bit."""
    view = Counted(TABLES + ".decl v(x: number, y: number)\nv(x, x * x) :- a(x).", monkeypatch)
    view.driver.insert(a=[(x,) for x in range(500)])
    assert view.driver.rows("v") == {(x, x * x) for x in range(500)}
    assert view.runs == 2


@pytest.mark.parametrize("threads", [1, 3])
def test_growth_in_pieces_of_a_change(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = TABLES + ".decl v(x: number, y: number)\nv(x, x * x * x) :- a(x), b(x, _)."
    view = Counted(
        program, monkeypatch, thresholds=Thresholds(grouped=0, piece=3), resources=ResourceLimits(threads=threads)
    )
    view.driver.insert(a=[(x,) for x in range(-40, 40)], b=[(x, 1) for x in range(-50, 50, 2)])
    assert view.driver.rows("v") == {(x, x**3) for x in range(-40, 40, 2)}


@pytest.mark.parametrize("step", ["+ 1", "- 1", "- 1000003", "+ 99999999"])
@pytest.mark.parametrize("strategy", Strategy)
def test_a_recursion_that_counts_runs_few_times(step: str, strategy: Strategy, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ".decl n(x: number, d: number)\n.decl s(x: number)\n.input s\nn(x, 0) :- s(x)."
    program += f"n(x {step}, d + 1) :- n(x, d), d < 3000."
    view = Counted(program, monkeypatch, strategy=strategy)
    view.driver.insert(s=[(5,)])
    change = int(step.replace(" ", ""))
    assert view.driver.rows("n") == {(5 + change * d, d) for d in range(3001)}
    assert view.runs <= 20
    view.driver.apply({"s": [((5,), -1)]})
    assert view.driver.rows("n") == set()


def test_values_wrap_around() -> None:
    """Doubling is zero after 64 iterations; the domain has all 64 bits then."""
    driver = Driver.of_program("local", ".decl n(x: number)\nn(1).\nn(x * 2) :- n(x).")
    driver.apply({})
    assert driver.rows("n") == {(0,), (-(2**63),), *((2**i,) for i in range(63))}


def test_an_overflow_at_the_limit_is_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runaway whose domain has to grow after the last iteration allowed ends there, and the next epoch is right."""
    program = ".decl n(x: number)\n.decl s(x: number)\n.input s\nn(x) :- s(x).\nn(x + 1) :- n(x), x != 12, x != 5000."
    view = Counted(program, monkeypatch, iteration_limit=20)
    with pytest.raises(IterationLimitError):
        view.driver.insert(s=[(100,)])
    assert view.runs <= 3
    view.driver.insert(s=[(0,)])
    assert view.driver.rows("n") == {(x,) for x in range(13)}
    with pytest.raises(IterationLimitError):
        view.driver.insert(s=[(2**40,)])
    assert view.driver.rows("n") == {(x,) for x in range(13)}


PROGRAM = """
    .decl edge(x: number, y: number, w: number)
    .input edge
    .decl near(x: number)
    .input near
    .decl dist(x: number, y: number, d: number)
    dist(x, x, 0) :- near(x).
    dist(x, y, d + w) :- dist(x, z, d), edge(z, y, w), d + w < 9, w > 0.
    .decl pair(x: number, y: number, d: number)
    pair(x, y, d % 3 - 7) :- dist(x, y, d), edge(y + 1, x, _).
    .decl big(x: unsigned)
    .input big
    .decl bigger(x: unsigned, y: unsigned)
    bigger(y, x + x) :- big(x), y = x * x + x, y > x.
    bigger(x - y, y) :- bigger(x, y), big(y - x), x bshr x != y.
    .decl odd(x: number, p: number)
    odd(x, q) :- dist(x, y, d), p = x * 3 - y, q = p band 7, p > -4, !near(q + 1), dist(y, z, e), e + 1 = d, z != p.
"""
U = frozenset({(3,), (2**63,), (2**64 - 5,), (2**32,), (2**33 + 1,)})
RUNS: list[Contents] = [
    {"edge": frozenset({(0, 1, 1), (1, 2, 2), (2, 0, 1), (2, 3, 5)}), "near": frozenset({(0,), (2,)}), "big": U},
    {"edge": frozenset({(0, 1, 1), (1, 2, 2), (2, 0, 1), (2, 3, -5), (3, 1, 3)}), "near": frozenset({(0,)})},
    {"edge": frozenset({(0, 1, 1), (1, 0, 1), (2, 0, 1), (3, 1, 3)}), "near": frozenset({(0,), (3,), (-9,)})},
    {"edge": frozenset({(0, 1, 2**40), (1, 0, -(2**40)), (2, 0, 1), (3, 1, 3)}), "near": frozenset({(2,), (3,)})},
    {"edge": frozenset(), "near": frozenset({(2,)}), "big": U | {(5,), (2**64 - 7,), (12,)}},
    {"edge": frozenset({(2, 3, 4), (3, 4, 4), (3, 2, 4)}), "near": frozenset({(2,), (4,)})},
]


def test_a_large_change_is_sought_by_what_its_groups_determine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows (x, y) of the change with y = x + 1, of which a group has at most one."""
    program = ".decl v(x: number)\nv(x) :- b(x, y), a(x), a(y), y = x + 1."
    view = Counted(TABLES + program, monkeypatch, thresholds=Thresholds(grouped=0))
    (following,) = (e for e in view.engine.executor.running.evaluations if e.query.delta.relation == "b")
    grouped = following.by_groups()
    assert grouped is not None
    lines = [line.strip() for line in grouped.plan.describe().splitlines()[1:]]
    assert lines[:2] == ["intersect Δb[0,1] ∩ a[0] for x", "let y = x + 1"]
    assert "seek Δb[0,1] at y" in lines
    there = {*range(0, 30, 3), *range(0, 30, 2)}
    view.driver.insert(a=[(x,) for x in sorted(there)])
    view.driver.insert(b=[(x, y) for x in range(30) for y in range(31)])
    assert view.driver.rows("v") == {(x,) for x in there if x + 1 in there}


@pytest.mark.parametrize("by_groups", [False, True])
@pytest.mark.parametrize("strategy", Strategy)
def test_against_the_reference(strategy: Strategy, by_groups: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values in every place where an expression stands, with insertions and deletions."""
    thresholds = Thresholds(grouped=0) if by_groups else Thresholds()
    circuit = lower(check([parse(PROGRAM)]))
    make = partial(IncrementalEngine, strategy=strategy, refresh=Refresh(Policy.INCREMENTAL), thresholds=thresholds)
    found = first_disagreement(circuit, RUNS, make)
    assert found is None, str(found)
    plans, original = list[Plan](), Evaluation.__init__

    def noted(evaluation: Evaluation, plan: Plan, *others: Any) -> None:
        plans.append(plan)
        original(evaluation, plan, *others)

    monkeypatch.setattr(Evaluation, "__init__", noted)
    IncrementalEngine(circuit, strategy)
    assert all(plan.segments[0].compute is None for plan in plans)
    assert any(isinstance(step, LetStep) for plan in plans for step in plan.segments[0].steps)
