"""The rows of the calculus's derivative table, under the law checkers of the algebra.

The tables of a circuit together are an element of a group, finite maps from names to Z-sets, and so are its views. A
row is right when the incremental circuit is D ∘ Q ∘ I between these groups. Catches a wrong row, and a checker that
would let one through.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import strategies as st
from theory.tests.domains import zsets

from deltic.calculus import DERIVATIVES
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.oracle.interpreter import Interpreter, run
from deltic_theory.group_laws import check_group, check_incremental_operator, check_linear
from deltic_theory.groups import Z_SETS, FiniteMaps
from deltic_theory.law import LawViolation
from tests.calculus.mutations import MUTATIONS
from tests.calculus.test_derivatives import CASES, NAMED, streams
from tests.differential.circuits import random_epochs, sources_of

TABLES = FiniteMaps(Z_SETS)
ROWS = [pytest.param(c, id=name) for c, name in NAMED.items()]
LINEAR = [op for op, row in DERIVATIVES.items() if row.formula == "f(Δa)"]


def query(circuit):
    return lambda tables: nonzero(run(circuit, tables))


def operator(circuit):
    """The circuit on streams: a machine for each stream."""

    def over(stream):
        interpreter = Interpreter(circuit)
        return [nonzero(interpreter.step(epoch)) for epoch in stream]

    return over


def nonzero(views):
    return {name: rows for name, rows in views.items() if rows}


def check_row(circuit, examples):
    check_incremental_operator(
        operator(circuit), operator(push(surround(circuit))), TABLES, TABLES, examples, examples=15
    )


def test_tables_are_a_group():
    tables = st.fixed_dictionaries({}, optional={"x": zsets.filter(bool), "y": zsets.filter(bool)})
    check_group(TABLES, tables, examples=25)


@pytest.mark.law("DBSP Def 4.1", "DBSP Thm 4.4", "DBSP Thm 4.5", "DBSP Prop 6.12")
@pytest.mark.parametrize("circuit", ROWS)
def test_every_row_is_differentiate_after_query_after_integrate(circuit):
    check_row(circuit, streams(circuit))
    check_row(circuit, some_streams(circuit))


def bags(circuit):
    return not any(source.is_set for source in sources_of(circuit).values())


@pytest.mark.law("DBSP Thm 4.4")
@pytest.mark.parametrize("linear", [op for op in LINEAR if any(map(bags, CASES[op]))], ids=lambda op: op.keyword)
def test_rows_that_apply_the_operator_to_the_change_are_of_linear_operators(linear):
    for circuit in filter(bags, CASES[linear]):
        check_linear(
            query(circuit), TABLES, TABLES, streams(circuit).map(lambda epochs: nonzero(epochs[0])), examples=15
        )


@pytest.mark.law("DBSP Thm 4.5")
def test_joins_are_linear_in_each_table():
    circuit = CASES[ops.Join][1]
    fixed = {name: rows for name, rows in random_epochs(random.Random(3), circuit, 1)[0].items() if name == "y"}
    only_x = streams(circuit).map(lambda epochs: nonzero({"x": epochs[0]["x"]}))
    check_linear(lambda tables: query(circuit)({**tables, **fixed}), TABLES, TABLES, only_x, examples=25)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_wrong_rows_are_rejected(mutation, monkeypatch):
    monkeypatch.setitem(DERIVATIVES, mutation.operator, mutation.row())
    with pytest.raises(LawViolation, match="not incremental"):
        check_all(CASES[mutation.operator])


def check_all(circuits):
    for circuit in circuits:
        check_row(circuit, some_streams(circuit))


def some_streams(circuit):
    """Always the same streams of four epochs, bags with signed weights."""
    return [random_epochs(random.Random(seed), circuit, 4, signed=True) for seed in range(25)]
