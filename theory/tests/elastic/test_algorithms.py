"""Semi-Naïve, Bootstrap and Update as printed, on random strata [ELA §2.2, §3].

Catches a proof that is counted twice or not at all, one counted later than at the first iteration, a fact that is lost
with a proof left, and a negation that is asked of one epoch where it holds in the other.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from theory.tests.elastic.strata import GIVEN, random_epochs, random_rules

from deltic_theory.elastic import (
    Atom,
    Facts,
    Multiset,
    Rule,
    bootstrap,
    evaluation,
    instantiations,
    iterations,
    semi_naive,
    support,
    update,
)

STRATA = 200


def histories(strata: int = STRATA) -> Iterator[tuple[list[Rule], list[tuple[Facts, Facts]]]]:
    """Rules and what each epoch deletes and inserts."""
    for seed in range(strata):
        rng = random.Random(seed)
        yield random_rules(rng), list(random_epochs(rng, size=3, epochs=4))


def after(given: Facts, change: tuple[Facts, Facts]) -> Facts:
    deleted, inserted = change
    return (given - deleted) | inserted


@pytest.mark.law("ELA Def 2.1")
@pytest.mark.law("ELA Alg 1")
def test_semi_naive_evaluation_is_naive_evaluation():
    for rules, epochs in histories():
        given: Facts = frozenset()
        for change in epochs:
            given = after(given, change)
            known = given
            while (more := known | {p.head for p in instantiations(rules, known, known)}) != known:
                known = more
            deltas = semi_naive(rules, given)
            assert known == frozenset().union(*deltas)
            assert sum(map(len, deltas)) == len(known), "each fact is new once"


@pytest.mark.law("ELA Lemma 3.1")
def test_counting_finds_the_same_facts():
    """For instantiations by the definition: all values for all variables, tried one by one."""
    for rules, epochs in histories(30):
        facts = sorted(frozenset().union(*semi_naive(rules, epochs[0][1])))
        among = frozenset(facts[::2])
        known = frozenset(facts)
        for number, rule in enumerate(rules):
            names = sorted({name for atom in rule.body for name in atom.variables})
            expected = Counter()
            for code in range(3 ** len(names)):
                binding = {name: code // 3**place % 3 for place, name in enumerate(names)}
                body = [atom.under(binding) for atom in rule.body]
                denied = [atom.under(binding) for atom in rule.negated]
                if known >= set(body) and among & set(body) and not known & set(denied) and rule.constraint(binding):
                    expected[rule.head.under(binding)] += 1
            found = Counter(p.head for p in instantiations(rules, known, among) if p.rule == number)
            assert found == expected


@pytest.mark.law("ELA Alg 2")
@pytest.mark.law("ELA Lemma 3.2")
@pytest.mark.law("ELA Lemma 3.6")
def test_bootstrap_finds_what_semi_naive_evaluation_does_in_the_same_iterations():
    for rules, epochs in histories():
        given: Facts = frozenset()
        for change in epochs:
            given = after(given, change)
            proofs = bootstrap(rules, given)
            assert tuple(map(support, proofs)) == semi_naive(rules, given)


@pytest.mark.law("ELA Alg 3")
@pytest.mark.law("ELA Thm 3.5")
@pytest.mark.law("ELA Lemma 3.6")
@pytest.mark.law("ELA §3.3")
def test_update_has_the_proofs_of_a_bootstrap():
    for rules, epochs in histories():
        given: Facts = frozenset()
        proofs = bootstrap(rules, given)
        for change in epochs:
            given, proofs = after(given, change), update(rules, proofs, *change)
            assert proofs == bootstrap(rules, given)
            assert sum(map(len, proofs)) == len(frozenset().union(*proofs)), "each fact is in one iteration"


@pytest.mark.law("ELA Lemma 3.3")
@pytest.mark.law("ELA Cor 3.4")
def test_what_is_lost_and_gained_up_to_each_iteration():
    for rules, epochs in histories():
        given: Facts = frozenset()
        for change in epochs:
            for now in iterations(rules, bootstrap(rules, given), *change):
                assert now.lost <= now.old_known - now.known
                assert now.gained <= now.known - now.old_known
                assert now.known == (now.old_known - now.lost) | now.gained
            given = after(given, change)


def test_what_is_lost_is_not_known_in_full_at_the_end():
    """Update ends with the new epoch's iterations; what the old one found later is in an iteration past the end."""
    closure = [
        Rule(Atom("p", ("x", "y")), (Atom("e", ("x", "y")),)),
        Rule(Atom("p", ("x", "z")), (Atom("p", ("x", "y")), Atom("e", ("y", "z")))),
    ]
    chain = frozenset(("e", (n, n + 1)) for n in range(4))
    *_, end = iterations(closure, bootstrap(closure, chain), chain, frozenset())
    assert ("p", (0, 1)) in end.lost
    assert ("p", (0, 4)) not in end.lost


# What is printed, and wrong


def wrong_updates(monkeypatch: pytest.MonkeyPatch, name: str, replacement: Callable[..., Multiset]) -> int:
    """How many updates of random strata differ from a bootstrap when one term is replaced."""
    monkeypatch.setattr(evaluation, name, replacement)
    wrong = 0
    for rules, epochs in histories():
        given: Facts = frozenset()
        for change in epochs:
            old = bootstrap(rules, given)
            given = after(given, change)
            wrong += update(rules, old, *change) != bootstrap(rules, given)
    return wrong


@pytest.mark.law("ELA §3.3")
def test_a_proof_is_taken_away_by_what_is_denied_now(monkeypatch):
    """The display has I₀⁻ in the first term, where the text below it has I₀⁺, which is right."""

    def displayed(rules, now, inserted):
        del inserted
        return right(rules, now, frozenset(fact for fact in now.lost if fact[0] in GIVEN))

    right = evaluation._deleted
    assert wrong_updates(monkeypatch, "_deleted", displayed)


@pytest.mark.law("ELA §3.3")
def test_what_is_discovered_again_is_denied_in_neither_epoch(monkeypatch):
    """The display denies what is in Iᵒ ∩ I alone, so that proofs are found again that a deletion has just let in."""

    def displayed(rules, now, ever_given):
        del ever_given
        return right(rules, now, now.old_known & now.known)

    right = evaluation._rediscovered
    assert wrong_updates(monkeypatch, "_rediscovered", displayed)
