"""The optimization passes, in order: rewrites of circuits that make their incremental form cheaper.

Each preserves the values of all sinks for all values of the tables. `incrementalize` applies them before it takes
derivatives.
"""

from __future__ import annotations

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
from deltic.calculus.passes.keep_groups import keep_groups
from deltic.calculus.passes.keep_selected import keep_selected
from deltic.calculus.passes.limit_ranks import limit_ranks
from deltic.calculus.passes.number_first import number_first
from deltic.calculus.passes.project_early import project_early
from deltic.calculus.passes.push_filters import push_filters
from deltic.calculus.passes.rewriting import Pass, is_set
from deltic.calculus.passes.share_sums import share_sums
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.inlining import inline

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
    number_first,
    project_early,
    fuse_maps,
    keep_groups,
    keep_selected,
)

# Operators that no pass rewrites.
_PLAIN = (ops.Source, ops.Call, ops.BundleRelation, ops.Sink, ops.Keep)


@lru_cache(maxsize=4)
def optimize(circuit: Circuit) -> Circuit:
    """Apply all passes repeatedly until none changes the circuit; its sinks keep their values.

    A called circuit is optimized alone, and once; `inline` replaces the call later. So the form of a definition depends
    only on what it reads. The last few results are cached, because a catalog's circuit is optimized both for demand and
    for incrementalization.
    """
    circuit = _with_optimized_calls(circuit)
    rewrites, unchanged = cycle(OPTIMIZATIONS), 0
    while unchanged < len(OPTIMIZATIONS) and not is_composed(circuit):
        result = next(rewrites)(circuit)
        circuit, unchanged = result, unchanged + 1 if result == circuit else 0
    return circuit


def is_composed(circuit: Circuit) -> bool:
    """Return whether all operators are such that no pass rewrites them, such as calls and their components."""
    return all(isinstance(operator, _PLAIN) for operator in circuit.operators)


def _with_optimized_calls(circuit: Circuit) -> Circuit:
    """Return the circuit with each called circuit optimized and reduced to the components that are read."""
    read = circuit.components_read
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
    """The call of an optimized circuit with the sinks that are read; `sets` says which inputs are sets."""
    inner = CircuitBuilder()
    sources = [inner.add(replace(port, is_set=known)) for port, known in zip(call.ports, sets, strict=True)]
    whole = inner.add(call, *sources)
    for name in call.circuit.sinks:
        if name in read:
            inner.add(ops.Sink(name), inner.add(ops.BundleRelation(name), whole))
    return ops.Call(optimize.__wrapped__(inline(inner.build())))
