"""What `explain` says of a circuit. Catches a step that claims to change nothing, and a fallback that is not named."""

from __future__ import annotations

import pytest

from deltic.calculus import DERIVATIVES
from deltic.calculus.passes import OPTIMIZATIONS, optimize
from deltic.calculus.report import bounded, operator_lines, recursion_lines, step_lines
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.reading import parse_circuit
from tests.calculus.passes.cases import CASES
from tests.calculus.test_derivatives import AB, circuit, closure, paths
from tests.circuit.examples import unreachable


def test_long_texts_are_cut_and_say_so():
    lines = [str(i) for i in range(10)]
    assert bounded(lines, 10) == lines
    assert bounded(lines, 4) == ["0", "1", "2", "… 7 more lines"]


@pytest.mark.parametrize("name", CASES)
def test_the_steps_name_the_passes_that_change_the_circuit(name):
    before = parse_circuit(CASES[name])
    text = "\n".join(step_lines(before))
    assert name.split()[0] in text
    assert all(line.strip() in text for line in str(optimize(before)).splitlines())
    assert set(text.split("by ")[1].split(";")[0].split(", ")) <= {p.__name__ for p in OPTIMIZATIONS}


def test_a_circuit_that_is_optimal():
    assert "1 optimize   changes nothing" in list(step_lines(closure()))
    assert "4 surround   I after %0, D before %3" in list(step_lines(closure()))


def test_every_row_says_why_and_at_what_cost():
    for row in DERIVATIVES.values():
        assert row.why
        assert row.keeps
        assert row.cost.value.startswith("O(")


def test_operators(golden):
    golden("calculus/operators.txt", "\n".join(operator_lines(unreachable())))


def test_what_falls_back_is_named(monkeypatch):
    assert list(operator_lines(closure()))[-1] == "recomputed from whole inputs: none"
    monkeypatch.delitem(DERIVATIVES, ops.Distinct)
    lines = list(operator_lines(closure()))
    assert lines[-1] == "recomputed from whole inputs: distinct %1/%6"
    assert any("O(state); keeps its inputs and its output" in line for line in lines)


def test_the_chain_of_a_recursive_view_is_of_bounded_length():
    lines = list(recursion_lines(unreachable(), most=10))
    assert len(lines) == 3 * 11
    assert sum(line.startswith("  … ") for line in lines) == 3
    assert list(recursion_lines(circuit(ops.Distinct(), "x"))) == []


def test_of_several_fixpoints_the_last_is_shown_and_the_others_are_named():
    builder = CircuitBuilder()
    edges = builder.add(ops.Source("s", AB))
    first = builder.add(ops.BundleRelation("p"), builder.add(ops.Fixpoint(paths()), edges))
    second = builder.add(ops.BundleRelation("p"), builder.add(ops.Fixpoint(paths()), first))
    builder.add(ops.Sink("v"), second)
    lines = list(recursion_lines(builder.build()))
    assert lines[0] == "naive, every iteration from all rows (%3: p):"
    assert lines[-1] == "the others likewise: %1: p"
