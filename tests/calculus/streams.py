"""Q^Δ against its definition D ∘ Q ∘ I [DBSP Def. 4.1], on streams of changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from deltic.algebra.zset import ZSet
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit.graph import Circuit
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.circuit.oracle.pointwise import Rows
from tests.differential.circuits import integrals

Epoch = Mapping[str, Rows]


def differences(circuit: Circuit, epochs: Sequence[Epoch]) -> list[dict[str, Rows]]:
    """D ∘ ↑Q ∘ I: the views' changes by recomputation."""
    query = Interpreter(circuit)
    views = [{name: ZSet() for name in circuit.sinks}, *(query.step(tables) for tables in integrals(epochs))]
    return [{n: new[n] - old[n] for n in new} for old, new in pairwise(views)]


def increments(
    circuit: Circuit, epochs: Sequence[Epoch], interpreter: Callable[[Circuit], Interpreter] = Interpreter
) -> list[dict[str, Rows]]:
    """Q^Δ: the views' changes by the derivative table, of the circuit as it is."""
    machine = interpreter(push(surround(circuit)))
    return [machine.step(epoch) for epoch in epochs]


def in_one_step(epochs: Sequence[Epoch]) -> list[dict[str, Rows]]:
    """The same changes as a single epoch."""
    return [list(integrals(epochs))[-1]] if epochs else []


def check(
    circuit: Circuit, epochs: Sequence[Epoch], interpreter: Callable[[Circuit], Interpreter] = Interpreter
) -> None:
    """Q^Δ equals its definition, in many small steps and in one big step."""
    for stream in (epochs, in_one_step(epochs)):
        assert increments(circuit, stream, interpreter) == differences(circuit, stream), f"{circuit}\n{stream}"
