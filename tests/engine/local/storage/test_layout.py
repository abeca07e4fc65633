"""Packing: every value comes back, the order of rows is the order of values, growth moves nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.circuit.types import Type
from deltic.engine.local.storage.arrangement import Arrangement
from deltic.engine.local.storage.codec import Interner, decode, encode
from deltic.engine.local.storage.layout import Domain, Layout
from deltic.engine.local.storage.run import Run, sort_order

INT64 = st.integers(-(2**63), 2**63 - 1)
SMALL_OR_HUGE = st.one_of(st.integers(-5, 300), INT64)


def domain_of(values: list[int]) -> Domain:
    domain = Domain(Type.INT64)
    for value in values:
        domain.include(value, value)
    return domain


@given(st.lists(SMALL_OR_HUGE, min_size=1, max_size=20))
def test_domain_round_trip_keeps_order(values: list[int]) -> None:
    domain = domain_of(values)
    assert all(domain.fits(v, v) for v in values)
    array = np.array(values, np.int64)
    raw = domain.encode(array)
    assert domain.decode(raw).tolist() == values
    assert np.argsort(raw, kind="stable").tolist() == np.argsort(array, kind="stable").tolist()


@given(st.lists(SMALL_OR_HUGE, min_size=2, max_size=20))
def test_ample_growth_keeps_room_for_all_and_for_more(values: list[int]) -> None:
    domain = domain_of(values[:1])
    for value in values[1:]:
        low, high = domain.range()
        if not low <= value <= high:
            domain.extend_amply(value, value)
            least, greatest = domain.range()
            beyond = value - 3 * (high - value) if value < low else value + 3 * (value - low)
            assert least <= max(beyond, -(2**63)) or value > high
            assert greatest >= min(beyond, 2**63 - 1) or value < low
    assert all(domain.fits(v, v) for v in values)
    assert domain.fits(*domain.range())


@given(st.lists(st.tuples(SMALL_OR_HUGE, SMALL_OR_HUGE, st.integers(0, 9)), min_size=1, max_size=30))
def test_packed_rows_sort_as_rows(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array(c, np.int64) for c in zip(*rows, strict=True)]
    domains = [domain_of(c.tolist()) for c in columns]
    layout = Layout.of(domains)
    words = layout.pack([d.encode(c) for d, c in zip(domains, columns, strict=True)], len(rows))
    unpacked = [d.decode(raw).tolist() for d, raw in zip(domains, layout.unpack(words), strict=True)]
    assert list(zip(*unpacked, strict=True)) == rows
    assert [rows[i] for i in sort_order(words)] == sorted(rows)


@given(st.lists(st.integers(-5, 300), min_size=1, max_size=20), st.lists(SMALL_OR_HUGE, min_size=1, max_size=5))
def test_relayout_keeps_rows_and_their_order(first: list[int], second: list[int]) -> None:
    domains = (domain_of(first), domain_of([0, 7]))
    arrangement = Arrangement((1, 0), domains)
    rows = sorted({(v % 8 if v >= 0 else 0, v) for v in first})
    raw = [d.encode(np.array([r[i] for r in rows], np.int64)) for i, d in ((0, domains[1]), (1, domains[0]))]
    arrangement.runs = (Run(arrangement.layout.pack(raw, len(rows))),)
    for value in second:
        domains[0].include(value, value)
    if arrangement.is_stale():
        arrangement.relayout()
    assert not arrangement.is_stale()
    (run,) = arrangement.runs
    one, two = arrangement.layout.unpack(run.words)
    assert list(zip(domains[1].decode(one).tolist(), domains[0].decode(two).tolist(), strict=True)) == rows
    assert sort_order(run.words).tolist() == list(range(len(rows)))


def test_spare_bits_leave_room_for_growth() -> None:
    """A relation of two small columns need not be packed anew until a column has outgrown half a word."""
    domains = [domain_of([0, 100]), domain_of([0, 100])]
    layout = Layout.of(domains)
    domains[0].include(0, 2**31)
    assert layout.words == 1
    assert layout.holds(domains)
    domains[0].include(0, 2**40)
    assert not layout.holds(domains)


VALUES = {
    Type.INT64: [0, -1, 2**63 - 1, -(2**63), 5],
    Type.UINT64: [0, 1, 2**63, 2**64 - 1],
    Type.FLOAT64: [0.0, -1.5, 1e300, -1e-300, float("inf"), float("-inf"), 2.5],
    Type.STRING: ["b", "", "a", "✓", "b"],
    Type.BOOLEAN: [True, False],
    Type.DATE: [0, 18000, -5],
    Type.TIMESTAMP_NTZ: [0, 10**15, -7],
}


@pytest.mark.parametrize("type_", list(VALUES))
def test_codec_round_trip(type_: Type) -> None:
    interner = Interner()
    column = (
        pa.array(VALUES[type_], type_.arrow)
        if type_ not in (Type.DATE, Type.TIMESTAMP_NTZ)
        else pa.array(VALUES[type_], pa.int32() if type_ is Type.DATE else pa.int64()).cast(type_.arrow)
    )
    values = encode(column, type_, interner)
    assert decode(values, type_, interner).equals(column)
    if type_ is not Type.STRING:
        plain = column.to_pylist()
        assert [plain[i] for i in np.argsort(values, kind="stable")] == sorted(plain)


def test_floats_that_sql_holds_equal_have_one_code() -> None:
    values = encode(pa.array([0.0, -0.0, float("nan"), -float("nan")]), Type.FLOAT64, Interner())
    assert values[0] == values[1]
    assert values[2] == values[3]


@given(st.lists(st.lists(st.text(max_size=3), max_size=8), max_size=8))
def test_interner_never_changes_an_id(batches: list[list[str]]) -> None:
    interner = Interner()
    seen: dict[str, int] = {}
    for batch in batches:
        ids = interner.encode(pa.array(batch, pa.string()))
        assert interner.decode(ids).to_pylist() == batch
        for text, number in zip(batch, ids.tolist(), strict=True):
            assert seen.setdefault(text, number) == number
    assert sorted(seen.values()) == list(range(len(interner)))
