"""Random circuits by all rules of [DBSP §9.4]: delays of each time, back-edges, brackets, calls, fixpoints.

All brackets come to rest: what enters a body is zero after its first iteration, and operators without memory keep zero.
So do delays; I of such a stream is constant in the end, and is not integrated again; a back-edge carries a set that
only grows, with values from a finite stock. Sinks of bodies are streams that end in zero, or D of streams that end.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from tests.differential.circuits import Shape, _add_fixpoint, _as_schema, _grow, _Pool, _schema

SHAPE = Shape(operators=6, fixpoints=1, signed=True)


@dataclass
class _Streams(_Pool):
    """A pool that knows which nodes do not end in zero, so that they may not be integrated over the iterations."""

    lasting: set[int] = field(default_factory=set)

    def put(self, operator: ops.Operator, *inputs: int, positive: bool | None = None) -> int:
        if isinstance(operator, ops.Delay | ops.Differentiate | ops.BackEdge):
            positive = False
        number = super().put(operator, *inputs, positive=positive)
        integral = isinstance(operator, ops.Integrate) and not operator.outer
        if integral or isinstance(operator, ops.BackEdge) or any(i in self.lasting for i in inputs):
            self.lasting.add(number)
        if isinstance(operator, ops.Bracket | ops.Call):
            self.nodes.remove(number)
        return number


def random_well_formed(rng: random.Random, nodes: int = 15, nesting: int = 1) -> Circuit:
    """A circuit of one to three sources, brackets and calls `nesting` deep, and about `nodes` nodes at most."""
    pool = _Streams(CircuitBuilder(), rng, SHAPE)
    for i in range(rng.randint(1, 3)):
        is_set = rng.random() < 0.5
        pool.put(ops.Source(f"s{i}", _schema(rng, rng.choice((1, 2, 2, 3)), SHAPE), is_set), positive=is_set)
    _fill(pool, nodes - 3, nesting)
    for i, number in enumerate((pool.nodes[-1], *(pool.pick() for _ in range(rng.randint(0, 2))))):
        pool.builder.add(ops.Sink(f"v{i}"), number)
    return pool.builder.build()


def _fill(pool: _Streams, nodes: int, nesting: int) -> None:
    """Add operators, the last ones where a back-edge begins."""
    entries, cycles = list(pool.nodes), {}
    for name in ("p", "q")[: pool.rng.choice((0, 0, 1, 2))]:
        schema = pool.schema(pool.rng.choice(entries))
        cycles[name] = pool.put(ops.BackEdge(name, schema, is_set=pool.builder.depth > 0))
    while len(pool.nodes) < nodes - 2 * len(cycles):
        kind = pool.rng.random()
        if kind < 0.3:
            _add_stream_operator(pool)
        elif kind < 0.4 and nesting:
            _add_bracket(pool, nesting - 1)
        elif kind < 0.5 and nesting:
            _add_call(pool, nesting - 1)
        elif kind < 0.53 and nesting:
            _add_fixpoint(pool, 0)
        else:
            _grow(pool, 0)
    for name, past in cycles.items():
        begun = _as_schema(pool, pool.rng.choice(entries), pool.schema(past))
        others = [_as_schema(pool, pool.pick(), pool.schema(past)) for _ in range(pool.rng.randint(0, 1))]
        close = _growing(pool, past, begun, *others) if pool.builder.depth else pool.put(ops.Plus(), begun, *others)
        pool.builder.add(ops.Close(name), close)


def _growing(pool: _Streams, past: int, *others: int) -> int:
    """The set of what the back-edge carries and of something else."""
    sets = [pool.put(ops.Distinct(), other, positive=True) for other in others]
    return pool.put(ops.Distinct(), pool.put(ops.Plus(), past, *sets), positive=True)


def _add_stream_operator(pool: _Streams) -> None:
    depth = pool.builder.depth
    number, outer = pool.pick(), pool.rng.randint(0, depth)
    kind = pool.rng.choice((ops.Delay, ops.Integrate, ops.Differentiate))
    if kind is not ops.Integrate or outer == depth or (not outer and number not in pool.lasting):
        pool.put(kind(outer=outer), number)


def _add_bracket(pool: _Streams, nesting: int) -> None:
    inputs = [pool.pick() for _ in range(pool.rng.randint(1, 2))]
    inside = _Streams(CircuitBuilder(pool.builder.depth + 1), pool.rng, SHAPE)
    for i, number in enumerate(inputs):
        inside.put(ops.Import(i, pool.builder.type_of(number)), positive=pool.positive[number])
    _fill(inside, 8, nesting)
    for i, number in enumerate((inside.nodes[-1], inside.pick())):
        ending = inside.put(ops.Differentiate(), number) if number in inside.lasting else number
        inside.builder.add(ops.Sink(f"o{i}"), ending)
    body = inside.builder.build()
    bundle = pool.put(ops.Bracket(body), *inputs)
    for name in sorted(body.sinks):
        pool.put(ops.BundleRelation(name), bundle, positive=False)


def _add_call(pool: _Streams, nesting: int) -> None:
    call = ops.Call(random_well_formed(pool.rng, 6, nesting))
    inputs = [_as_schema(pool, pool.pick(), port.schema) for port in call.ports]
    ports = zip(inputs, call.ports, strict=True)
    sets = [pool.put(ops.Distinct(), n, positive=True) if port.is_set else n for n, port in ports]
    if pool.builder.depth and any(isinstance(op, ops.Integrate | ops.BackEdge) for op in call.circuit.operators):
        return
    bundle = pool.put(call, *sets)
    for name in sorted(call.circuit.sinks):
        pool.put(ops.BundleRelation(name), bundle, positive=False)
