"""Random strata: rules over two relations that depend on each other, and epochs of changes of what is given."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from deltic_theory.elastic import Atom, Facts, Rule

DERIVED, GIVEN = ("p", "q"), ("e", "f", "g")
VARIABLES = ("x", "y", "z", "w")


@dataclass(frozen=True)
class Different:
    """The constraint left != right."""

    left: str
    right: str

    def __call__(self, binding) -> bool:
        return binding[self.left] != binding[self.right]


def random_rules(rng: random.Random) -> list[Rule]:
    """Rules in which p and q depend on each other, so that they are one stratum."""
    x, y = "x", "y"
    tie = [Rule(Atom(a, (x, y)), (Atom(b, (x, y)), Atom("g", (x, y)))) for a, b in (DERIVED, DERIVED[::-1])]
    base = Rule(Atom("p", (x, y)), (Atom("e", (x, y)),))
    return [base, *tie, *(_rule(rng) for _ in range(rng.randint(1, 4)))]


def _rule(rng: random.Random) -> Rule:
    """A rule of one to three atoms, with negation and a constraint now and then.

    Each of its variables stands in two places: what only one atom has is no part of a proof in the engine.
    """
    while True:
        body = tuple(_atom(rng, (*DERIVED, *DERIVED, "e", "f"), VARIABLES) for _ in range(rng.randint(1, 3)))
        bound = sorted({name for atom in body for name in atom.variables})
        head = _atom(rng, DERIVED, bound)
        shown = [name for atom in (head, *body) for name in set(atom.variables)]
        if all(shown.count(name) > 1 for name in bound) and head not in body:
            break
    rule = Rule(head, body)
    if rng.random() < 0.6:
        rule = replace(rule, negated=(_atom(rng, ("e", "f"), bound),))
    if rng.random() < 0.3 and len(bound) > 1:
        rule = replace(rule, constraint=Different(*rng.sample(bound, 2)))
    return rule


def _atom(rng: random.Random, relations, variables) -> Atom:
    return Atom(rng.choice(relations), (rng.choice(variables), rng.choice(variables)))


def random_epochs(rng: random.Random, size: int, epochs: int) -> Iterator[tuple[Facts, Facts]]:
    """What is deleted and what is inserted in each epoch, the first from nothing; over `size` values."""
    possible = [(name, (a, b)) for name in GIVEN for a in range(size) for b in range(size)]
    given: Facts = frozenset()
    for _ in range(epochs):
        gone, new = rng.choice((0.0, 0.1, 0.4)), rng.choice((0.05, 0.15, 0.3))
        deleted = frozenset(fact for fact in sorted(given) if rng.random() < gone)
        inserted = frozenset(fact for fact in possible if fact not in given and rng.random() < new)
        yield deleted, inserted
        given = (given - deleted) | inserted


def text(rules: list[Rule]) -> str:
    """The rules as a Datalog program."""
    declarations = [f".decl {name}(a: number, b: number)" for name in (*DERIVED, *GIVEN)]
    return "\n".join([*declarations, *(f".input {name}" for name in GIVEN), *map(_clause, rules)])


def _clause(rule: Rule) -> str:
    parts = [_show(atom) for atom in rule.body] + ["!" + _show(atom) for atom in rule.negated]
    if isinstance(rule.constraint, Different):
        parts.append(f"{rule.constraint.left} != {rule.constraint.right}")
    return f"{_show(rule.head)} :- {', '.join(parts)}."


def _show(atom: Atom) -> str:
    return f"{atom.relation}({', '.join(atom.variables)})"
