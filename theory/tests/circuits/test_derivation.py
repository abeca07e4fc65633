"""Typing derivations: a golden text, and that each rule is told where a circuit is built by it [DBSP §9.4]."""

from __future__ import annotations

import pytest

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic_theory.circuits.derivation import derivation
from tests.circuit.examples import naive_closure, unreachable
from tests.circuit.test_cycles import bracket, integral_by_a_cycle


@pytest.mark.law(
    "DBSP §9.4.1", "DBSP §9.4.2", "DBSP §9.4.3", "DBSP §9.4.4", "DBSP §9.4.5", "DBSP §9.4.6", "DBSP Thm 9.1"
)
def test_derivations(golden):
    circuits = {"an integral": integral_by_a_cycle(), "a late one": bracket(ops.Delay()), "a closure": naive_closure()}
    golden("circuit/derivations.txt", "\n\n".join(f"{name}\n{derivation(c)}" for name, c in circuits.items()))


def test_fixpoints_and_calls_show_what_is_inside():
    builder = CircuitBuilder()
    sources = [builder.add(op) for op in unreachable().operators if isinstance(op, ops.Source)]
    builder.add(ops.Call(unreachable()), *sources)
    text = derivation(builder.build())
    assert "§9.4.5 lifting       call : S set{x: int64, y: int64} × S set{x: int64} → S <path" in text
    assert "§9.4.3 bundling      ⟨%0, %1⟩ : ⟨S set{x: int64, y: int64}, S set{x: int64}⟩" in text
    assert "        body:\n" in text
    assert "§9.4.4 back-edge     feedback : SS set{x: int64, y: int64}" in text
