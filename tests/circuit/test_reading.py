"""The text form read back: the same circuit, or an error that points at the place.

Random circuits catch an operator or type whose text says less than it holds; the texts in `ERRORS` catch a reader that
accepts what the builder would refuse, or that points elsewhere.
"""

from __future__ import annotations

import random

import pytest
from sqlglot import exp

from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.expressions import cast, column, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.reading import parse_circuit
from deltic.circuit.reading.scalars import read_expression
from deltic.errors import ProgramError
from deltic.functions import call
from deltic.values.types import Column, Schema, Type
from tests.circuit.examples import arithmetic, closure_body, unreachable
from tests.differential.circuits import Shape, random_circuit


def check(circuit):
    assert parse_circuit(str(circuit), depth=circuit.depth) == circuit


@pytest.mark.parametrize("batch", range(5))
def test_random_circuits(batch):
    for seed in range(batch * 30, (batch + 1) * 30):
        circuit = random_circuit(random.Random(seed), Shape(signed=seed % 2 == 0))
        check(circuit)
        check(incrementalize(circuit))


@pytest.mark.parametrize("example", [unreachable, arithmetic, closure_body], ids=lambda f: f.__name__)
def test_examples(example):
    text = str(example())
    assert str(parse_circuit(text, depth=example().depth)) == text


X, Y = column("x"), column("y")
EXPRESSIONS = {
    "precedence": exp.Mul(this=exp.Add(this=X, expression=Y), expression=exp.Neg(this=X)),
    "to the right": exp.Sub(this=X, expression=exp.Sub(this=Y, expression=X)),
    "integer division": exp.IntDiv(this=X, expression=exp.Mod(this=X, expression=Y)),
    "bits": exp.BitwiseAnd(this=X, expression=exp.BitwiseOr(this=exp.BitwiseNot(this=X), expression=Y)),
    "shift": exp.BitwiseLeftShift(this=X, expression=literal(2, Type.INT64)),
    "power": exp.Pow(this=X, expression=exp.BitwiseXor(this=X, expression=Y)),
    "length": cast(call("length", cast(X, Type.STRING)), Type.INT64),
    "least": exp.Least(this=X, expressions=[exp.Greatest(this=Y, expressions=[X]), literal(-7, Type.INT64)]),
    "position": cast(call("instr", literal("a,(b'", Type.STRING), literal(",", Type.STRING)), Type.INT64),
    "keyword": exp.Add(this=column("from"), expression=column("end")),
}


def test_texts_joined_measured_and_cut_are_calls():
    text = literal("abc", Type.STRING)
    joined = call("concat", text, column("s"))
    assert read_expression("'abc' || s", ["s"]) == joined
    assert read_expression("LENGTH('abc')", []) == cast(call("length", text), Type.INT64)
    cut = call("substring", text, *(cast(exp.Literal.number(n), Type.INT32) for n in (2, 1)))
    assert read_expression("SUBSTRING('abc', 2, 1)", []) == cut


@pytest.mark.parametrize("tree", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions(tree):
    builder = CircuitBuilder()
    names = {"x": "x", "y": "y", "from": "from", "end": "end", "interval": "date"}
    source = builder.add(
        ops.Source("s", Schema(tuple(Column(n, Type.INT64) for n in ("x", "y", "from", "end", "date"))))
    )
    columns = tuple(Column(name, Type.INT64) for name in ("r", *names))
    mapped = builder.add(ops.Map(columns, (tree, *map(column, names.values())), partial=True), source)
    is_small = exp.Not(this=exp.Is(this=exp.LT(this=X, expression=Y), expression=exp.Null()))
    either = exp.And(this=is_small, expression=exp.Or(this=exp.EQ(this=X, expression=Y), expression=is_small.copy()))
    builder.add(ops.Sink("v"), builder.add(ops.Filter(either), mapped))
    check(builder.build())


def test_constants():
    schema = Schema((Column("t", Type.STRING), Column("f", Type.FLOAT64), Column("n", Type.INT64, nullable=True)))
    rows = (("it's", float("-inf"), None), ('"}', 0.1, -3), ("\\)\n", 1e300, 0))
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(ops.Constant(schema, rows)))
    builder.add(ops.Sink("one"), builder.add(ops.Constant(Schema.of(x=Type.INT64), ((1,), (2,)))))
    builder.add(ops.Sink("some"), builder.add(ops.Constant(Schema(()), ((),))))
    builder.add(ops.Sink("none"), builder.add(ops.Constant(Schema(()), ())))
    check(builder.build())


def test_indentation_has_no_meaning():
    text = str(unreachable())
    assert parse_circuit("\n".join(line.strip() for line in text.splitlines())) == parse_circuit(text)


SOURCE = "%0 = source s : set{x: int64, y: int64}\n"
ERRORS = {
    "operator": SOURCE + "%1 = distinc (%0) : set{x: int64, y: int64}",
    "numbering": SOURCE + "%2 = distinct (%0) : set{x: int64, y: int64}",
    "later node": SOURCE + "%1 = distinct (%1) : set{x: int64, y: int64}",
    "same node": SOURCE + SOURCE.replace("%0", "%1"),
    "declared type": SOURCE + "%1 = negate (%0) : set{x: int64, y: int64}",
    "column type": "%0 = source s : set{x: int46}",
    "kind of edge": "%0 = source s : zest{x: int64}",
    "column twice": "%0 = source s : set{x: int64, x: int64}",
    "unknown column": SOURCE + "%1 = filter [z = 1] (%0) : set{x: int64, y: int64}",
    "not boolean": SOURCE + "%1 = filter [x + y] (%0) : set{x: int64, y: int64}",
    "not an expression": SOURCE + "%1 = filter [x = ] (%0) : set{x: int64, y: int64}",
    "another text": SOURCE + "%1 = filter [x  =  1] (%0) : set{x: int64, y: int64}",
    "missing AS": SOURCE + "%1 = map [x + y] (%0) : zset{z: int64}",
    "too few expressions": SOURCE + "%1 = map [x] (%0) : zset{x: int64, y: int64}",
    "no name": "%0 = source : set{x: int64}",
    "arguments": SOURCE + "%1 = distinct it (%0) : set{x: int64, y: int64}",
    "rows": "%0 = constant {(1, x)} : set{x: int64, y: int64}",
    "no body": SOURCE + "%1 = fixpoint (%0) : <p: set{x: int64}>",
    "set needed": SOURCE.replace("set", "zset") + "%1 = antijoin (%0, %0) : zset{x: int64, y: int64}",
    "syntax": SOURCE + "%1 = distinct (%0 : set{x: int64}",
    "character": SOURCE + "%1 = distinct (%0) ! set{x: int64}",
    "end": "%0 = source s :\n",
}


def test_errors(golden):
    """Each finding has a line, a column and a caret under the place."""
    reports = []
    for name, text in ERRORS.items():
        with pytest.raises(ProgramError) as raised:
            parse_circuit(text, "it.circuit")
        assert raised.value.diagnostics[0].line
        reports.append(f"== {name}\n{raised.value}")
    golden("circuit/reading-errors.txt", "\n\n".join(reports))
