"""The meaning of circuits as functions on streams [DBSP §9.3, §9.4].

In a circuit of nesting d every edge is a stream nested d + 1 deep: time 0 counts the steps of the whole circuit, and
each fixpoint adds the time of its iterations. Operators without state are lifted through all times, a fixpoint is

    ↑X ∘ (fix α. body(↑E(imports), ↑z⁻¹(α)))

with the body lifted as a whole, which by [DBSP Prop. 5.7] is to lift what it consists of. A bracket is ↑∫ ∘ body ∘ ↑δ₀,
and back-edges carry the only streams that solve their equations. Delays, I and D belong to one of the times, their
*clock*: that of the circuit they stand in, or of one `outer` to it. In the derivative of a fixpoint's body this is
counted from the circuit around it, as the body's changes are those from one of its steps to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.iterations import ITERATION_LIMIT
from deltic.circuit.oracle.interpreter import latest, within
from deltic.circuit.oracle.memory import Time
from deltic.circuit.oracle.pointwise import POINTWISE, Rows
from deltic.errors import UnsupportedError
from deltic.values.types import Schema
from deltic_theory.circuits.scopes import Meaning, Scope, StreamBundle, Streams, Value
from deltic_theory.circuits.settling import Settling
from deltic_theory.groups import Z_SETS, FiniteMaps
from deltic_theory.streams import (
    Stream,
    constant,
    delay,
    difference,
    fix_together,
    impulse,
    integral,
    lift,
    lift_repeatedly,
    limit,
    nested_stream,
    nested_streams,
)
from deltic_theory.streams.windows import window

Bundle = Mapping[str, Rows]

BUNDLES: FiniteMaps[str, Rows] = FiniteMaps(Z_SETS)

STREAM_OPERATORS: dict[type[ops.Operator], Callable[[Streams], Streams]] = {
    ops.Delay: delay,
    ops.Integrate: integral,
    ops.Differentiate: difference,
}


def denote(circuit: Circuit, sources: Mapping[str, Stream[Rows]]) -> dict[str, Stream[Rows]]:
    """Return the streams of the sinks for these streams of the sources; a source that is absent is zero at all
    times.
    """
    return _denote(circuit, Scope(depth=1, clock=0, sources=sources)).sinks


def _denote(circuit: Circuit, scope: Scope) -> Meaning:
    """Return the meaning of a circuit: its back-edges carry the only streams that solve their equations [DBSP
    §9.4.4].
    """
    if not circuit.closes:
        return _acyclic(circuit, scope, {})

    @cache
    def closed(*cycles: Streams) -> Meaning:
        return _acyclic(circuit, scope, dict(zip(circuit.closes, cycles, strict=True)))

    def output(name: str) -> Callable[..., Streams]:
        return lambda *cycles: closed(*cycles).closes[name]

    groups = [nested_streams(Z_SETS, scope.depth - 1)] * len(circuit.closes)
    return closed(*fix_together([output(name) for name in circuit.closes], groups))


def _acyclic(circuit: Circuit, scope: Scope, cycles: Mapping[str, Streams]) -> Meaning:
    """Return the streams of the nodes for given streams at the beginnings of the back-edges."""
    values: list[Value] = []
    for node in circuit.nodes:
        if isinstance(node.operator, ops.BackEdge):
            values.append(scope.raised(delay, scope.clock - node.operator.outer)(cycles[node.operator.name]))
        else:
            values.append(_node(circuit, node, [values[i] for i in node.inputs], scope))
    sinks = {name: values[number] for name, number in circuit.sinks.items()}
    return Meaning(values, sinks, {name: values[number] for name, number in circuit.closes.items()})


def _node(circuit: Circuit, node: Node, inputs: list[Value], scope: Scope) -> Value:
    op = node.operator
    if isinstance(op, ops.Fixpoint | ops.FixpointDelta):
        return _fixpoint(op, inputs, scope)
    if isinstance(op, ops.Bracket):
        return _bracket(op, inputs, scope)
    if isinstance(op, ops.Call):
        meaning = _denote(op.circuit, Scope(scope.depth, scope.clock, op.named(inputs)))
        return _bundle(meaning.sinks, meaning.observed)
    if isinstance(op, ops.BundleRelation):
        return inputs[0][op.name]
    if isinstance(op, ops.Delay | ops.Integrate | ops.Differentiate):
        return scope.raised(STREAM_OPERATORS[type(op)], scope.clock - op.outer)(*inputs)
    if isinstance(op, ops.Window):
        return _window(op, circuit.type_of(node.inputs[0]).schema, *inputs)
    if isinstance(op, ops.WindowDelta):
        rows, clock = inputs
        return difference(_window(op.window, circuit.type_of(node.inputs[0]).schema, integral(rows), clock))
    if type(op) in LEAVES:
        return LEAVES[type(op)](op, scope)
    if type(op) not in POINTWISE:
        raise UnsupportedError(f"{op.keyword}: it has no meaning as a function on streams")
    types = [circuit.nodes[i].type for i in node.inputs]
    return scope.lift(lambda *rows: POINTWISE[type(op)](op, rows, types))(*inputs)


def _bundle(streams: Mapping[str, Streams], inside: Callable[[Time], Any]) -> StreamBundle:
    bundle = StreamBundle(streams)
    bundle.inside = inside
    return bundle


def _bracket(op: ops.Bracket, inputs: list[Streams], scope: Scope) -> StreamBundle:
    """∫ of the body's sinks for δ₀ of the inputs, at all times of the circuit around it."""
    once = lift_repeatedly(lambda rows: impulse(Z_SETS, rows), nested_streams(Z_SETS, 1), scope.depth)
    meaning = _denote(op.body, Scope(scope.depth + 1, scope.depth, imports=[once(stream) for stream in inputs]))
    settling = Settling(meaning.observed, tuple(range(scope.depth - op.body.reach, scope.depth)), ITERATION_LIMIT)

    def total(name: str, stream: Streams) -> Streams:
        return nested_stream(Z_SETS, scope.depth, lambda *time: settling.total(name, stream, time))

    def inside(time: Time) -> list[Any]:
        return [meaning.observed((*time, iteration)) for iteration in range(settling.length(time))]

    return _bundle({name: total(name, stream) for name, stream in meaning.sinks.items()}, inside)


