"""The differential tests can fail: wrong derivatives entered into the table, and wrong steps of the engine, show.

Each mutation is a mistake of one line; the other files test that the right engine passes the same cases. A family of
tests that lets one of the mutations pass would not be worth its time.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from deltic.calculus import DERIVATIVES
from deltic.circuit import operators as ops
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.inline import boundary
from deltic.engine.operators import programs, scalar
from deltic.engine.recursion import epoch, settle
from deltic.engine.storage import arrangement
from deltic.engine.storage import state as relation
from deltic.engine.storage.run import Run
from deltic.program.queries import Rule, When
from tests.calculus.mutations import MUTATIONS
from tests.conformance.programs import CLOSURE
from tests.differential import test_circuits
from tests.differential.cases import Case
from tests.differential.compare import Contents, first_disagreement

PROGRAMS, CIRCUITS, GRAPHS = 60, 200, 20
# The engine keeps the counts of a set and the totals of a group itself and does not read the old value that the
# derivative names; the terms of a join's change it takes from the rule, whose mistakes are below.
SEEN = [
    m
    for m in MUTATIONS
    if m.name not in ("distinct_of_new", "aggregate_of_new") and m.operator not in (ops.Join, ops.Antijoin)
]
# What the lowering of Datalog uses; the others are for circuits alone.
DATALOG = [m for m in SEEN if m.operator is not ops.Negate]


def programs_disagree() -> bool:
    """In random programs one in a hundred has a row that survives at a later iteration; in dense graphs most have."""
    return closures_disagree() or any(Case.random(seed).fails(IncrementalEngine) for seed in range(PROGRAMS))


def closures_disagree() -> bool:
    circuit = lower(check([parse(CLOSURE)]))
    return any(first_disagreement(circuit, graphs(random.Random(seed))) for seed in range(GRAPHS))


def graphs(rng: random.Random) -> list[Contents]:
    """The epochs of a graph of six nodes."""
    pairs = [(x, y) for x in range(6) for y in range(6)]
    return [{"e": frozenset(pair for pair in pairs if rng.random() < 0.3)} for _ in range(4)]


def circuits_disagree() -> bool:
    return any(test_circuits.random_case(seed, test_circuits.SHAPE).fails() for seed in range(CIRCUITS))


@pytest.mark.parametrize("mutation", DATALOG, ids=lambda m: m.name)
def test_random_programs_detect_a_wrong_derivative(mutation, monkeypatch):
    monkeypatch.setitem(DERIVATIVES, mutation.operator, mutation.row())
    assert programs_disagree()


@pytest.mark.parametrize("mutation", SEEN, ids=lambda m: m.name)
def test_random_circuits_detect_a_wrong_derivative(mutation, monkeypatch):
    monkeypatch.setitem(DERIVATIVES, mutation.operator, mutation.row())
    assert circuits_disagree()


def _queries(change):
    """The delta queries of a rule, each of them changed, or left out where that gives None."""

    def wrong(queries):
        def of(rule):
            changed = (change(rule, position, query) for position, query in enumerate(queries(rule)))
            return iter([query for query in changed if query is not None])

        return of

    return wrong


def _in_state(when):
    """All atoms beside the change in one state."""

    def change(rule, position, query):
        def moved(atoms):
            return tuple(a if a.when is When.DELTA else replace(a, when=when) for a in atoms)

        return replace(query, body=replace(query.body, atoms=moved(query.body.atoms), absent=moved(query.body.absent)))

    return change


def _negated(rule, position, query):
    """The last term with the wrong sign."""
    wrong = position == len(rule.body.atoms) + len(rule.body.absent) - 1
    return replace(query, body=replace(query.body, sign=-query.body.sign)) if wrong else query


RULE_MUTATIONS = {
    "all old": _in_state(When.OLD),
    "all new": _in_state(When.NEW),
    "no last term": lambda rule, position, query: (
        query if not position or position + 1 < len(rule.body.atoms) else None
    ),
    "last term negated": _negated,
    "changes of the absent ignored": lambda rule, position, query: query if position < len(rule.body.atoms) else None,
}


@pytest.mark.parametrize("name", RULE_MUTATIONS)
def test_random_programs_detect_a_wrong_delta_query(name, monkeypatch):
    monkeypatch.setattr(Rule, "queries", _queries(RULE_MUTATIONS[name])(Rule.queries))
    assert programs_disagree()


def _without_counts(state, words, change):
    """distinct that forgets how often a row is derived."""
    present = np.sign(change)
    return Run(words, weights=present)


def _settled_once(right):
    """Rows that lose their iteration are not looked for at later ones."""

    def settle_once(*args):
        actions, counted, later, lost = right(*args)
        return actions, counted, np.full_like(later, settle.NEVER), lost

    return settle_once


def _defined_divisions(arithmetic):
    """A division by zero has a value."""
    return lambda self, node, undefined: arithmetic(self, node, 0)


FIRST = (1, 0)
ENGINE_MUTATIONS = {
    "counts forgotten": (relation.State, "change_set", lambda f: _without_counts),
    "later derivations forgotten": (settle, "settle", _settled_once),
    "only the first iteration": (
        epoch.RecursionEpoch,
        "first",
        lambda f: lambda self: FIRST if f(self) == FIRST else None,
    ),
    "constants in no epoch": (boundary, "constant_change", lambda f: lambda *args: None),
    "undefined values kept": (programs._Assembler, "_arithmetic", _defined_divisions),
    "the first condition alone": (scalar, "keep", lambda f: lambda conditions, columns: f(conditions[:1], columns)),
    "merging loses a run": (arrangement, "add_runs", lambda f: lambda runs, run, frozen=None: (*runs[1:], run)),
}


@pytest.mark.parametrize("name", ENGINE_MUTATIONS)
def test_random_programs_detect_a_wrong_step_of_the_engine(name, monkeypatch):
    """In vectorised iterations; that compiled ones do the same is tested by tests/engine/test_thin.py."""
    monkeypatch.setattr(epoch.RecursionEpoch, "is_small", lambda self, now: False)
    owner, attribute, wrong = ENGINE_MUTATIONS[name]
    monkeypatch.setattr(owner, attribute, wrong(getattr(owner, attribute)))
    assert programs_disagree()
