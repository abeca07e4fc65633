"""One stratum evaluated and updated: Semi-Naïve, Bootstrap, Update [ELA Alg. 1, 2, 3], with negation [ELA §3.3]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from deltic_theory.elastic.rules import Fact, Facts, Instantiation, Rule, instantiations

Multiset = Counter[Fact]
"""Facts with the number of their proofs; Nₖ# of the paper has those at iteration k of facts that are new there."""

Proofs = tuple[Multiset, ...]
"""N₀#, N₁#, …: the state that goes from one epoch to the next."""


def support(multiset: Multiset) -> Facts:
    """Supp: the facts of which there are some."""
    return frozenset(fact for fact, proofs in multiset.items() if proofs > 0)


def semi_naive(rules: Sequence[Rule], given: Facts) -> tuple[Facts, ...]:
    """Δ₀, Δ₁, …: the facts that are new in each iteration, those given first [ELA Alg. 1]."""
    deltas, known = [given], given
    while True:
        delta = frozenset(result.head for result in instantiations(rules, known, deltas[-1])) - known
        if not delta:
            return tuple(deltas)
        deltas.append(delta)
        known |= delta


def bootstrap(rules: Sequence[Rule], given: Facts) -> Proofs:
    """Return the proofs of each fact in the iteration in which it is first found [ELA Alg. 2].

    >>> from deltic_theory.elastic.rules import Atom, Rule
    >>> step = Rule(Atom("p", ("x", "z")), (Atom("e", ("x", "y")), Atom("e", ("y", "z"))))
    >>> edges = frozenset({("e", (1, 2)), ("e", (1, 3)), ("e", (2, 4)), ("e", (3, 4))})
    >>> bootstrap([step], edges)[1]
    Counter({('p', (1, 4)): 2})
    """
    proofs, known = [Counter(given)], given
    while True:
        new = _proofs(instantiations(rules, known, support(proofs[-1])), outside=known)
        if not new:
            return tuple(proofs)
        proofs.append(new)
        known |= support(new)


@dataclass(frozen=True)
class Iteration:
    """What Update knows at the end of iteration k; `old` is of the epoch before."""

    proofs: Multiset
    """Nₖ#"""
    old_proofs: Multiset
    """Nₖ#ᵒ"""
    known: Facts
    """Iₖ"""
    old_known: Facts
    """Iₖᵒ"""
    lost: Facts
    """Iₖ⁻"""
    gained: Facts
    """Iₖ⁺"""


def iterations(rules: Sequence[Rule], old: Proofs, deleted: Facts, inserted: Facts) -> Iterator[Iteration]:
    """Yield the iterations of Update, the given facts first; the last is one without proofs [ELA Alg. 3, §3.3].

    `deleted` are among the facts of `old[0]`, `inserted` are not.
    """
    old_given, given = support(old[0]), (support(old[0]) - deleted) | inserted
    now = Iteration(Counter(given), old[0], given, old_given, deleted, inserted)
    yield now
    for k in count(1):
        before = old[k] if k < len(old) else Counter()
        result = before - _deleted(rules, now, inserted) + _inserted(rules, now, deleted)
        result += _rediscovered(rules, now, old_given | given)
        now = _next(now, _without(result, now.gained), before)
        yield now
        if not now.proofs:
            return


def update(rules: Sequence[Rule], old: Proofs, deleted: Facts, inserted: Facts) -> Proofs:
    """Return the proofs after a change of the given facts [ELA Alg. 3].

    >>> from deltic_theory.elastic.rules import Atom, Rule
    >>> step = Rule(Atom("p", ("x", "z")), (Atom("e", ("x", "y")), Atom("e", ("y", "z"))))
    >>> edges = frozenset({("e", (1, 2)), ("e", (1, 3)), ("e", (2, 4)), ("e", (3, 4))})
    >>> update([step], bootstrap([step], edges), frozenset({("e", (3, 4))}), frozenset())[1]
    Counter({('p', (1, 4)): 1})
    """
    given, *later = iterations(rules, old, deleted, inserted)
    return (given.proofs, *(step.proofs for step in later[:-1]))


def _deleted(rules: Sequence[Rule], now: Iteration, inserted: Facts) -> Multiset:
    """Πᴰ[Iᵒ | Nᵒ | I⁻, I₀⁺] ∖ Iᵒ: proofs of the epoch before that a lost or a newly denied fact takes away."""
    result = instantiations(rules, now.old_known, support(now.old_proofs))
    return _proofs(_through(result, now.lost, inserted), outside=now.old_known)


def _inserted(rules: Sequence[Rule], now: Iteration, deleted: Facts) -> Multiset:
    """Πᴰ[I | N | I⁺, I₀⁻] ∖ I: proofs that a gained fact gives, or one that is denied no longer."""
    result = instantiations(rules, now.known, support(now.proofs))
    return _proofs(_through(result, now.gained, deleted), outside=now.known)


def _rediscovered(rules: Sequence[Rule], now: Iteration, ever_given: Facts) -> Multiset:
    """I⁻ ∩ Πᴰ[Iᵒ ∩ I | N] ∖ I: proofs that hold in both epochs, of facts that were lost at an earlier iteration.

    What they deny was given in neither.
    """
    result = instantiations(rules, now.old_known & now.known, support(now.proofs), ever_given)
    return _proofs((proof for proof in result if proof.head in now.lost), outside=now.known)


def _next(now: Iteration, proofs: Multiset, old_proofs: Multiset) -> Iteration:
    """Return the next iteration, which has these proofs [ELA Alg. 3, lines 11 and 12]."""
    new, old_new = support(proofs), support(old_proofs)
    known, old_known = now.known | new, now.old_known | old_new
    lost = (now.lost - new) | (old_new - known)
    gained = (now.gained - old_new) | (new - old_known)
    return Iteration(proofs, old_proofs, known, old_known, lost, gained)


def _through(found: Iterable[Instantiation], facts: Facts, denied: Facts) -> Iterator[Instantiation]:
    """Return those with one of `facts` in their body, or one of `denied` after a negation."""
    return (p for p in found if not (facts.isdisjoint(p.body) and denied.isdisjoint(p.negated)))


def _proofs(found: Iterable[Instantiation], outside: Facts) -> Multiset:
    """Return how many prove each fact, without the facts of `outside`."""
    return Counter(proof.head for proof in found if proof.head not in outside)


def _without(multiset: Multiset, facts: Facts) -> Multiset:
    """Return the multiset without the facts."""
    return Counter({fact: proofs for fact, proofs in multiset.items() if fact not in facts})
