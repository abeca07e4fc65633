"""Queries for whole rules: for a search of given head rows, and for a computation from nothing."""

from __future__ import annotations

import itertools
from collections.abc import Container
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import is_literal
from deltic.engine.storage.layout import Domain
from deltic.program.queries import Atom, Query, Rule, Term, When
from deltic.values.types import ValueType

# The domains of a rule's variables.
Variables = dict[int, Domain]


def base_of(rule: Rule, recursive: Container[str]) -> Query | None:
    """Return the query for all derivations of a rule from its first atom; None if it reads a recursive relation."""
    if any(atom.relation in recursive for atom in rule.body.atoms):
        return None
    first, *others = rule.body.atoms
    atoms = (replace(first, when=When.DELTA), *(replace(a, when=When.NEW) for a in others))
    absent = tuple(replace(a, when=When.NEW) for a in rule.body.absent)
    return Query(rule.head, rule.terms, replace(rule.body, atoms=atoms, absent=absent), rule)


def search_of(rule: Rule, variables: Variables, head: tuple[Domain, ...]) -> tuple[Query, Variables]:
    """Return the query for all derivations of given head rows, by the rule as it was before the epoch.

    A computed column of the head becomes a condition on the given column.
    """
    body = rule.body
    domains = dict(variables)
    fresh = itertools.count(max(domains, default=0) + 1)
    terms: list[Term] = []
    equations = list(body.equations)
    types = dict(body.types)
    for term, domain in zip(rule.terms, head, strict=True):
        if isinstance(term, exp.Expression) and not is_literal(term):
            variable = next(fresh)
            domains[variable], types[variable] = domain, ValueType(domain.type, domain.nullable)
            equations.append((variable, term))
            terms.append(variable)
        else:
            terms.append(term)
    guard = Atom(rule.head, When.DELTA, tuple(terms))
    guarded = replace(body, atoms=(guard, *body.atoms), equations=tuple(equations), types=types)
    return Query(rule.head, tuple(terms), guarded, rule), domains
