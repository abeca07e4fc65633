"""The counts that a recursion keeps are those of the paper's algorithms, iteration by iteration [ELA §3].

Catches `elastic` keeping more than the proofs at each row's first iteration, which no view and no bootstrap would show.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from theory.tests.elastic.strata import DERIVED, random_epochs, random_rules, text

from deltic.algebra.zset import ZSet
from deltic.circuit.graph import Circuit
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.reference import from_arrow, to_arrow
from deltic.engine.refresh import Policy, Refresh
from deltic_theory.elastic import Facts, Rule, bootstrap, instantiations, semi_naive, support, update
from tests.engine.test_bootstrap import state_of

STRATA = 30


def rows_of(facts: Facts, name: str) -> ZSet[Any]:
    return ZSet.of([row for relation, row in facts if relation == name])


def batches(circuit: Circuit, deleted: Facts, inserted: Facts) -> dict[str, Any]:
    return {
        op.name: to_arrow(rows_of(inserted, op.name) - rows_of(deleted, op.name), op.schema)
        for op in circuit.operators
        if op.keyword == "source"
    }


def epochs(engine_of, seed: int) -> Iterator[tuple[list[Rule], Any, Any, Facts, Facts, Facts]]:
    """Rules and an engine, with the result, the change and what is given after each epoch."""
    rng = random.Random(seed)
    rules = random_rules(rng)
    circuit = lower(check([parse(text(rules))]))
    engine = engine_of(circuit)
    given: Facts = frozenset()
    for deleted, inserted in random_epochs(rng, size=4, epochs=5):
        result = engine.apply(batches(circuit, deleted, inserted))
        given = (given - deleted) | inserted
        yield rules, engine, result, deleted, inserted, given


def kept(engine: IncrementalEngine) -> dict[str, Counter[Any]]:
    """The counts of each recursive relation, by row and iteration."""
    state = state_of(engine)
    return {name: state[name, "counts", ()] for name in DERIVED}


def by_iteration(multisets: Sequence[Counter[Any]]) -> dict[str, Counter[Any]]:
    """Counts of facts by their iterations as an engine has them."""
    found: dict[str, Counter[Any]] = {name: Counter() for name in DERIVED}
    for k, multiset in enumerate(multisets):
        for (relation, row), proofs in multiset.items():
            if relation in found:
                found[relation][row, k] = proofs
    return found


def all_proofs(rules: Sequence[Rule], given: Facts) -> list[Counter[Any]]:
    """The proofs at every iteration: those with a fact that is new in the one before, whatever is known of the head."""
    known: Facts = frozenset()
    found: list[Counter[Any]] = [Counter()]
    for delta in semi_naive(rules, given):
        known |= delta
        found.append(Counter(proof.head for proof in instantiations(rules, known, delta)))
    return found


@pytest.mark.law("ELA Alg 2")
@pytest.mark.law("ELA Alg 3")
@pytest.mark.law("ELA Thm 3.5")
@pytest.mark.parametrize("policy", [Policy.INCREMENTAL, Policy.FULL], ids=lambda policy: policy.value)
def test_elastic_keeps_the_proofs_of_the_first_iteration(policy):
    for seed in range(STRATA):
        engine_of = partial(IncrementalEngine, strategy=Strategy.ELASTIC, refresh=Refresh(policy))
        proofs = None
        for rules, engine, _, deleted, inserted, given in epochs(engine_of, seed):
            proofs = bootstrap(rules, given) if proofs is None else update(rules, proofs, deleted, inserted)
            assert kept(engine) == by_iteration(proofs), text(rules)


@pytest.mark.law("ELA §3 counting")
def test_nested_keeps_those_of_all_iterations():
    more = 0
    for seed in range(STRATA):
        engine_of = partial(IncrementalEngine, refresh=Refresh(Policy.INCREMENTAL))
        for rules, engine, _, _, _, given in epochs(engine_of, seed):
            assert kept(engine) == by_iteration(all_proofs(rules, given)), text(rules)
            more += kept(engine) != by_iteration(bootstrap(rules, given))
    assert more > STRATA, "the strategies keep different things"


@pytest.mark.law("ELA Def 2.1")
@pytest.mark.law("ELA Def 2.2")
def test_the_impact_of_an_update_is_what_its_epoch_reports():
    for seed in range(STRATA):
        old: Facts = frozenset()
        for rules, _, result, _, _, given in epochs(partial(IncrementalEngine, strategy=Strategy.ELASTIC), seed):
            new = frozenset().union(*map(support, bootstrap(rules, given)))
            for name in DERIVED:
                change = from_arrow(result.changes[name]) if name in result.changes else ZSet()
                assert change == rows_of(new, name) - rows_of(old, name)
            old = new
