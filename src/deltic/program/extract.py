"""From an incremental circuit to relations and delta queries.

Linear operators and joins between two kept relations are not executed one by one: sums distribute over
products, so every change is a sum of conjunctions over kept relations, and each conjunction is a query.
What is kept: tables, constants, sets, fixpoints, bags that are sinks or that something integrates.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import infer, is_literal, is_not_null, operands_of, show
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.oracle.evaluate import evaluate
from deltic.circuit.types import Schema, Type
from deltic.errors import UnsupportedError
from deltic.program.computed import Delayed, Expanded, Windowed
from deltic.program.program import Grouping, Kind, Program, Relation, Stratum
from deltic.program.queries import Atom, Body, Query, Term, When, as_expression, replace_columns, variable_of
from deltic.program.unsupported import check_aggregate, in_recursion, mixed_change, refusal, through_recursion


def extract(circuit: Circuit) -> Program:
    """The program of an incremental circuit; UnsupportedError when the local engine cannot run it."""
    program = Program()
    scope = _Scope(program, circuit)
    for number, node in enumerate(circuit.nodes):
        if isinstance(node.operator, ops.Source):
            scope.relation(number)
        if isinstance(node.operator, ops.Sink):
            program.sinks[node.operator.name] = scope.relation(node.inputs[0], node.operator.name)
    return program


class _Scope:
    """Extraction from one circuit: the whole one, or the derivative of a fixpoint's body inside it."""

    def __init__(
        self,
        program: Program,
        circuit: Circuit,
        imports: tuple[str, ...] = (),
        component: list[str] | None = None,
        fresh: Iterator[int] | None = None,
    ) -> None:
        self.program, self.circuit, self.imports, self.component = program, circuit, imports, component
        self.names: dict[int, str] = {}
        self.feedback: dict[str, str] = {}
        self.bundles: dict[int, dict[str, str]] = {}
        self.delayed: dict[int, str] = {}
        self.fresh = fresh or itertools.count()

    # Relations

    def relation(self, number: int, wanted: str = "") -> str:
        """The relation that keeps the integral of node `number`, a change; made when it is new."""
        if number not in self.names:
            node = self.circuit.nodes[number]
            maker = _MAKERS.get(type(node.operator), _Scope._bag)
            self.names[number] = maker(self, node, number, wanted)
        return self.names[number]

    def _declare(self, name: str, kind: Kind, number: int, rows: tuple[tuple[object, ...], ...] = ()) -> str:
        name = name or f"%{len(self.program.relations)}"
        while name in self.program.relations:
            name += "'" if kind is not Kind.TABLE else "°"
        self.program.relations[name] = Relation(name, kind, self.circuit.type_of(number).schema, rows)
        return name

    def _table(self, node: Node, number: int, wanted: str) -> str:
        assert isinstance(node.operator, ops.Source)
        table = node.operator.name
        name = self._declare(f"{table}.in" if table in self.circuit.sinks else table, Kind.TABLE, number)
        self.program.tables[table] = name
        self.program.strata.append(Stratum((name,), recursive=False))
        return name

    def _constant(self, node: Node, number: int, wanted: str) -> str:
        constant = self.circuit.nodes[node.inputs[0]].operator
        if isinstance(constant, ops.Window):
            return self._window(node.inputs[0], number, wanted)
        if not isinstance(constant, ops.Constant):
            return self._bag(node, number, wanted)
        name = self._declare("", Kind.CONSTANT, number, constant.rows)
        self.program.strata.append(Stratum((name,), recursive=False))
        return name

    def _set(self, node: Node, number: int, wanted: str) -> str:
        return self._derived(Kind.SET, node.inputs[1], wanted)

    def _bag(self, node: Node, number: int, wanted: str) -> str:
        return self._derived(Kind.BAG, number, wanted)

    def _derived(self, kind: Kind, number: int, wanted: str) -> str:
        """Declare a relation whose count changes by the change `number`.

        In the body of a fixpoint, what depends on no feedback is the same at every iteration: it is a
        relation of a lower stratum, complete before the recursion starts, and so may be negated in it.
        """
        bodies = self.flatten(number)
        component = self.component if self._is_recursive(number) else None
        if component is not None and kind is Kind.SET:
            kind = Kind.RECURSIVE
        name = self._declare(wanted, kind, number)
        self._enter(name, number, bodies)
        if component is None:
            self.program.strata.append(Stratum((name,), recursive=False))
        else:
            component.append(name)
        return name

    def _is_recursive(self, number: int) -> bool:
        """Whether the node depends on a relation of the fixpoint."""
        return any(isinstance(self.circuit.nodes[n].operator, ops.Feedback) for n in self.circuit.ancestors([number]))

    def _aggregate(self, node: Node, number: int, wanted: str) -> str:
        """An aggregate relation, and below it the rows that it groups, of which nothing is kept."""
        assert isinstance(node.operator, ops.AggregateDelta)
        (_, change), operator = node.inputs, node.operator
        schema = self.circuit.type_of(change).schema
        check_aggregate(number, operator, schema)
        columns = tuple(dict.fromkeys((*operator.keys, *(c.column for c in operator.calls if c.column))))
        bodies = self.flatten(change)
        name = self._declare(wanted, Kind.AGGREGATE, number)
        source = self._transient(f"{name}.rows", change, bodies, columns)
        calls = tuple((c.function, columns.index(c.column) if c.column else -1) for c in operator.calls)
        self.program.groupings[name] = Grouping(source, len(operator.keys), calls)
        self.program.strata.append(Stratum((name,), recursive=False))
        return name

    def _transient(self, name: str, number: int, bodies: list[Body], columns: Sequence[str]) -> str:
        """A relation for some columns of a change, of which nothing is kept."""
        schema = self.circuit.type_of(number).schema
        passed = Schema(tuple(schema.columns[schema.index(c)] for c in columns))
        self.program.relations[name] = Relation(name, Kind.TRANSIENT, passed)
        self._enter(name, number, bodies, columns)
        self.program.strata.append(Stratum((name,), recursive=False))
        return name

    def _flat_map(self, node: Node, number: int, wanted: str) -> str:
        """The relation of a flatmap's rows, and below it the rows from which they are generated."""
        assert isinstance(node.operator, ops.FlatMap)
        if self._is_recursive(number):
            raise in_recursion(number, node.operator)
        (change,) = node.inputs
        bodies = self.flatten(change)
        name = self._declare(wanted, Kind.BAG, number)
        source = self._transient(f"{name}.rows", change, bodies, self.circuit.type_of(change).schema.names)
        self.program.computed[name] = Expanded(source, node.operator)
        self.program.strata.append(Stratum((name,), recursive=False))
        return name

    def _window(self, shown: int, number: int, wanted: str) -> str:
        """The relation of a window, whose change is node `number`: of the cycle that is a window's derivative."""
        window = self.circuit.nodes[shown].operator
        assert isinstance(window, ops.Window)
        rows, clock = self._window_inputs(shown)
        bodies, ticks = self.flatten(rows), self.flatten(clock)
        schema = self.circuit.type_of(rows).schema
        name = self._declare(wanted, Kind.BAG, number)
        source = self._transient(f"{name}.rows", rows, bodies, schema.names)
        time = self._transient(f"{name}.clock", clock, ticks, self.circuit.type_of(clock).schema.names)
        self.program.computed[name] = Windowed(source, time, schema.index(window.column), window.length)
        self.program.strata.append(Stratum((name,), recursive=False))
        return name

    def _window_inputs(self, shown: int) -> tuple[int, int]:
        """The changes of the rows and of the clock in α = W(Δa + z⁻¹(α), Δθ)."""
        node = self.circuit.nodes[shown]
        total, clock = node.inputs
        parts = self.circuit.nodes[total]
        if isinstance(parts.operator, ops.Plus) and len(parts.inputs) == 2:
            rows, before = parts.inputs
            edge = self.circuit.nodes[before].operator
            if isinstance(edge, ops.BackEdge):
                close = self.circuit.nodes[self.circuit.closes[edge.name]]
                if close.inputs == (shown,):
                    return rows, clock
        raise refusal(shown, node.operator)

    def _enter(self, name: str, number: int, bodies: list[Body], columns: Sequence[str] | None = None) -> None:
        """The queries that change a relation by `bodies`, whose sum is the node's value, or by some columns of it."""
        names = self.circuit.type_of(number).schema.names if columns is None else columns
        for body in bodies:
            if (changes := sum(atom.when is When.DELTA for atom in body.atoms)) != 1:
                raise mixed_change(number, self.circuit.nodes[number].operator, changes)
            named = replace(body, names={**self._column_names(body), **body.names})
            self.program.queries.append(Query(name, tuple(body.out[n] for n in names), named))

    def _column_names(self, body: Body) -> dict[int, str]:
        """The columns' names for the variables of atoms."""
        relations = self.program.relations
        columns = [(t, c.name) for a in body.atoms for t, c in zip(a.terms, relations[a.relation].schema, strict=True)]
        return {term: name for term, name in columns if isinstance(term, int)}

    def _component(self, node: Node, number: int, wanted: str) -> str:
        (bundle,) = node.inputs
        assert isinstance(node.operator, ops.Component)
        if bundle not in self.bundles:
            self._fixpoint(bundle)
        return self.bundles[bundle][node.operator.name]

    def _fixpoint(self, bundle: int) -> None:
        node = self.circuit.nodes[bundle]
        operator = node.operator
        if not isinstance(operator, ops.FixpointDelta):
            raise UnsupportedError(f"local engine: {operator.keyword} in an incremental circuit")
        if self.component is not None:
            raise UnsupportedError("local engine: a fixpoint inside a fixpoint is not supported yet")
        check_monotone(operator.body)
        imports = tuple(self.relation(i) for i in node.inputs)
        component: list[str] = []
        inner = _Scope(self.program, operator.derivative, imports, component, self.fresh)
        sinks = operator.derivative.sinks
        for variable in sinks:
            number = sinks[variable]
            name = inner._declare(variable, Kind.RECURSIVE, number)
            inner.feedback[variable] = name
            component.append(name)
            if isinstance(inner.circuit.nodes[number].operator, ops.DistinctDelta):
                inner.names[number] = name
        for variable, number in sinks.items():
            source = inner.circuit.nodes[number]
            change = source.inputs[1] if isinstance(source.operator, ops.DistinctDelta) else number
            inner._enter(inner.feedback[variable], change, inner.flatten(change))
        self.program.strata.append(Stratum(tuple(component), recursive=True))
        self.bundles[bundle] = inner.feedback

    # Bodies

    def flatten(self, number: int) -> list[Body]:
        """The conjunctions whose sum is the value of node `number`."""
        node = self.circuit.nodes[number]
        flattener = _FLATTENERS.get(type(node.operator))
        if flattener is not None:
            return flattener(self, node)
        return [self._atom(self.leaf(number), When.DELTA, number)]

    def leaf(self, number: int) -> str:
        """The relation whose change node `number` carries."""
        operator = self.circuit.nodes[number].operator
        if isinstance(operator, ops.Import):
            return self.imports[operator.index]
        if isinstance(operator, ops.Feedback):
            return self.feedback[operator.name]
        if type(operator) not in _MAKERS:
            raise refusal(number, operator)
        return self.relation(number)

    def _atom(self, relation: str, when: When, number: int) -> Body:
        schema = self.circuit.type_of(number).schema
        variables = [next(self.fresh) for _ in schema]
        return Body(
            atoms=(Atom(relation, when, tuple(variables)),),
            out=dict(zip(schema.names, variables, strict=True)),
            types=dict(zip(variables, (c.type for c in schema), strict=True)),
        )

    def _integral(self, node: Node, when: When = When.NEW) -> list[Body]:
        """I of a change: linear conjunctions read the kept relations instead; others are kept themselves."""
        (number,) = node.inputs
        if type(self.circuit.nodes[number].operator) in _FLATTENERS:
            bodies = self.flatten(number)
            if all(len(b.atoms) == 1 and b.atoms[0].when is When.DELTA and not b.absent for b in bodies):
                return [replace(b, atoms=(replace(b.atoms[0], when=when),)) for b in bodies]
            return [self._atom(self.relation(number), when, number)]
        return [self._atom(self.leaf(number), when, number)]

    def _delay(self, node: Node) -> list[Body]:
        source = self.circuit.nodes[node.inputs[0]]
        if isinstance(source.operator, ops.Integrate):
            return self._integral(source, When.OLD)
        return [self._before(node)]

    def _difference(self, node: Node) -> list[Body]:
        """The change less that of the epoch before; D of a constant or a window is the change of a relation."""
        (number,) = node.inputs
        if isinstance(self.circuit.nodes[number].operator, ops.Constant | ops.Window):
            shown = self.circuit.nodes.index(node)
            return [self._atom(self.leaf(shown), When.DELTA, shown)]
        before = self._before(node)
        return [*self.flatten(number), replace(before, sign=-before.sign)]

    def _before(self, node: Node) -> Body:
        """The change that enters the node, one epoch ago; as a relation of its own."""
        (number,) = node.inputs
        if self.component is not None:
            raise in_recursion(self.circuit.nodes.index(node), node.operator)
        if number not in self.delayed:
            bodies = self.flatten(number)
            name = self.delayed[number] = self._declare("", Kind.BAG, number)
            now = self._transient(f"{name}.rows", number, bodies, self.circuit.type_of(number).schema.names)
            self.program.computed[name] = Delayed(now)
            self.program.strata.append(Stratum((name,), recursive=False))
        return self._atom(self.delayed[number], When.DELTA, number)

    def _map(self, node: Node) -> list[Body]:
        operator = node.operator
        assert isinstance(operator, ops.Map)
        columns = self.circuit.type_of(node.inputs[0]).schema.value_types
        pairs = zip(operator.columns, operator.expressions, strict=True)
        partial = [e for c, e in pairs if not c.nullable and infer(e, columns).nullable]
        return [_mapped(operator, partial, body) for body in self.flatten(node.inputs[0])]

    def _filter(self, node: Node) -> list[Body]:
        assert isinstance(node.operator, ops.Filter)
        bodies = self.flatten(node.inputs[0])
        for part in _conjuncts(node.operator.predicate):
            bodies = [restricted for b in bodies for restricted in _restrict(b, replace_columns(part, b.out))]
        return bodies

    def _plus(self, node: Node) -> list[Body]:
        return [body for number in node.inputs for body in self.flatten(number)]

    def _negate(self, node: Node) -> list[Body]:
        return [replace(b, sign=-b.sign) for b in self.flatten(node.inputs[0])]

    def _join(self, node: Node) -> list[Body]:
        joined = self.flatten(node.inputs[0])
        for number in node.inputs[1:]:
            right = self.flatten(number)
            joined = [both for a, b in itertools.product(joined, right) for both in _conjoin(a, b)]
        return joined

    def _antijoin(self, node: Node) -> list[Body]:
        left, right = node.inputs
        probed = self._probed(right)
        return [self._absent(body, probed) for body in self.flatten(left)]

    def _probed(self, number: int) -> Body:
        """The atom of a kept relation whose value is that of node `number`, an integral or yesterday's."""
        bodies = self.flatten(number)
        if len(bodies) == 1 and len(bodies[0].atoms) == 1 and _is_plain(bodies[0]):
            return bodies[0]
        node, when = self.circuit.nodes[number], When.NEW
        if isinstance(node.operator, ops.Delay):
            node, when = self.circuit.nodes[node.inputs[0]], When.OLD
        if not isinstance(node.operator, ops.Integrate):
            raise UnsupportedError(f"local engine: antijoin against {node.operator.keyword}; only against integrals")
        (change,) = node.inputs
        return self._atom(self.relation(change), when, change)

    def _absent(self, body: Body, probed: Body) -> Body:
        """The body with an atom that must be absent, its columns taken from the body's results."""
        (atom,) = probed.atoms
        wanted = {variable: body.out[name] for name, variable in probed.out.items() if isinstance(variable, int)}
        equations = list(body.equations)
        types = dict(body.types)
        terms: list[Term] = []
        for term in atom.terms:
            actual = wanted.get(term, term) if isinstance(term, int) else term
            if not isinstance(actual, int) and not is_literal(actual):
                variable = next(self.fresh)
                types[variable] = probed.types[term] if isinstance(term, int) else Type.INT64
                equations.append((variable, actual))
                actual = variable
            terms.append(actual)
        absent = Atom(atom.relation, atom.when, tuple(terms))
        return replace(body, absent=(*body.absent, absent), equations=tuple(equations), types=types)


