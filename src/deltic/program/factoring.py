"""Factoring sums of signed conjunctions back to formulas: a − a ⋈ b is a ∧ ¬b, for a set b over columns of a.

Rules and delta queries are conjunctions, each with a sign. Antijoins of a recursion are sums of them, by
a ▷ b = a − a ⋈ b, so one formula consists of a first conjunction and others that extend it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.program.formulas import All, Formula, Holds, Not, Where, all_of, mentioned, negated, some
from deltic.program.queries import Atom, Body, Rule, Term, When, as_expression

# The most extensions of a conjunction for which all ways to group them are tried.
_MOST = 10
_MARKS = {When.OLD: "", When.NEW: "'", When.DELTA: "Δ"}


@dataclass(frozen=True)
class Factored:
    """Rules whose sum is one formula: `rules` are renamed to the variables of the first, `originals` are unchanged."""

    rules: tuple[Rule, ...]
    originals: tuple[Rule, ...]
    formula: Formula


def factored_rules(rules: Sequence[Rule]) -> list[Factored]:
    """Return the rules of a relation, grouped so that each group is one formula; a rule alone where no group is
    found.
    """
    waiting, result = list(rules), []
    while waiting:
        first = waiting.pop(0)
        extensions = _agreeing([(other, made) for other in waiting if (made := _extension(first, other)) is not None])
        few = extensions[:_MOST]
        choices = (some for count in range(len(few), 0, -1) for some in itertools.combinations(few, count))
        alone = Factored((first,), (first,), conjunction(first.body))
        together = next(filter(None, (_together(first, some) for some in choices)), alone)
        waiting = [rule for rule in waiting if rule not in together.originals]
        result.append(together)
    return result


def _agreeing(extensions: Sequence[tuple[Rule, Rule]]) -> list[tuple[Rule, Rule]]:
    """Return the extensions, renamed so that equal computations have one variable."""
    computed: dict[exp.Expression, int] = {}
    result = []
    for original, rule in extensions:
        body = rule.body
        for variable, value in rule.body.equations:
            body = _with(body, body, variable, computed.setdefault(value, variable))
        result.append((original, Rule(rule.head, rule.terms, body)))
    return result


def _together(first: Rule, others: Sequence[tuple[Rule, Rule]]) -> Factored | None:
    renamed = (first, *(rule for _, rule in others))
    formula = factored([rule.body for rule in renamed])
    return None if formula is None else Factored(renamed, (first, *(rule for rule, _ in others)), formula)


def factored(bodies: Sequence[Body], order: Sequence[int] | None = None) -> Formula | None:
    """Return the formula that equals a sum of bodies over the same variables, with the sign of the first; None if not
    found.

    `order` is the order of the first body's atoms in the formula.
    """
    first, *others = bodies
    rest = []
    for body in others:
        remainder = _parts(body)
        if _parts(first) - remainder:
            return None
        rest.append((body.sign * first.sign, remainder - _parts(first)))
    product = _product(rest)
    if product is None:
        return None
    mine = _all_parts(first, order)
    known = {v for part in mine for v in mentioned(part)}
    return all_of([*mine, *(_closed(part, known) for part in product)])


def _closed(part: Formula, known: Set[int]) -> Formula:
    """Return the part with existential quantifiers inside its negation for variables that occur only there."""
    if not isinstance(part, Not):
        return part
    inside = part.part.parts if isinstance(part.part, All) else (part.part,)
    own = [v for v in mentioned(part) if v not in known]
    nested = [_closed(p, known | {*own}) for p in inside]
    return Not(some(own, all_of(nested)))


def conjunction(body: Body, order: Sequence[int] | None = None) -> Formula:
    """Return the formula of one conjunction, its atoms in this order."""
    return all_of(_all_parts(body, order))


# The parts of a conjunction, with multiplicity, and a sign.
_Signed = tuple[int, "Counter[Formula]"]


def _product(terms: Sequence[_Signed]) -> list[Formula] | None:
    """Return the formulas whose conjunction is 1 + the sum of the terms; None if there are none.

    For example 1 − b − c + bc is ¬b ∧ ¬c, and 1 − b + bc is ¬(b ∧ ¬c).
    """
    if not terms:
        return []
    sign, first = min(terms, key=lambda term: sum(term[1].values()))
    if sign > 0 or not first:
        return None
    rest = [term for term in terms if term[1] is not first]
    inside = [(s, parts - first) for s, parts in rest if not first - parts]
    outside = [(s, parts) for s, parts in rest if first - parts]
    within = list(first.elements())
    if Counter(map(_key, inside)) == Counter(_key((-s, parts)) for s, parts in outside):
        others = _product(outside)
        return None if others is None else [negated(all_of(within)), *others]
    if outside:
        return None
    taken = _product([(-s, parts) for s, parts in inside])
    return None if taken is None else [negated(all_of([*within, *taken]))]


def _key(term: _Signed) -> tuple[int, frozenset[tuple[Formula, int]]]:
    return term[0], frozenset(term[1].items())


def _parts(body: Body) -> Counter[Formula]:
    return Counter(_all_parts(body, None))


def _all_parts(body: Body, order: Sequence[int] | None) -> list[Formula]:
    atoms = [body.atoms[i] for i in order] if order is not None else body.atoms
    conditions = [Where(body.equality(as_expression(v), e)) for v, e in body.equations]
    absent = [negated(_holds(atom)) for atom in body.absent]
    return [*map(_holds, atoms), *conditions, *map(Where, body.conditions), *absent]


def _holds(atom: Atom) -> Holds:
    return Holds(atom.relation, atom.terms, _MARKS[atom.when])


def _extension(first: Rule, other: Rule) -> Rule | None:
    """Return the other rule renamed to the variables of the first, if it has all parts of the first; else None."""
    for chosen in itertools.combinations(range(len(other.body.atoms)), len(first.body.atoms)):
        matched = _matched(first, other, chosen)
        if matched is not None and not _parts(first.body) - _parts(matched.body):
            known = {v for part in (*first.body.atoms, *first.body.absent) for v in part.variables()}
            known |= {v for v, _ in matched.body.equations}
            more = {v for atom in (*matched.body.atoms, *matched.body.absent) for v in atom.variables()}
            return matched if more <= known else None
    return None


def _matched(first: Rule, other: Rule, chosen: Sequence[int]) -> Rule | None:
    """Return the other rule with its chosen atoms renamed to those of the first.

    Constraints on their values become conditions.
    """
    pairs = [(mine, other.body.atoms[i]) for mine, i in zip(first.body.atoms, chosen, strict=True)]
    if any(mine.relation != its.relation or mine.when is not its.when for mine, its in pairs):
        return None
    names: dict[int, int] = {}
    equal: dict[tuple[int, Term], None] = {}
    for own, term in ((own, term) for mine, its in pairs for own, term in zip(mine.terms, its.terms, strict=True)):
        if isinstance(own, int) and not isinstance(term, int):
            equal[own, term] = None
        elif not isinstance(own, int):
            if own != term:
                return None
        elif isinstance(term, int) and names.setdefault(term, own) != own:
            equal[own, names[term]] = None
    heads = {str(place): term for place, term in enumerate(other.terms)}
    body = _renamed(first.body, replace(other.body, out=heads), names)
    if any(own != term and (own, term) not in equal for own, term in zip(first.terms, body.out.values(), strict=True)):
        return None
    atoms = list(body.atoms)
    for (mine, _), i in zip(pairs, chosen, strict=True):
        atoms[i] = mine
    types = {**first.body.types, **body.types}
    equations = (*body.equations, *((v, as_expression(t)) for v, t in equal))
    return Rule(first.head, first.terms, replace(body, atoms=tuple(atoms), equations=equations, types=types))


def _renamed(first: Body, body: Body, names: Mapping[int, int]) -> Body:
    """Return the body with variables renamed; variables that compute the same value as one of the first's get its
    name.
    """
    for old, new in names.items():
        body = _with(first, body, old, new)
    for variable, value in first.equations:
        same = next((v for v, e in body.equations if e == value), variable)
        body = _with(first, body, same, variable)
    return body


def _with(first: Body, body: Body, old: int, new: int) -> Body:
    if old == new:
        return body
    return replace(body, types={**body.types, new: first.types.get(new, body.types[old])}).substitute(old, new)
