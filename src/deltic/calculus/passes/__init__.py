"""Rewrites of circuits that cost less when they are incrementalized, in their order.

Each keeps the values of all sinks for all values of the tables. `incrementalize` applies them before it takes
derivatives, and so does every engine that runs what it makes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import cycle

from deltic.calculus.passes.cancel_negations import cancel_negations
from deltic.calculus.passes.delay_distinct import delay_distinct
from deltic.calculus.passes.drop_distinct import drop_distinct
from deltic.calculus.passes.drop_empty import drop_empty
from deltic.calculus.passes.drop_unread import drop_unread
from deltic.calculus.passes.flatten_fixpoints import flatten_fixpoints
from deltic.calculus.passes.flatten_sums import flatten_sums
from deltic.calculus.passes.fuse_filters import fuse_filters
from deltic.calculus.passes.fuse_maps import fuse_maps
from deltic.calculus.passes.limit_ranks import limit_ranks
from deltic.calculus.passes.project_early import project_early
from deltic.calculus.passes.push_filters import push_filters
from deltic.calculus.passes.rewriting import is_set
from deltic.calculus.passes.share_sums import share_sums
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.inlining import inline
from deltic.circuit.operators.keep import Keep

Pass = Callable[[Circuit], Circuit]

OPTIMIZATIONS: tuple[Pass, ...] = (
    drop_unread,
    flatten_fixpoints,
    cancel_negations,
    flatten_sums,
    share_sums,
    drop_distinct,
    delay_distinct,
    fuse_filters,
    push_filters,
    drop_empty,
    limit_ranks,
    project_early,
    fuse_maps,
)

# What no pass rewrites.
_PLAIN = (ops.Source, ops.Call, ops.BundleRelation, ops.Sink, Keep)


@lru_cache(maxsize=4)
def optimize(circuit: Circuit) -> Circuit:
    """All passes, over and over until none changes the circuit; its sinks have the same values as before.

    A circuit that is called is optimized by itself, and once: `inline` puts it in its place then. So the form of a
    definition depends on what it reads, and not on what else there is. The last few results are remembered, too: a
    catalog's circuit is optimized for its demand, and to be incrementalized.
    """
    circuit = _with_optimized_calls(circuit)
    rewrites, unchanged = cycle(OPTIMIZATIONS), 0
    while unchanged < len(OPTIMIZATIONS) and not _is_plain(circuit):
        result = next(rewrites)(circuit)
        circuit, unchanged = result, unchanged + 1 if result == circuit else 0
    return circuit


def _is_plain(circuit: Circuit) -> bool:
    """Whether it has nothing but operators that no pass rewrites, such as calls and what is taken out of them."""
    return all(isinstance(operator, _PLAIN) for operator in circuit.operators)


def _with_optimized_calls(circuit: Circuit) -> Circuit:
    """The circuit with calls of optimized circuits, of the components that are read alone."""
    read = defaultdict[int, set[str]](set)
    for node in circuit.nodes:
        if isinstance(node.operator, ops.BundleRelation):
            read[node.inputs[0]].add(node.operator.name)
    if not any(isinstance(circuit.nodes[number].operator, ops.Call) for number in read):
        return circuit
    builder, numbers = CircuitBuilder(circuit.depth), list[int]()
    for number, node in enumerate(circuit.nodes):
        operator, inputs = node.operator, [numbers[i] for i in node.inputs]
        if isinstance(operator, ops.Call):
            sets = tuple(is_set(builder.node(i).type) for i in inputs)
            operator = _optimized(operator, sets, frozenset(read[number]))
        numbers.append(builder.add(operator, *inputs))
    return builder.build()


@lru_cache(maxsize=4096)
def _optimized(call: ops.Call, sets: tuple[bool, ...], read: frozenset[str]) -> ops.Call:
    """The call of an optimized circuit with the sinks that are read, where its inputs are sets or not."""
    inner = CircuitBuilder()
    sources = [inner.add(replace(port, is_set=known)) for port, known in zip(call.ports, sets, strict=True)]
    whole = inner.add(call, *sources)
    for name in call.circuit.sinks:
        if name in read:
            inner.add(ops.Sink(name), inner.add(ops.BundleRelation(name), whole))
    return ops.Call(optimize.__wrapped__(inline(inner.build())))
