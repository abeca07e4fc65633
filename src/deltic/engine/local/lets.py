"""The equations of a body as a search binds them: what only passes through it, apart from what has to have a place.

A value that is first computed and then decided on, `d = c + 1, d < 9`, must not make a domain grow before it is known
to stay. So its variable is bound at the end, and conditions and other equations read another one, that of no column.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sqlglot import exp

from deltic.circuit.types import Type
from deltic.engine.local.arithmetic import is_arithmetic
from deltic.engine.local.rules import Query, Term, as_expression, replace_columns, variable_name, variables_of


@dataclass(frozen=True)
class Equations:
    """A body's equations and conditions; `passing` are the types of variables that no domain bounds.

    `sought` are the variables of atoms that must be present; `placed` those without such an atom that stand in a column
    of the head or in an atom that must be absent.
    """

    equations: tuple[tuple[int, exp.Expression], ...]
    conditions: tuple[exp.Expression, ...]
    passing: dict[int, Type]
    sought: frozenset[int]
    placed: frozenset[int]


def equations_of(query: Query) -> Equations:
    """The equations and conditions of a query, with passing variables where values are also decided on."""
    body = query.body
    sought = frozenset(v for atom in body.atoms for v in atom.variables())
    columns = {t for t in query.terms if isinstance(t, int)} | {v for atom in body.absent for v in atom.variables()}
    placed = frozenset(columns) - sought
    types = {variable_name(v): t for v, t in body.types.items()}
    read = {v for e in (*body.conditions, *(e for _, e in body.equations)) for v in variables_of(e)}
    bound = [v for v, _ in body.equations]
    split = {
        v for v, e in body.equations if v in placed and is_arithmetic(e, types) and (v in read or bound.count(v) > 1)
    }
    passing_of = dict(zip(sorted(split), itertools.count(first_free(query)), strict=False))
    names: dict[str, Term] = {variable_name(v): passing for v, passing in passing_of.items()}

    def decided(expression: exp.Expression) -> exp.Expression:
        return as_expression(replace_columns(expression, names))

    equations = [(passing_of.get(v, v), decided(e)) for v, e in body.equations]
    equations += [(v, as_expression(passing)) for v, passing in passing_of.items()]
    return Equations(
        tuple(equations),
        tuple(map(decided, body.conditions)),
        {passing: body.types[v] for v, passing in passing_of.items()},
        sought,
        placed,
    )


def first_free(query: Query) -> int:
    """A number from which on no variable of the query is."""
    return max(query.body.types, default=0) + 1
