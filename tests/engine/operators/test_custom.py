"""Operators of a user's own, and operators without a derivative, in the local engine.

Catches a fallback that forgets what it gave before, a derivative that gets the wrong values, a state that goes on from
a change that was taken back, and an error that leaves something behind. The oracle is the reference engine, which
computes everything anew.
"""

from __future__ import annotations

import random

import pyarrow.compute as pc
import pytest

import deltic
from deltic import ZSet
from deltic.circuit import CircuitBuilder
from deltic.circuit import operators as ops
from deltic.circuit.operators.custom import Apply, Maintain
from deltic.circuit.reading import parse_circuit
from deltic.engine.engine import IncrementalEngine
from deltic.errors import CatalogError, CircuitError, DelticError, EvaluationError, ProgramError, UnsupportedError

POINT = {"id": "int64", "x": "float64?"}
SIDES = {"takes": [POINT, POINT], "gives": {"a": "int64", "b": "int64"}}


def close(points, others):
    pairs = [((a, b), v * w) for (a, x), v in points for (b, y), w in others if None not in (x, y) and abs(x - y) < 1]
    return ZSet(pairs)


def change_of_close(points, others):
    return close(points.delta, others.old) + close(points.new, others.delta)


class Cells:
    """The rows of each side by their cells of length one."""

    def __init__(self):
        self.cells = {}, {}

    def update(self, points, others):
        met = self._met(points, 1, close)
        self._add(points, 0)
        met += self._met(others, 0, lambda mine, theirs: close(theirs, mine))
        self._add(others, 1)
        return met

    def _met(self, delta, other, meet):
        cells = self.cells[other]
        pairs = [(ZSet({row: w}), cell) for row, w in delta if row[1] is not None for cell in around(row[1])]
        return sum((meet(row, cells[cell]) for row, cell in pairs if cell in cells), ZSet())

    def _add(self, delta, side):
        cells = self.cells[side]
        for row, w in delta:
            if row[1] is not None:
                cell = around(row[1])[1]
                cells[cell] = cells.get(cell, ZSet()) + ZSet({row: w})


