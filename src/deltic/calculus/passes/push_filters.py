"""Filters before what makes more rows or keeps state, each part of a conjunction as far as it gets.

σ_{p AND q} is σ_p after σ_q, and a filter commutes with the linear operators, with distinct [DBSP Prop 6.10], with the
left side of an antijoin, and with each side of a join that has all of its columns; with a map when it reads columns
that the map takes over or that are constants, with a flatmap when it does not read the new one, and with what computes
groups, ranks or the first rows of parts when it reads their keys alone. It stays behind a window, which has to be the
same window whether others read it or not, and behind what excludes rows if it may be an error, which it is for no row
that is excluded.

Before a join, what is said of one column holds for those that equal it, too. A column that a condition compares has a
value: then an outer join below has no use for the rows without a match, in which it is NULL, see `drop_empty`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from deltic.calculus.passes.drop_empty import is_empty, is_never
from deltic.calculus.passes.rewriting import Rewriting, rewrite
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


def push_filters(circuit: Circuit) -> Circuit:
    """The circuit with filters as near to the sources as they get without computing anything twice."""
    return rewrite(circuit, _rule, ops.Filter, _descend)


@dataclass
class _Descent:
    """Where the conditions of a circuit's filters get to, going down from the sinks once."""

    above: dict[int, list[exp.Expression]] = field(default_factory=dict)
    """Those that stay above the rows of a node."""
    on: dict[tuple[int, int], list[exp.Expression]] = field(default_factory=dict)
    """Those on an input of a node that must stay as it is for others; by the node and the input's position."""
    dissolved: set[int] = field(default_factory=set)
    """The filters that are no nodes of their own any more."""


def _descend(rewriting: Rewriting) -> _Descent:
    result, arrived = _Descent(), dict[int, list[exp.Expression]]()
    for number, node in reversed([*enumerate(rewriting.circuit.nodes)]):
        if number in rewriting.remembered:
            continue
        parts = arrived.get(number, [])
        if isinstance(node.operator, ops.Filter):
            own = conjuncts(node.operator.predicate)
            if _takes(rewriting, node.inputs[0]) and (parts or _gets_on(rewriting, node.inputs[0], own)):
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
    """Whether a node, which has inputs, may be another one for the sake of its only reader."""
    is_free = rewriting.only_read_here(number) and number not in rewriting.remembered
    return is_free and bool(rewriting.node(number).inputs)


def _gets_on(rewriting: Rewriting, number: int, parts: Sequence[exp.Expression]) -> bool:
    """Whether one of the conditions on the rows of a node gets to an input of it."""
    return any(_divided(rewriting, number, parts)[1])


def _divided(
    rewriting: Rewriting, number: int, parts: Sequence[exp.Expression]
) -> tuple[list[exp.Expression], list[list[exp.Expression]]]:
    """The conditions on the rows of a node that stay there, and those that get to each of its inputs."""
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
    return stay, [[_below(part, inner.operator) for part in those] for those in passed]


def _rule(rewriting: Rewriting, node: Node) -> int | None:
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
    """The new node under these conditions."""
    if not parts:
        return number
    return rewriting.add(ops.Filter(conjunction([part.copy() for part in parts])), number)


def _below(part: exp.Expression, operator: ops.Operator) -> exp.Expression:
    """The condition over the columns of the operator's inputs."""
    return through(part, operator) if isinstance(operator, ops.Map) else part


def _places(circuit: Circuit, inner: Node, part: exp.Expression, may_fail: bool) -> Collection[int]:
    """The positions of the inputs that are to be filtered; none when the condition does not commute.

    One that may be an error stays behind what excludes rows, and goes nowhere before the conditions that stay.
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
    """Let each input have what the conditions on the others say of columns that equal some of its own."""
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
    """Let inputs that an outer join has filled with NULL have no rows for which a condition is never true by that."""
    types = rewriting.circuit.type_of(join).schema.value_types
    for place, number in enumerate(rewriting.node(join).inputs):
        for name in rewriting.circuit.type_of(number).schema.names:
            nothing = null(types[name].type)
            if _excludes(stay, name, nothing) and _is_filled(rewriting, number, name, nothing):
                passed[place].append(is_not_null(column(name)))


def _excludes(parts: Iterable[exp.Expression], name: str, nothing: exp.Expression) -> bool:
    """Whether one of the conditions is never true where a column is NULL, which is given with the column's type."""
    return any(name in columns_of(part) and is_never(_given(part, {name: nothing})) for part in parts)


def _given(part: exp.Expression, values: Mapping[str, exp.Expression]) -> exp.Expression:
    """The condition with values for some of its columns."""
    return substituted(part, {name: column(name) for name in columns_of(part)} | dict(values))


def _is_filled(rewriting: Rewriting, number: int, name: str, nothing: exp.Expression) -> bool:
    """Whether a sum below the node, which a condition gets to, has a term in which the column is NULL.

    Such rows come no further than a condition that excludes them.
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
    """What a map computes for a column."""
    return next(e for c, e in zip(operator.columns, operator.expressions, strict=True) if c.name == name)


def _is_null(circuit: Circuit, number: int, name: str) -> bool:
    """Whether a term of a sum, which has rows, has nothing but NULL in a column."""
    node = circuit.nodes[number]
    if not isinstance(node.operator, ops.Map):
        return False
    value = _value(node.operator, name)
    if isinstance(value, exp.Column):
        return _is_null(circuit, node.inputs[0], value.name)
    return is_null_of_a_type(value) and not is_empty(circuit, number)


def _equal(part: exp.Expression, schema: Schema) -> Iterator[tuple[str, str]]:
    """Pairs of columns that are equal where the condition is true; no floats, since equal ones may differ."""
    if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
        one, other = (infer(side, schema.value_types).type for side in (part.this, part.expression))
        if one is other and not one.is_float:
            yield part.this.name, part.expression.name
            yield part.expression.name, part.this.name
