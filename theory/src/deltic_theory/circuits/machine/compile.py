"""From circuits to machines that are connected by channels [DBSP §10]."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.iterations import ITERATION_LIMIT
from deltic.circuit.oracle.interpreter import latest, recent
from deltic.circuit.oracle.pointwise import POINTWISE
from deltic.errors import UnsupportedError
from deltic_theory.circuits.machine.events import Queue
from deltic_theory.circuits.machine.loops import Bundle, Entry, Exit, WatchingExit
from deltic_theory.circuits.machine.nodes import Controller, Delay, Machine, Primitive

Types = Sequence[EdgeType]


@dataclass(frozen=True)
class Site:
    """Where a circuit is compiled: its controller, the time that its delays count, and what its leaves are.

    `sources` collects the machines of the sources, `watched` those of all nodes; `given` are the machines that stand
    for the sources of a circuit inside another. The clock is the controller's level, but that of the circuit around
    the loop for the derivative of a loop's body.
    """

    queue: Queue
    controller: Controller
    clock: int
    sources: dict[str, Machine] = field(default_factory=dict)
    imports: Sequence[Machine] = ()
    feedback: Mapping[str, Machine] = field(default_factory=dict)
    given: Mapping[str, Machine] | None = None
    watched: list[Machine] = field(default_factory=list)

    def put(self, machine: Machine, *inputs: Machine) -> Machine:
        """Make a machine a node of the circuit, with its input ports connected to other nodes."""
        self.controller.nodes.append(machine)
        for port, source in enumerate(inputs):
            source.connect(machine, port)
        return machine

    def function(self, function: Callable[..., Any], *inputs: Machine) -> Machine:
        """Return a lifted function of other nodes."""
        return self.put(Primitive(self.queue, len(inputs), function), *inputs)

    def delay(self, op: ops.Delay | ops.BackEdge, *inputs: Machine) -> Machine:
        """Return a delay in the time that the operator counts."""
        return self.put(Delay(self.queue, self.clock - op.outer), *inputs)

    def integrate(self, source: Machine, clock: int) -> Machine:
        """I as + with a delay in its cycle."""
        delay = self.put(Delay(self.queue, clock))
        total = self.function(operator.add, source, delay)
        total.connect(delay, 0)
        return total

    def differentiate(self, source: Machine, clock: int) -> Machine:
        """D as the difference to a delay."""
        return self.function(operator.sub, source, self.put(Delay(self.queue, clock), source))


def compile_circuit(circuit: Circuit, site: Site) -> dict[str, Machine]:
    """Put the machines of a circuit into its site; the result are those that feed the sinks."""
    machines: list[Machine] = []
    for node in circuit.nodes:
        machines.append(_compile_node(circuit, node, [machines[i] for i in node.inputs], site))
    for number, op in enumerate(circuit.operators):
        if isinstance(op, ops.BackEdge):
            machines[circuit.closes[op.name]].connect(machines[number], 0)
    site.watched.extend(machines)
    return {name: machines[number] for name, number in circuit.sinks.items()}


def _compile_node(circuit: Circuit, node: Node, inputs: list[Machine], site: Site) -> Machine:
    op, types = node.operator, [circuit.nodes[i].type for i in node.inputs]
    if type(op) in NODES:
        return NODES[type(op)](op, inputs, types, site)
    if type(op) not in POINTWISE:
        raise UnsupportedError(f"{op.keyword}: there is no state machine for it")
    return site.function(lambda *values: POINTWISE[type(op)](op, values, types), *inputs)


def _source(op: ops.Source, inputs: list[Machine], types: Types, site: Site) -> Machine:
    if site.given is not None:
        return site.given[op.name]
    site.sources[op.name] = site.put(Primitive(site.queue, 1, lambda rows: rows))
    return site.sources[op.name]


def _loop(op: ops.Fixpoint | ops.FixpointDelta, inputs: list[Machine], types: Types, site: Site) -> Machine:
    """Return the body between a loop entry and a loop exit: imports are I of what enters, D of the sinks is what
    leaves.
    """
    body, clock = (op.body, None) if isinstance(op, ops.Fixpoint) else (op.derivative, site.clock)
    entry, level = _entry(op, inputs, site)
    inside = Site(site.queue, entry.body, level if clock is None else clock)
    imports = [inside.integrate(inside.put(port), level) for port in entry.ports]
    feedback = {name: inside.put(Delay(site.queue, level)) for name in body.sinks}
    sinks = compile_circuit(body, replace(inside, imports=imports, feedback=feedback))
    for name, machine in sinks.items():
        machine.connect(feedback[name], 0)
    changes = [inside.differentiate(machine, level) for machine in sinks.values()]
    return inside.put(Exit(site.queue, list(sinks), entry, level, [inside.clock]), *changes)


def _bracket(op: ops.Bracket, inputs: list[Machine], types: Types, site: Site) -> Machine:
    """Return the body between a loop entry and a loop exit that watches all of its nodes."""
    entry, level = _entry(op, inputs, site)
    inside = Site(site.queue, entry.body, level)
    sinks = compile_circuit(op.body, replace(inside, imports=[inside.put(port) for port in entry.ports]))
    clocks = range(level - op.body.reach, level)
    leaving = WatchingExit(site.queue, list(sinks), entry, level, clocks, len(inside.watched))
    return inside.put(leaving, *sinks.values(), *inside.watched)


def _entry(op: ops.Operator, inputs: list[Machine], site: Site) -> tuple[Entry, int]:
    """Return the entry of a loop with a controller of its own, and its level."""
    controller = Controller(site.controller.level + 1)
    site.controller.inner.append(controller)
    entry = Entry(site.queue, len(inputs), controller, ITERATION_LIMIT, op.keyword)
    site.put(entry, *inputs)
    return entry, controller.level


def _call(op: ops.Call, inputs: list[Machine], types: Types, site: Site) -> Machine:
    """Return the machines of the circuit among those of the one around it."""
    sinks = compile_circuit(op.circuit, replace(site, given=op.named(inputs)))
    return site.function(lambda *rows: Bundle(dict(zip(sinks, rows, strict=True))), *sinks.values())


def _window(op: ops.Window, inputs: list[Machine], types: Sequence[ZSetType], site: Site) -> Machine:
    """The time is the latest of the clock and of a delay in its cycle."""
    rows, clock = inputs
    before = site.put(Delay(site.queue, site.clock))
    now = site.function(latest, clock, before)
    now.connect(before, 0)
    return site.function(lambda content, time: recent(op, content, time, types[0].schema), rows, now)


def _window_delta(op: ops.WindowDelta, inputs: list[Machine], types: Sequence[ZSetType], site: Site) -> Machine:
    """D(α), α = W(Δv + z⁻¹(α), Δθ)."""
    rows, clock = inputs
    before = site.put(Delay(site.queue, site.clock))
    content = _window(op.window, [site.function(operator.add, rows, before), clock], types, site)
    content.connect(before, 0)
    return site.function(operator.sub, content, before)


NODES: dict[type[ops.Operator], Callable[[Any, list[Machine], Any, Site], Machine]] = {
    ops.Source: _source,
    ops.Constant: lambda op, inputs, types, site: site.function(lambda: ZSet.of(op.rows)),
    ops.Import: lambda op, inputs, types, site: site.imports[op.index],
    ops.Feedback: lambda op, inputs, types, site: site.feedback[op.name],
    ops.Delay: lambda op, inputs, types, site: site.delay(op, *inputs),
    ops.Integrate: lambda op, inputs, types, site: site.integrate(inputs[0], site.clock - op.outer),
    ops.Differentiate: lambda op, inputs, types, site: site.differentiate(inputs[0], site.clock - op.outer),
    ops.BackEdge: lambda op, inputs, types, site: site.delay(op),
    ops.BundleRelation: lambda op, inputs, types, site: site.function(
        lambda bundle: bundle.relations[op.name], *inputs
    ),
    ops.Bracket: _bracket,
    ops.Call: _call,
    ops.Window: _window,
    ops.WindowDelta: _window_delta,
    ops.Fixpoint: _loop,
    ops.FixpointDelta: _loop,
}