_MAKERS: dict[type[ops.Operator], Callable[[_Scope, Node, int, str], str]] = {
    ops.Source: _Scope._table,
    ops.Differentiate: _Scope._constant,
    ops.DistinctDelta: _Scope._set,
    ops.Component: _Scope._component,
    ops.AggregateDelta: _Scope._aggregate,
    ops.FlatMap: _Scope._flat_map,
}
_FLATTENERS: dict[type[ops.Operator], Callable[[_Scope, Any], list[Body]]] = {
    ops.Map: _Scope._map,
    ops.Filter: _Scope._filter,
    ops.Plus: _Scope._plus,
    ops.Negate: _Scope._negate,
    ops.Join: _Scope._join,
    ops.Antijoin: _Scope._antijoin,
    ops.Integrate: _Scope._integral,
    ops.Delay: _Scope._delay,
    ops.Differentiate: _Scope._difference,
}


def _conjuncts(predicate: exp.Expression) -> list[exp.Expression]:
    """The predicates whose conjunction is this one."""
    if isinstance(predicate, exp.And):
        return [part for side in operands_of(predicate) for part in _conjuncts(side)]
    return [predicate]


def _is_plain(body: Body) -> bool:
    """Whether the body is an atom of distinct variables, each of them one result, and nothing else."""
    shown = [t for t in body.out.values() if isinstance(t, int)]
    restricted = body.absent or body.conditions or body.equations or len(set(shown)) != len(body.out)
    return not restricted and set(shown) == body.atoms[0].variables()


