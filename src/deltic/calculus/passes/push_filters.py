"""Predicate pushdown: each conjunct of a filter moves below operators that make more rows or have state.

σ_{p AND q} is σ_p after σ_q, and a filter commutes with the linear operators, with distinct [DBSP Prop 6.10], with the
left side of an antijoin, and with each side of a join that has all of its columns. It commutes with a map if it reads
only columns that the map copies or that are constants, with a flatmap if it does not read the new column, and with
aggregates, window functions and top-k if it reads only their keys. It stays above a window, whose state must not
depend on readers. A condition that may raise an error stays above operators that exclude rows, because it must not be
evaluated for excluded rows.

Above a join, a condition on one column is copied to columns that equal it. A compared column is not NULL:
then an outer join below does not need the rows without a match, in which it is NULL, see `drop_empty`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from deltic.calculus.passes.drop_empty import is_empty, is_never
from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.calculus.passes.substitution import known, through
from deltic.circuit import operators as ops
from deltic.circuit.expressions import (
    column,
    columns_of,
    conjunction,
    conjuncts,
    infer,
    is_checked,
    is_not_null,
    null,
    substituted,
)
from deltic.circuit.expressions.casts import is_null_of_a_type
from deltic.circuit.graph import Circuit, Node
from deltic.values.types import Schema

_EXCLUDING = (ops.Join, ops.Antijoin, ops.FlatMap, ops.Aggregate, ops.Over, ops.Top)


@dataclass
class _Descent:
    """The final places of the conditions of a circuit's filters, found in one pass from the sinks down."""

    above: dict[int, list[exp.Expression]] = field(default_factory=dict)
    """The conditions that stay above a node."""
    on: dict[tuple[int, int], list[exp.Expression]] = field(default_factory=dict)
    """The conditions above an input that other readers share, by node and position of the input."""
    dissolved: set[int] = field(default_factory=set)
    """The filters that are removed, because their conditions moved."""


def _descend(rewriting: Rewriting) -> _Descent:
    result, arrived = _Descent(), dict[int, list[exp.Expression]]()
    for number, node in reversed([*enumerate(rewriting.circuit.nodes)]):
        if number in rewriting.remembered:
            continue
        parts = arrived.get(number, [])
        if isinstance(node.operator, ops.Filter):
            own = conjuncts(node.operator.predicate)
            if _takes(rewriting, node.inputs[0]) and (parts or any(_divided(rewriting, node.inputs[0], own)[1])):
                arrived[node.inputs[0]] = list(dict.fromkeys([*own, *parts]))
                result.dissolved.add(number)
            elif parts:
                result.above[number] = parts
        elif parts:
            result.above[number], passed = _divided(rewriting, number, parts)
            for place, (inner, those) in enumerate(zip(node.inputs, passed, strict=True)):
                if those and _takes(rewriting, inner):
                    arrived[inner] = those
                elif those:
                    result.on[number, place] = those
    return result


def _takes(rewriting: Rewriting, number: int) -> bool:
    """Return whether a node with inputs may be changed, because it has one reader and is not kept for its state."""
    is_free = rewriting.only_read_here(number) and number not in rewriting.remembered
    return is_free and bool(rewriting.node(number).inputs)


def _divided(
    rewriting: Rewriting, number: int, parts: Sequence[exp.Expression]
) -> tuple[list[exp.Expression], list[list[exp.Expression]]]:
    """Return the conditions on a node that stay above it, and those that move to each of its inputs."""
    inner = rewriting.node(number)
    passed: list[list[exp.Expression]] = [[] for _ in inner.inputs]
    stay = list[exp.Expression]()
    for part in parts:
        places = _places(rewriting.circuit, inner, part, may_fail=not stay)
        for place in places:
            passed[place].append(part)
        if not places:
            stay.append(part)
    if isinstance(inner.operator, ops.Join):
        _add_implied(rewriting.circuit, number, stay, passed)
        _add_not_null(rewriting, number, stay, passed)
    if isinstance(operator := inner.operator, ops.Map):
        passed = [[through(part, operator) for part in those] for those in passed]
    return stay, passed


