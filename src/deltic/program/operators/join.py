"""A join becomes the conjunctions of its inputs: sums distribute over it, as long as that gives few conjunctions.

An antijoin becomes conjunctions with a negated atom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.expressions import is_literal
from deltic.circuit.graph import Node
from deltic.program.conjunctions import is_plain, product
from deltic.program.queries import Atom, Body, Term, When
from deltic.program.scope import LONGEST, MOST, Scope, bodies_of
from deltic.program.unsupported import in_recursion, refusal


@bodies_of(ops.JoinDelta)
def join_delta(scope: Scope, op: ops.JoinDelta, node: Node) -> list[Body]:
    """The conjunctions of one conjunction of each input; the rules' delta queries are the terms of the change."""
    return product(_few(scope, node.inputs[1::2]))


@bodies_of(ops.Join)
def stream_join(scope: Scope, op: ops.Join, node: Node) -> list[Body]:
    """A change joined with the present state of relations, whose own changes derive nothing [DBSP §8.2]."""
    states = [number for number in node.inputs if isinstance(scope.circuit.nodes[number].operator, ops.Integrate)]
    number = scope.circuit.nodes.index(node)
    if len(states) != len(node.inputs) - 1:
        raise refusal(number, op)
    if scope.component is not None:
        raise in_recursion(number, op)
    return product([_state(scope, i) if i in states else scope.bodies(i) for i in node.inputs])


def _state(scope: Scope, number: int) -> list[Body]:
    """Return the relation of the changes that node `number` integrates, in its new state."""
    (change,) = scope.circuit.nodes[number].inputs
    body = scope.atom(scope.relation(change), number)
    return [replace(body, atoms=tuple(replace(atom, when=When.NEW) for atom in body.atoms))]


def _few(scope: Scope, numbers: Sequence[int]) -> list[list[Body]]:
    """Return the conjunctions of each input; where all together are too many, some inputs become relations.

    A product of n sums of two gives 2ⁿ rules. The smallest sums become relations first: they are the optional parts.
    n joins, each of the previous one with itself, give a rule of 2ⁿ atoms; the longest inputs become relations first.
    """
    result = [scope.factors(number) for number in numbers]
    for place in sorted(range(len(result)), key=lambda i: -_atoms(result[i])):
        if sum(map(_atoms, result)) > LONGEST and _atoms(result[place]) > 1:
            result[place] = scope.joined(numbers[place]) or result[place]
    for place in sorted(range(len(result)), key=lambda i: len(result[i])):
        if math.prod(map(len, result)) > MOST and len(result[place]) > 1:
            result[place] = scope.kept(numbers[place]) or result[place]
    return result


def _atoms(bodies: Sequence[Body]) -> int:
    return max((len(body.atoms) for body in bodies), default=0)


@bodies_of(ops.AntijoinDelta)
def antijoin_delta(scope: Scope, op: ops.AntijoinDelta, node: Node) -> list[Body]:
    """The conjunctions of the first input, each with a negated atom of the second."""
    _, left, _, right = node.inputs
    probed = _probed(scope, right)
    return [without(scope, body, probed) for body in scope.factors(left)]


def _probed(scope: Scope, number: int) -> Body:
    """Return the atom of the relation whose change is node `number`: an existing relation if possible, else a new
    one.
    """
    bodies = scope.bodies(number)
    if len(bodies) == 1 and len(bodies[0].atoms) == 1 and is_plain(bodies[0]):
        return bodies[0]
    return scope.atom(scope.relation(number), number)


def without(scope: Scope, body: Body, probed: Body) -> Body:
    """Return the body with a negated atom, whose terms are taken from the body's results."""
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
