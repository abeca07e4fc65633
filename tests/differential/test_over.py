"""Window functions in the local engine against the reference interpreter, epoch by epoch.

Every function and kind of frame over rows of every type, with NULLs, many ties and weights above one. Catches a frame
that is off by a row, peers that are none, a stretch around a change that is too short, and rows that keep old values.
Each epoch is aborted once before it is applied.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

import pytest

from deltic.algebra import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.operators.over import NUMBERED, PICKS, RANKS, SHIFTS, session
from deltic.circuit.reading import parse_circuit
from deltic.errors import CircuitError
from deltic.values.types import Column, Kind, Schema, Type
from tests.differential.circuits import random_epochs, random_parts
from tests.differential.compare import ReferenceFailed, first_disagreement_on
from tests.differential.test_top import random_source

BATCHES, PER_BATCH = 6, 20
LOCAL = ("lag", "lead", "first_value", "last_value", "sum", "count", "min")
FUNCTIONS = (*RANKS, *SHIFTS, *PICKS, *PICKS, *ACCUMULATORS)  # before other tests add aggregates of a user's


def random_frame(rng, schema, order, bounded):
    """A frame that is well-formed, unless the order's type has no distances."""
    units = [ops.Unit.ROWS]
    if not bounded:
        units += [ops.Unit.RANGE] + [ops.Unit.GROUPS] * bool(order)
        units += [ops.Unit.MONTHS] * (len(order) == 1 and schema.types[order[0].column].kind is Kind.DATE)
    unit = rng.choice(units)
    distances = [-1000, -2, -1, 0, 0, 1, 2]
    if unit is ops.Unit.RANGE:
        type_ = schema.types[order[0].column] if len(order) == 1 else None
        fits = type_ is not None and (type_.is_numeric or type_.kind is Kind.DATE)
        distances = [0, *distances, *([Decimal("-1.5"), Decimal("0.1")] if type_.is_numeric else [])] if fits else [0]
    start, end = sorted(rng.choices(distances, k=2))
    if bounded:
        return ops.Frame(unit, start, end)
    return ops.Frame(unit, rng.choice((None, start)), rng.choice((None, end)))


def random_aggregate(rng, schema, function):
    """Columns and constants that the aggregate takes, if there are any."""
    accumulator = ACCUMULATORS[function]
    choices = [columns for n in (1, 2, 3) for columns in itertools.permutations(schema.names, n)]
    taken = [c for c in choices if accumulator.takes([schema.types[name] for name in c])]
    taken += [] if accumulator.needs_column else [()]
    columns = rng.choice(taken or [(rng.choice(schema.names),)])
    constants = [c for c in ((), (0.5,), (0.25, True), (True,), (",",)) if accumulator.accepts(c, len(columns))]
    return columns, rng.choice(constants or [()])


def random_call(rng, schema, order, name, bounded):
    """A call that is well-formed for most columns."""
    function = rng.choice(LOCAL if bounded else FUNCTIONS)
    columns, constants = (rng.choice(schema.names),), (rng.randint(1, 4),) if function in NUMBERED else ()
    if function in RANKS:
        columns = ()
    elif function in SHIFTS:
        columns += tuple(c for c in schema.names if schema.types[c] is schema.types[columns[0]])[: rng.randint(0, 1)]
    elif function in ACCUMULATORS:
        columns, constants = random_aggregate(rng, schema, function)
    framed = function not in (*RANKS, *SHIFTS)
    frame = random_frame(rng, schema, order, bounded) if framed else None
    ignores = not bounded and function in (*SHIFTS, *PICKS) and rng.random() < 0.4
    return ops.WindowCall(function, columns, name, constants, frame, ignores)


def random_over(rng):
    source = random_source(rng)
    keys, order = random_parts(rng, source.schema)
    bounded = rng.random() < 0.4
    calls = tuple(random_call(rng, source.schema, order, f"r{i}", bounded) for i in range(rng.randint(1, 3)))
    builder = CircuitBuilder()
    rows = builder.add(source)
    builder.add(ops.Sink("v"), builder.add(ops.Over(keys, order, calls), rows))
    return builder.build()


def check_seed(seed):
    """The functions that were tested; none where the circuit is not well-formed."""
    rng = random.Random(seed)
    try:
        circuit = random_over(rng)
    except CircuitError:
        return set()
    assert parse_circuit(str(circuit)) == circuit
    epochs = random_epochs(rng, circuit, 6)
    try:
        found = first_disagreement_on(circuit, [(epoch, "error") for epoch in epochs])
    except ReferenceFailed:  # a sum that does not fit into its type
        return set()
    assert found is None, f"seed {seed}\n{circuit}\n{epochs}\n{found}"
    (computed,) = (op for op in circuit.operators if isinstance(op, ops.Over))
    return {call.function for call in computed.calls}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_window_functions(batch):
    met = set()
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        met |= check_seed(seed)
    assert len(met) > len(LOCAL)


def random_sessions(rng):
    """Functions of sessions over dates that are a few days apart."""
    schema = Schema((Column("k", Type.INT32), Column("d", Type.DATE, rng.random() < 0.3), Column("x", Type.INT64)))
    order = (ops.Order("d", rng.random() < 0.3),)
    calls = [
        ops.WindowCall(function, (column,), f"r{i}", frame=session(rng.randint(0, 3)))
        for i, (function, column) in enumerate((("first_value", "d"), ("last_value", "d"), ("sum", "x")))
    ]
    builder = CircuitBuilder()
    rows = builder.add(ops.Source("s", schema, is_set=False))
    builder.add(ops.Sink("v"), builder.add(ops.Over(("k",), order, tuple(calls[: rng.randint(1, 3)])), rows))
    return builder.build()


def session_epochs(rng, days, count=8):
    """Changes of few rows among many days, so that sessions merge and split."""
    present = Counter()
    for _ in range(count):
        change = Counter(
            (rng.randint(0, 1), rng.choice(days), rng.randint(0, 2)) for _ in range(rng.choice((1, 2, 15)))
        )
        change.subtract(rng.sample(sorted(present.elements(), key=repr), min(present.total(), rng.randint(0, 3))))
        present = +Counter({row: present[row] + change[row] for row in {*present, *change}})
        yield {"s": ZSet({row: weight for row, weight in change.items() if weight})}


def check_sessions(seed):
    rng = random.Random(seed)
    circuit = random_sessions(rng)
    assert parse_circuit(str(circuit)) == circuit
    days = [date(2024, 1, 1) + timedelta(days=n) for n in rng.sample(range(60), 30)]
    epochs = list(session_epochs(rng, days + [None] * circuit.type_of(0).schema.columns[1].nullable))
    found = first_disagreement_on(circuit, [(epoch, "error") for epoch in epochs])
    assert found is None, f"seed {seed}\n{circuit}\n{epochs}\n{found}"


@pytest.mark.parametrize("batch", range(4))
def test_random_sessions(batch):
    for seed in range(batch * 10, (batch + 1) * 10):
        check_sessions(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_many_random_window_functions(batch):
    for seed in range(100_000 + batch * 100, 100_000 + (batch + 1) * 100):
        check_seed(seed)
