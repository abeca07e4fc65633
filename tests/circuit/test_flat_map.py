"""Flatmap: its generators against DuckDB's functions of those names, its errors and its text."""

from __future__ import annotations

import itertools

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.circuit.generators import GENERATORS, generate
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import run
from deltic.circuit.reading import parse_circuit
from deltic.errors import CircuitError, ProgramError
from deltic.values.types import Column, Schema, Type

S = ops.Source("s", Schema.of(x=Type.INT64, y=Type.INT64, t=Type.STRING), is_set=True)
VALUES = {Type.INT64: st.integers(-9, 9), Type.STRING: st.text("a,b", max_size=5)}


def expanded(operator):
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(operator, builder.add(S)))
    return builder.build()


def spans(*expressions):
    return ops.FlatMap("z", "range", expressions)


@pytest.mark.parametrize(
    ("name", "takes"), [(n, takes) for n, g in GENERATORS.items() for takes in g.takes if VALUES.keys() >= set(takes)]
)
@given(data=st.data())
def test_generators_are_functions_of_duckdb(name, takes, data):
    arguments = data.draw(st.tuples(*(VALUES[t] for t in takes)))
    if name == "range" and arguments[2:] == (0,):
        assert list(generate(name, arguments)) == []  # an error in DuckDB
        return
    parameters = ", ".join(f"CAST(? AS {'BIGINT' if t is Type.INT64 else 'VARCHAR'})" for t in takes)
    ((wanted,),) = duckdb.execute(f"SELECT {name}({parameters})", list(arguments)).fetchall()
    assert list(generate(name, arguments)) == wanted
    assert not GENERATORS[name].yields_sets or len(set(wanted)) == len(wanted)


@given(st.integers(0, 20), st.integers(0, 20), st.sampled_from([None, 0, 1, 2, 3, 5]))
def test_ranges_of_other_numbers_are_those_of_integers(start, stop, step):
    """Without a step they go down, too; floats that are whole are exact."""
    given_step = () if step is None else (step,)
    by = step if step is not None else 1 if start <= stop else -1
    wanted = list(range(start, stop, by)) if by else [start] * (start != stop)
    assert list(generate("range_unsigned", (start, stop, *given_step))) == wanted
    assert list(generate("range_float", tuple(map(float, (start, stop, *given_step))))) == wanted


def test_ranges_of_floats_that_would_not_end_are_empty():
    for arguments in [(0.0, float("inf")), (float("nan"), 1.0), (1e300, 2e300, 1.0), (0.0, 1e300, 1.0)]:
        assert list(generate("range_float", arguments)) == []


def test_each_float_of_a_range_is_the_one_before_and_the_step():
    assert list(generate("range_float", (0.0, 0.9, 0.1))) == list(itertools.accumulate([0.1] * 9, initial=0.0))


@pytest.mark.parametrize(("name", "takes"), [(n, takes) for n, g in GENERATORS.items() for takes in g.takes])
def test_null_yields_nothing(name, takes):
    assert list(generate(name, [None] * len(takes))) == []


@pytest.mark.law("DBSP Prop 8.1", "DBSP Prop 11.1")
def test_each_row_once_for_every_value():
    rows = ZSet({(1, 3, "a"): 1, (2, 2, "b"): 1, (0, 1, "b"): 2})
    assert run(expanded(spans(column("x"), column("y"))), {"s": rows})["v"] == ZSet(
        {(1, 3, "a", 1): 1, (1, 3, "a", 2): 1, (0, 1, "b", 0): 2}
    )
    split = ops.FlatMap("z", "string_split", (column("t"), literal("b", Type.STRING)))
    assert run(expanded(split), {"s": ZSet({(1, 1, "bb"): 1})})["v"] == ZSet({(1, 1, "bb", ""): 3})


def test_values_of_a_set_that_repeat_make_a_bag():
    def type_of(operator):
        return expanded(operator).nodes[1].type

    assert type_of(spans(column("x"), column("y"))).is_set
    assert not type_of(ops.FlatMap("z", "string_split", (column("t"), column("t")))).is_set
    assert type_of(spans(column("x"), column("y"))).schema.columns[-1] == Column("z", Type.INT64)


REFUSED = {
    "there is no generator walk; there are range, range_unsigned, range_float": ops.FlatMap("z", "walk", ()),
    "column w of w is not in its input": spans(column("w"), column("x")),
    r"range takes \(int64, int64\) or \(int64, int64, int64\), not \(int64, string\)": spans(column("x"), column("t")),
    "column y is in its input already; take another name": ops.FlatMap("y", "range", (column("x"), column("y"))),
}


@pytest.mark.parametrize(("reason", "operator"), REFUSED.items())
def test_refusals(reason, operator):
    with pytest.raises(CircuitError, match=reason):
        expanded(operator)


@pytest.mark.parametrize(
    "operator",
    [
        spans(column("x"), exp.Add(this=column("y"), expression=literal(1, Type.INT64))),
        spans(column("x"), literal(-1, Type.INT64), exp.Least(this=column("x"), expressions=[column("y")])),
        ops.FlatMap("z", "string_split", (column("t"), literal(") AS z], (", Type.STRING))),
    ],
    ids=lambda op: op.arguments(),
)
def test_text(operator):
    circuit = expanded(operator)
    assert parse_circuit(str(circuit)) == circuit


@pytest.mark.parametrize("arguments", ["range(x, y)", "x AS z", "range(x, y) AS", ""])
def test_text_that_cannot_be_read(arguments):
    text = str(expanded(spans(column("x"), column("y")))).replace("range(x, y) AS z", arguments)
    with pytest.raises(ProgramError, match=r"flat_map takes \[generator\(\.\.\.\) AS column\]"):
        parse_circuit(text)