def around(x):
    return [int(x // 1) + step for step in (-1, 0, 1)]


def positive(rows):
    return rows.filter(pc.greater(rows["x"], 0))


def kinds():
    return {
        "anew": deltic.operator(close, name="anew", **SIDES),
        "derived": deltic.operator(close, name="derived", derivative=change_of_close, **SIDES),
        "stateful": deltic.operator(close, name="stateful", state=Cells, **SIDES),
        "arrow": deltic.operator(positive, name="arrow", takes=[POINT], gives=POINT, vectorized=True),
        "linear": deltic.operator(
            positive,
            name="linear",
            takes=[POINT],
            gives=POINT,
            vectorized=True,
            derivative=lambda rows: positive(rows.delta),
        ),
    }


def circuit_of(custom, name, tables):
    builder = CircuitBuilder()
    inputs = [builder.add(op) for op in tables[: len(custom.takes)]]
    made = builder.add((Maintain if custom.is_maintained else Apply)(custom.entry), *inputs)
    builder.add(ops.Sink(name), made)
    return builder.build()


def pipeline_of(engine, bag, **options):
    pipeline = deltic.Pipeline(engine=engine, **options)
    for table in ("p", "q"):
        pipeline.table(table, POINT, bag=bag)
    tables = [ops.Source(t, pipeline.catalog.tables[t].schema, not bag) for t in ("p", "q")]
    for name, custom in kinds().items():
        pipeline.view(name, circuit_of(custom, name, tables))
    return pipeline


def row(rng):
    return rng.randrange(8), rng.choice((None, *(x / 2 for x in range(-8, 8))))


@pytest.mark.parametrize("bag", [False, True])
def test_every_kind_is_what_the_reference_computes(bag, tmp_path):
    rng = random.Random(5 + bag)
    lenient = deltic.Transactions(conflicts="normalize")
    mine = pipeline_of("local", bag, state=tmp_path / "s", transactions=lenient)
    slow = pipeline_of("reference", bag, transactions=lenient)
    for epoch in range(12):
        insert = {t: [row(rng) for _ in range(rng.randrange(4))] for t in ("p", "q")}
        delete = {
            t: rng.sample(sorted(slow[t], key=repr), min(len(list(slow[t])), rng.randrange(3))) for t in ("p", "q")
        }
        if epoch % 4 == 3:  # what a change would do leaves nothing behind
            with mine.transaction() as change:
                change.insert("p", [(99, 1.0), (98, 0.5)])
                assert change.preview().of("linear")
                change.discard()
        found = []
        for pipeline in (mine, slow):
            with pipeline.transaction() as change:
                for t in ("p", "q"):
                    change.insert(t, insert[t])
                    change.delete(t, delete[t])
            found.append({v: sorted(change.of(v), key=repr) for v in kinds()})
        assert found[0] == found[1]
        assert {v: sorted(mine[v], key=repr) for v in kinds()} == {v: sorted(slow[v], key=repr) for v in kinds()}
        if epoch == 7:
            mine.close()
            mine = deltic.Pipeline(engine="local", state=tmp_path / "s", transactions=lenient)


def test_a_change_of_the_derivative_is_another_operator():
    one, other = (deltic.operator(close, name="c", derivative=d, **SIDES) for d in (change_of_close, lambda p, q: 0))
    assert one.entry != other.entry
    assert deltic.operator(close, name="c", derivative=change_of_close, **SIDES).entry == one.entry


def test_an_error_rejects_the_epoch_and_names_view_and_operator():
    def inverse(rows):
        return {(k, 12 / x): w for (k, x), w in rows}

    pipeline = deltic.Pipeline()
    pipeline.table("p", {"id": "int64", "x": "float64"})
    custom = deltic.operator(inverse, takes=[{"id": int, "x": float}], gives={"id": int, "x": float})
    pipeline.view("v", circuit_of(custom, "v", [ops.Source("p", pipeline.catalog.tables["p"].schema)]))
    pipeline.view("w", circuit_of(custom, "w", [ops.Source("p", pipeline.catalog.tables["p"].schema)]))
    with pipeline.transaction() as change:
        change.insert("p", [(1, 2.0)])
    message = "v: operator inverse raised ZeroDivisionError: float division by zero; the epoch was rejected"
    with pytest.raises(EvaluationError, match=message), pipeline.transaction() as change:
        change.insert("p", [(2, 0.0)])
    assert sorted(pipeline["v"]) == [(1, 6.0)]


WRONG = {
    "no row": (lambda rows: [(1,)], r"the row \(1,\), and rows are tuples of 2 values"),
    "no weight": (lambda rows: {(1, 2): 0.5}, "the weight 0.5, and weights are integers"),
    "another type": (lambda rows: [("a", 2.0)], "raised ArrowInvalid|raised ArrowTypeError|raised TypeError"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_result_that_is_none(case, engine):
    body, message = WRONG[case]
    pipeline = deltic.Pipeline(engine=engine)
    pipeline.table("p", POINT)
    custom = deltic.operator(lambda rows: body(rows) if rows else [], name="wrong", takes=[POINT], gives=POINT)
    pipeline.view("v", circuit_of(custom, "v", [ops.Source("p", pipeline.catalog.tables["p"].schema)]))
    with pytest.raises(EvaluationError, match=message), pipeline.transaction() as change:
        change.insert("p", [(1, 2.0)])


def test_the_report_tells_what_was_computed_anew():
    pipeline = pipeline_of("local", bag=False)
    with pipeline.transaction() as change:
        change.insert("p", [(n, float(n)) for n in range(100)])
    with pipeline.transaction() as change:
        change.insert("q", [(1, 1.0)])
    fields = {c.relations: (c.action, c.reason, c.rows_in) for c in change.report.components}
    assert fields == {("anew",): ("recompute", "anew has no derivative", 1)}
    (component,) = change.report.components
    assert (component.rows_visited, component.rows_out) == (100 + 1 + 1, 1)


def test_strict_refuses_what_has_no_derivative():
    pipeline = deltic.Pipeline(maintenance=deltic.Maintenance(refresh="incremental strict"))
    pipeline.table("p", POINT)
    pipeline.table("q", POINT)
    tables = [ops.Source(t, pipeline.catalog.tables[t].schema) for t in ("p", "q")]
    made = kinds()
    for name in ("derived", "stateful"):
        pipeline.view(name, circuit_of(made[name], name, tables))
    with pytest.raises(UnsupportedError, match="operator anew has no derivative"):
        pipeline.view("anew", circuit_of(made["anew"], "anew", tables))
    assert "anew" not in pipeline


REFUSED = {
    "no columns": ({"takes": [], "gives": POINT}, "takes has the columns of each input"),
    "one mapping": ({"takes": POINT, "gives": POINT}, "takes has the columns of each input"),
    "no type": ({"takes": [{"x": "long"}], "gives": POINT}, "there is no type 'long'"),
    "both": ({"takes": [POINT], "gives": POINT, "derivative": len, "state": dict}, "not both"),
    "no name": ({"takes": [POINT], "gives": POINT, "name": "a b"}, "give it a name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    given, message = REFUSED[case]
    with pytest.raises(CatalogError, match=message):
        deltic.operator(close, **given)


def test_inputs_of_other_columns_are_refused():
    builder = CircuitBuilder()
    source = builder.add(ops.Source("t", deltic.Pipeline().table("t", {"s": str}) and kinds()["arrow"].gives))
    with pytest.raises(CircuitError, match="takes zset"):
        builder.add(Apply(kinds()["anew"].entry), source)
    with pytest.raises(ProgramError, match="there is no operator nobody: make it by"):
        parse_circuit("%0 = source t : set{x: int64}\n%1 = apply nobody__12 (%0) : zset{x: int64}")


def test_the_law_check():
    made = kinds()
    for name in ("derived", "stateful", "linear"):
        deltic.check_derivative(made[name], examples=20)
    wrong = deltic.operator(close, name="wrong", derivative=lambda p, q: close(p.delta, q.old), **SIDES)
    with pytest.raises(AssertionError, match="is not f") as caught:
        deltic.check_derivative(wrong, examples=20)
    _, _, a, delta, *_ = str(caught.value).splitlines()
    names = {"ZSet": ZSet}
    exec(f"{a}\n{delta}", names)
    values, changes = names["a"], names["delta"]
    after = [x + d for x, d in zip(values, changes, strict=True)]
    assert wrong.value(values) + wrong.change(values, changes) != wrong.value(after)
    with pytest.raises(DelticError, match="nothing to test"):
        deltic.check_derivative(made["anew"])


def test_an_engine_alone():
    """Without planning, and with an operator that reads one relation twice."""
    schema = kinds()["anew"].takes[0]
    builder = CircuitBuilder()
    source = builder.add(ops.Source("p", schema))
    builder.add(ops.Sink("v"), builder.add(Apply(kinds()["anew"].entry), source, source))
    engine = IncrementalEngine(builder.build())
    assert "anew by f(a ⊕ Δa) ⊖ f(a), for it has no derivative" in engine.explain("v")