@rewrites(ops.Filter, _descend)
def push_filters(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with filters as close to the sources as possible without computing anything twice."""
    descent, number = rewriting.notes, rewriting.number
    assert isinstance(descent, _Descent)
    if number in descent.dissolved:
        return rewriting.new(*node.inputs)[0]
    if number not in descent.above:
        return None
    inputs = [
        _filtered(rewriting, new, descent.on.get((number, place), ()))
        for place, new in enumerate(rewriting.new(*node.inputs))
    ]
    return _filtered(rewriting, rewriting.add(node.operator, *inputs), descent.above[number])


def _filtered(rewriting: Rewriting, number: int, parts: Sequence[exp.Expression]) -> int:
    """Return the new node with a filter of these conditions."""
    if not parts:
        return number
    return rewriting.add(ops.Filter(conjunction([part.copy() for part in parts])), number)


def _places(circuit: Circuit, inner: Node, part: exp.Expression, may_fail: bool) -> Collection[int]:
    """Return the positions of the inputs to which a condition moves; none if it does not commute with the operator.

    A condition that may raise an error moves neither below an operator that excludes rows, nor below conditions that
    stay.
    """
    operator, wanted = inner.operator, set(columns_of(part))
    if is_checked(part) and (isinstance(operator, _EXCLUDING) or not may_fail):
        return ()
    match operator:
        case ops.Join():
            return [i for i, n in enumerate(inner.inputs) if wanted <= set(circuit.type_of(n).schema.names)]
        case ops.Antijoin():
            return (0,)
        case ops.FlatMap():
            return () if operator.column in wanted else (0,)
        case ops.Aggregate() | ops.Over() | ops.Top():
            return (0,) if wanted <= set(operator.keys) else ()
        case ops.Map():
            return (0,) if wanted <= known(operator) else ()
        case ops.Plus() | ops.Negate() | ops.Distinct():
            return range(len(inner.inputs))
    return ()


def _add_implied(
    circuit: Circuit, join: int, stay: Sequence[exp.Expression], passed: Sequence[list[exp.Expression]]
) -> None:
    """Add to each input the conditions on the others, transferred through equal columns."""
    schema = circuit.type_of(join).schema
    equal = [pair for part in stay for pair in _equal(part, schema)]
    said = [(part, wanted[0]) for parts in passed for part in parts if len(wanted := columns_of(part)) == 1]
    for place, number in enumerate(circuit.nodes[join].inputs):
        names = set(circuit.type_of(number).schema.names)
        for part, name in said:
            for one, other in equal:
                if one == name and other in names and name not in names:
                    implied = substituted(part, {name: column(other)})
                    passed[place].extend([implied] if implied not in passed[place] else [])


def _add_not_null(
    rewriting: Rewriting, join: int, stay: Sequence[exp.Expression], passed: Sequence[list[exp.Expression]]
) -> None:
    """Add IS NOT NULL to inputs that an outer join fills with NULL, where a condition is never true for NULL."""
    types = rewriting.circuit.type_of(join).schema.value_types
    for place, number in enumerate(rewriting.node(join).inputs):
        for name in rewriting.circuit.type_of(number).schema.names:
            nothing = null(types[name].type)
            if _excludes(stay, name, nothing) and _is_filled(rewriting, number, name, nothing):
                passed[place].append(is_not_null(column(name)))


def _excludes(parts: Iterable[exp.Expression], name: str, nothing: exp.Expression) -> bool:
    """Return whether one of the conditions is never true where a column is NULL; `nothing` is the NULL of its type."""
    return any(name in columns_of(part) and is_never(substituted(part, {name: nothing})) for part in parts)


def _is_filled(rewriting: Rewriting, number: int, name: str, nothing: exp.Expression) -> bool:
    """Return whether a sum below the node, to which a condition can move, has a term in which the column is NULL.

    Filters on the way that exclude such rows end the search.
    """
    node = rewriting.node(number)
    if not rewriting.only_read_here(number):
        return False
    match node.operator:
        case ops.Map():
            value = _value(node.operator, name)
            return isinstance(value, exp.Column) and _is_filled(rewriting, node.inputs[0], value.name, nothing)
        case ops.Filter():
            is_excluded = _excludes(conjuncts(node.operator.predicate), name, nothing)
            return not is_excluded and _is_filled(rewriting, node.inputs[0], name, nothing)
        case ops.Antijoin():
            return _is_filled(rewriting, node.inputs[0], name, nothing)
        case ops.Join():
            of = [n for n in node.inputs if name in rewriting.circuit.type_of(n).schema.names]
            return any(_is_filled(rewriting, n, name, nothing) for n in of)
        case ops.Plus():
            return any(_is_null(rewriting.circuit, n, name) for n in node.inputs)
    return False


def _value(operator: ops.Map, name: str) -> exp.Expression:
    """Return the expression of a column of a map."""
    return next(e for c, e in zip(operator.columns, operator.expressions, strict=True) if c.name == name)


def _is_null(circuit: Circuit, number: int, name: str) -> bool:
    """Return whether a nonempty term of a sum has only NULL in a column."""
    node = circuit.nodes[number]
    if not isinstance(node.operator, ops.Map):
        return False
    value = _value(node.operator, name)
    if isinstance(value, exp.Column):
        return _is_null(circuit, node.inputs[0], value.name)
    return is_null_of_a_type(value) and not is_empty(circuit, number)


def _equal(part: exp.Expression, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the pairs of columns that are equal where the condition is true; no floats, because equal ones may
    differ.
    """
    if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
        one, other = (infer(side, schema.value_types).type for side in (part.this, part.expression))
        if one is other and not one.is_float:
            yield part.this.name, part.expression.name
            yield part.expression.name, part.this.name