def _mapped(operator: ops.Map, partial: list[exp.Expression], body: Body) -> Body:
    """The body with the map's results, of which the partial ones must be defined even if nothing reads them later."""
    pairs = zip(operator.columns, operator.expressions, strict=True)
    out = {c.name: replace_columns(e, body.out) for c, e in pairs}
    defined = (is_not_null(as_expression(replace_columns(e, body.out)).copy()) for e in partial)
    mapped = replace(body, out=out, conditions=(*body.conditions, *defined))
    return replace(mapped, names={**_names(mapped), **body.names})


def _names(body: Body) -> dict[int, str]:
    """The names of the body's results that are variables."""
    return {t: name for name, t in body.out.items() if isinstance(t, int) and not name.startswith("\0")}


def _restrict(body: Body, condition: Term) -> list[Body]:
    """The body with one more condition; nothing when it can never hold."""
    predicate = as_expression(condition)
    if not any(predicate.find_all(exp.Column)):
        return [body] if evaluate(predicate, {}, {}) is True else []
    if isinstance(predicate, exp.EQ):
        left, right = (_term_of(side) for side in (predicate.this, predicate.expression))
        return _equate(body, left, right)
    return [replace(body, conditions=(*body.conditions, predicate))]


def _term_of(expression: exp.Expression) -> Term:
    return variable_of(expression.name) if isinstance(expression, exp.Column) else expression