def _window(op: ops.Window, schema: Schema, rows: Streams, clock: Streams) -> Streams:
    """W(v, θ) for θ the latest that the clock has shown at any time so far."""
    now = Stream(Z_SETS, lambda t: latest(*clock.prefix(t + 1)))
    return window(within(op, schema), rows, now)


LEAVES: dict[type[ops.Operator], Callable[[Any, Scope], Streams]] = {
    ops.Source: lambda op, scope: scope.sources.get(op.name, Stream.of(Z_SETS, [])),
    ops.Constant: lambda op, scope: nested_stream(Z_SETS, scope.depth, lambda *time: ZSet.of(op.rows)),
    ops.Import: lambda op, scope: scope.imports[op.index],
    ops.Feedback: lambda op, scope: scope.feedback[op.name],
}


def _fixpoint(op: ops.Fixpoint | ops.FixpointDelta, inputs: list[Streams], scope: Scope) -> dict[str, Streams]:
    """Return the last values of the body's iterations.

    A derivative's changes may be zero at an iteration and not at a later one, but their sum over the clock is an
    iteration that settles where it first repeats: X is taken of ↑I, and D of the result.
    """
    clock = scope.depth if isinstance(op, ops.Fixpoint) else scope.clock
    inside = Scope(scope.depth + 1, clock)
    if isinstance(op, ops.Fixpoint):
        return _settled(_iterations(op.body, inputs, inside), scope)
    changes = _iterations(op.derivative, inputs, inside)
    sums, differences = inside.raised(integral, clock), scope.raised(difference, clock)
    settled = _settled({name: sums(stream) for name, stream in changes.items()}, scope)
    return {name: differences(stream) for name, stream in settled.items()}


def _settled(iterations: dict[str, Streams], scope: Scope) -> dict[str, Streams]:
    """↑X of all relations together: one may rest while another still changes."""
    names = list(iterations)

    def last(*relations: Streams) -> Bundle:
        bundles = lift(lambda *rows: {n: r for n, r in zip(names, rows, strict=True) if r}, BUNDLES)(*relations)
        return limit(bundles, ITERATION_LIMIT)

    def component(name: str) -> Callable[[Bundle], Rows]:
        return lambda bundle: bundle.get(name, ZSet())

    bundles = lift_repeatedly(last, BUNDLES, scope.depth)(*iterations.values())
    return {name: scope.lift(component(name))(bundles) for name in names}


def _iterations(body: Circuit, inputs: Sequence[Streams], inside: Scope) -> dict[str, Streams]:
    """Return the streams, one nesting deeper than the inputs, of the values of the body's sinks at each iteration."""
    times = inside.depth - 1
    repeat = lift_repeatedly(lambda rows: constant(Z_SETS, rows), nested_streams(Z_SETS, 1), times)
    imports = [repeat(stream) for stream in inputs]
    names = list(body.sinks)

    @cache
    def outputs(*relations: Streams) -> dict[str, Streams]:
        before = {name: inside.raised(delay, times)(s) for name, s in zip(names, relations, strict=True)}
        return _denote(body, replace(inside, imports=imports, feedback=before)).sinks

    def output(name: str) -> Callable[..., Streams]:
        return lambda *relations: outputs(*relations)[name]

    solution = fix_together([output(name) for name in names], [nested_streams(Z_SETS, times)] * len(names))
    return dict(zip(names, solution, strict=True))
