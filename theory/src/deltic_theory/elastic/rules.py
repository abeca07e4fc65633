"""Rules and their instantiations: Π of [ELA §2.2, §3.1, §3.3], which finds those whose body holds.

>>> step = Rule(Atom("p", ("x", "z")), (Atom("e", ("x", "y")), Atom("e", ("y", "z"))))
>>> edges = frozenset({("e", (1, 2)), ("e", (2, 3)), ("e", (3, 4))})
>>> sorted(found.head for found in instantiations([step], edges, frozenset({("e", (3, 4))})))
[('p', (2, 4))]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltic_theory.formulas.relations import Row

Fact = tuple[str, Row]
"""A relation's name and a row of it: a tuple, in the words of the paper."""

Facts = frozenset[Fact]

Binding = Mapping[str, Any]


@dataclass(frozen=True)
class Atom:
    """A relation of variables."""

    relation: str
    variables: tuple[str, ...]

    def under(self, binding: Binding) -> Fact:
        """Return the fact that it is for these values of its variables."""
        return self.relation, tuple(binding[name] for name in self.variables)


@dataclass(frozen=True)
class Rule:
    """A head that holds where all atoms of `body` do, none of `negated`, and the constraint [ELA §3.3].

    Every variable of the head, of `negated` and of the constraint stands in `body`; what is negated is never a head.
    """

    head: Atom
    body: tuple[Atom, ...]
    negated: tuple[Atom, ...] = ()
    constraint: Callable[[Binding], bool] = lambda _: True


@dataclass(frozen=True)
class Instantiation:
    """A rule, told by its number, with facts for its atoms; its constraint holds."""

    rule: int
    head: Fact
    body: tuple[Fact, ...]
    negated: tuple[Fact, ...]


def instantiations(
    rules: Sequence[Rule], facts: Facts, among: Facts, absent_from: Facts | None = None
) -> Iterator[Instantiation]:
    """Πᴰ[facts | among]: those with a body in `facts` that has a fact of `among`, and nothing negated in `absent_from`.

    What is negated is looked up in `facts` where `absent_from` is not given [ELA §3.1, §3.3].
    """
    denied = facts if absent_from is None else absent_from
    for number, rule in enumerate(rules):
        for binding in _bindings(rule.body, facts, {}):
            body = tuple(atom.under(binding) for atom in rule.body)
            negated = tuple(atom.under(binding) for atom in rule.negated)
            if not among.isdisjoint(body) and denied.isdisjoint(negated) and rule.constraint(binding):
                yield Instantiation(number, rule.head.under(binding), body, negated)


def _bindings(atoms: Sequence[Atom], facts: Facts, binding: Binding) -> Iterator[Binding]:
    """Yield the values of all variables, beside those bound, with which the atoms are in `facts`."""
    if not atoms:
        yield binding
        return
    for relation, row in facts:
        if relation == atoms[0].relation:
            more = dict(zip(atoms[0].variables, row, strict=True))
            if atoms[0].under({**more, **binding}) == (relation, row) == atoms[0].under({**binding, **more}):
                yield from _bindings(atoms[1:], facts, {**binding, **more})
