"""An antijoin becomes a conjunction with a negated atom."""

from __future__ import annotations

from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.expressions import is_literal
from deltic.circuit.graph import Node
from deltic.program.conjunctions import is_plain
from deltic.program.queries import Atom, Body, Term
from deltic.program.scope import Scope, bodies_of


@bodies_of(ops.AntijoinDelta)
def antijoin_delta(scope: Scope, op: ops.AntijoinDelta, node: Node) -> list[Body]:
    """The conjunctions of the first input, each with a negated atom of the second."""
    _, left, _, right = node.inputs
    probed = _probed(scope, right)
    return [without(scope, body, probed) for body in scope.factors(left)]


def _probed(scope: Scope, number: int) -> Body:
    """The atom of the relation whose change is node `number`: an existing relation if possible, else a new one."""
    bodies = scope.bodies(number)
    if len(bodies) == 1 and len(bodies[0].atoms) == 1 and is_plain(bodies[0]):
        return bodies[0]
    return scope.atom(scope.relation(number), number)


def without(scope: Scope, body: Body, probed: Body) -> Body:
    """The body with a negated atom, whose terms are taken from the body's results."""
    (atom,) = probed.atoms
    wanted = {variable: body.out[name] for name, variable in probed.out.items() if isinstance(variable, int)}
    equations, types = list(body.equations), dict(body.types)
    terms: list[Term] = []
    for term in atom.terms:
        actual = wanted[term] if isinstance(term, int) else term
        if isinstance(term, int) and not isinstance(actual, int) and not is_literal(actual):
            variable = next(scope.drafts.variables)
            types[variable] = body.infer(actual)
            equations.append((variable, actual))
            actual = variable
        terms.append(actual)
    absent = Atom(atom.relation, atom.when, tuple(terms))
    return replace(body, absent=(*body.absent, absent), equations=tuple(equations), types=types)