def _equate(body: Body, left: Term, right: Term) -> list[Body]:
    """The body under the condition that two terms are equal."""
    if left == right and (isinstance(left, int) or is_literal(left)):
        return [body]
    if not isinstance(left, int):
        left, right = right, left
    if isinstance(left, int) and (isinstance(right, int) or is_literal(right)):
        return [body.substitute(left, right)]
    if isinstance(left, int):
        return [replace(body, equations=(*body.equations, (left, as_expression(right))))]
    if is_literal(left) and is_literal(as_expression(right)):
        return [body] if show(left) == show(as_expression(right)) else []
    condition = exp.EQ(this=left.copy(), expression=as_expression(right).copy())
    return [replace(body, conditions=(*body.conditions, condition))]


def _conjoin(a: Body, b: Body) -> list[Body]:
    """The natural join of two bodies."""
    shared = [name for name in a.out if name in b.out]
    joined = Body(
        a.sign * b.sign,
        a.atoms + b.atoms,
        a.absent + b.absent,
        a.conditions + b.conditions,
        a.equations + b.equations,
        {**b.out, **a.out, **{f"\0{name}": b.out[name] for name in shared}},
        {**a.types, **b.types},
        {**_names(b), **_names(a), **b.names, **a.names},
    )
    bodies = [joined]
    for name in shared:
        bodies = [r for body in bodies for r in _equate(body, body.out[name], body.out[f"\0{name}"])]
    return [replace(body, out={n: t for n, t in body.out.items() if not n.startswith("\0")}) for body in bodies]


def check_monotone(body: Circuit) -> None:
    """Refuse a recursion in which a row can take another one's ground away; iterations would not be final."""
    recursive: set[int] = set()
    for number, node in enumerate(body.nodes):
        if isinstance(node.operator, ops.Feedback) or recursive.intersection(node.inputs):
            recursive.add(number)
        negated = isinstance(node.operator, ops.Antijoin) and node.inputs[1] in recursive
        aggregated = isinstance(node.operator, ops.Aggregate) and number in recursive
        if isinstance(node.operator, ops.Negate) or negated or aggregated:
            raise through_recursion(number, node.operator)
        if isinstance(node.operator, ops.Import) and not node.operator.type.is_set:
            raise UnsupportedError(f"local engine: a fixpoint imports bag %{number}; put a distinct before it")
