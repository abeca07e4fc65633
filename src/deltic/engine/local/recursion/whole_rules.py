"""Queries for whole rules, made from their delta queries: to search for given heads, and to begin from nothing.

Of the delta queries of one rule exactly one has its change at the first atom. With every atom in one version it is
the rule itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Container
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import is_literal
from deltic.engine.local.storage.layout import Domain
from deltic.program.queries import Atom, Query, Term, When

# The domain of each variable of a query.
Variables = dict[int, Domain]


def is_rule(query: Query) -> bool:
    """Whether the query stands for its rule: its change is at the first atom."""
    return query.body.atoms[0].when is When.DELTA


def base_of(query: Query, recursive: Container[str]) -> Query | None:
    """The query for all derivations of a rule that reads no recursive relation, from all rows of its first atom."""
    if any(atom.relation in recursive for atom in query.body.atoms):
        return None
    first, *others = query.body.atoms
    atoms = (first, *(replace(a, when=When.NEW) for a in others))
    absent = tuple(replace(a, when=When.NEW) for a in query.body.absent)
    return replace(query, body=replace(query.body, atoms=atoms, absent=absent))


def search_of(query: Query, variables: Variables, head: tuple[Domain, ...]) -> tuple[Query, Variables]:
    """The query for all derivations of given rows of the head, by the rule as it was before the epoch.

    A computed column of the head becomes a condition on the given one.
    """
    body = query.body
    domains = dict(variables)
    fresh = itertools.count(max(domains, default=0) + 1)
    terms: list[Term] = []
    equations = list(body.equations)
    types = dict(body.types)
    for term, domain in zip(query.terms, head, strict=True):
        if isinstance(term, exp.Expression) and not is_literal(term):
            variable = next(fresh)
            domains[variable], types[variable] = domain, domain.type
            equations.append((variable, term))
            terms.append(variable)
        else:
            terms.append(term)
    atoms = tuple(replace(a, when=When.OLD) for a in body.atoms)
    absent = tuple(replace(a, when=When.OLD) for a in body.absent)
    guard = Atom(query.head, When.DELTA, tuple(terms))
    guarded = replace(body, atoms=(guard, *atoms), absent=absent, equations=tuple(equations), types=types)
    return Query(query.head, tuple(terms), guarded), domains
