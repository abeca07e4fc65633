"""Time-driven windows as operators: units, missing timestamps, time that does not go back, errors and text."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime

import pytest

from deltic.algebra.zset import ZSet
from deltic.calculus import DERIVATIVES
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.reading import parse_circuit
from deltic.errors import CircuitError, ProgramError
from deltic.values.types import Column, Schema, Type
from tests.calculus.streams import check


def windowed(type_=Type.INT64, length=10, nullable=False):
    builder = CircuitBuilder()
    rows = builder.add(ops.Source("s", Schema((Column("ts", type_, nullable), Column("x", Type.INT64)))))
    clock = builder.add(ops.Source("clock", Schema((Column("now", type_, nullable),))))
    builder.add(ops.Sink("v"), builder.add(ops.Window("ts", length), rows, clock))
    return builder.build()


def shown(run, circuit, rows, *clocks):
    """The rows, one column of them, that the window shows at each of these times."""
    tables = {"s": ZSet.of((ts, 0) for ts in rows)}
    steps = run(circuit, [{**tables, "clock": ZSet.of((now,) for now in clock)} for clock in clocks])
    return [[ts for (ts, _), _ in step["v"].sorted_pairs()] for step in steps]


def test_the_window_moves_with_the_clock_and_not_back(run):
    rows = [0, 5, 10, 15, 99]
    every = [rows, rows, [5, 10, 15, 99], [5, 10, 15, 99], [99]]
    assert shown(run, windowed(), rows, [], [10], [3, 15], [1], [109]) == every


def test_rows_without_a_timestamp_and_clocks_without_a_time(run):
    circuit = windowed(nullable=True)
    assert shown(run, circuit, [None, 3, 40], [], [None], [None, 20]) == [[3, 40], [3, 40], [40]]


def test_dates_and_timestamps(run):
    days = [date(2026, 1, d) for d in (1, 15, 31)]
    assert shown(run, windowed(Type.DATE, 16), days, [days[-1]]) == [days[1:]]
    minutes = [datetime(2026, 1, 1, 12, m) for m in (0, 30, 59)]
    assert shown(run, windowed(Type.TIMESTAMP_NTZ, 29 * 60 * 1_000_000), minutes, [minutes[-1]]) == [minutes[1:]]


def test_windows_longer_than_all_time(run):
    assert shown(run, windowed(Type.DATE, 10**12), [date.min], [date.max]) == [[date.min]]


REFUSED = {
    r"needs a column ts of one of the types int64, uint64, date, timestamp": (Type.FLOAT64, Type.FLOAT64, 1),
    r"the clock, must have one column of the timestamps' type": (Type.INT64, Type.DATE, 1),
}


@pytest.mark.parametrize(("reason", "case"), REFUSED.items())
def test_refusals(reason, case):
    rows, clock, length = case
    builder = CircuitBuilder()
    inputs = [builder.add(ops.Source(n, Schema.of(**{n: t}))) for n, t in (("ts", rows), ("now", clock))]
    with pytest.raises(CircuitError, match=reason):
        builder.add(ops.Window("ts", length), *inputs)


def test_windows_stand_outside_of_loops():
    builder = CircuitBuilder(1)
    feedback = builder.add(ops.Feedback("p", Schema.of(ts=Type.INT64)))
    with pytest.raises(CircuitError, match="stands outside of every circuit with iterations"):
        builder.add(ops.Window("ts", 1), feedback, feedback)


def test_text():
    assert parse_circuit(str(windowed())) == windowed()
    with pytest.raises(ProgramError, match=r"window takes \[column, length\]"):
        parse_circuit(str(windowed()).replace("ts, 10", "ts"))


def without_memory(op, node, views):
    return views.builder.add(op, *map(views.delta, node.inputs))


def of_yesterday(op, node, views):
    rows, clock = node.inputs
    before = views.builder.add(ops.Delay(), views.new(clock))
    return views.builder.add(ops.Differentiate(), views.builder.add(op, views.new(rows), before))


@pytest.mark.parametrize("wrong", [without_memory, of_yesterday], ids=lambda rule: rule.__name__)
def test_wrong_derivatives_are_found(wrong, monkeypatch):
    monkeypatch.setitem(DERIVATIVES, ops.Window, replace(DERIVATIVES[ops.Window], rule=wrong))
    epochs = [{"s": ZSet.of([(now, 0)]), "clock": ZSet.of([(now,)])} for now in (0, 5, 20)]
    with pytest.raises(AssertionError):
        check(windowed(), epochs)
