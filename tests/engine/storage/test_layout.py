"""Packing: every value comes back, the order of rows is the order of values, growth moves nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.columns import Domain, DomainOverflow, placed
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import Run, sort_order
from deltic.engine.storage.texts import Texts
from deltic.values.types import Type

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
            domain.extend_amply(value, value, 1)
            least, greatest = domain.range()
            beyond = value - 15 * (high - value) if value < low else value + 15 * (value - low)
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


@given(st.lists(st.lists(st.text(max_size=3), max_size=8), max_size=8))
def test_interner_never_changes_an_id(batches: list[list[str]]) -> None:
    interner = Texts(Type.STRING)
    seen: dict[str, int] = {}
    for batch in batches:
        ids = interner.encode(pa.array(batch, pa.string()))
        assert interner.decode(ids).to_pylist() == batch
        for text, number in zip(batch, ids.tolist(), strict=True):
            assert seen.setdefault(text, number) == number
    assert sorted(seen.values()) == list(range(len(interner)))


OR_NULL = st.one_of(st.none(), st.sampled_from([-(2**63), 2**63 - 1, 0, -1]), SMALL_OR_HUGE)


def nullable_domain() -> Domain:
    domain = Domain(Type.INT64)
    domain.admit_null()
    return domain


def with_nulls(values: list[int | None]) -> tuple[np.ndarray, np.ndarray]:
    """The values and where they are NULL."""
    return np.array([v or 0 for v in values], np.int64), np.array([v is None for v in values], bool)


def without_nulls(domain: Domain, raw: np.ndarray) -> list[int | None]:
    """The values of offsets, None for NULL."""
    nulls = domain.nulls(raw)
    assert nulls is not None
    return [None if null else v for v, null in zip(domain.decode(raw).tolist(), nulls.tolist(), strict=True)]


@given(st.lists(OR_NULL, max_size=12))
def test_null_is_the_least_offset_and_every_value_comes_back(values: list[int | None]) -> None:
    domain = nullable_domain()
    array, nulls = with_nulls(values)
    domain.admit(array[~nulls])
    (column,) = placed([domain], [(array, nulls)])
    raw = domain.encode(*column)
    assert without_nulls(domain, raw) == values
    assert (raw[nulls] == 0).all()
    there = [v for v in values if v is not None]
    assert domain.is_turned <= (min(there, default=0) < -(2**62) and max(there, default=0) > 2**62)
    if not domain.is_turned:
        assert raw[~nulls].argsort(kind="stable").tolist() == array[~nulls].argsort(kind="stable").tolist()


@given(st.lists(st.one_of(st.sampled_from([-(2**63), 2**63 - 1]), SMALL_OR_HUGE), min_size=1, max_size=8))
def test_a_domain_becomes_nullable_with_rows_in_it(values: list[int]) -> None:
    domain = domain_of(values)
    arrangement = Arrangement((0,), (domain,))
    array = np.array(sorted(set(values)), np.int64)
    arrangement.runs = (Run(arrangement.layout.pack([domain.encode(array)], len(array))),)
    domain.admit_null()
    assert arrangement.is_stale()
    arrangement.relayout()
    (raw,) = arrangement.layout.unpack(arrangement.runs[0].words)
    assert sorted(v for v in without_nulls(domain, raw) if v is not None) == array.tolist()
    assert domain.is_turned or without_nulls(domain, raw) == array.tolist()


@given(st.lists(OR_NULL, min_size=1, max_size=8), st.lists(SMALL_OR_HUGE, max_size=4))
def test_growth_of_a_nullable_domain_keeps_rows_sorted(first: list[int | None], second: list[int]) -> None:
    domain = nullable_domain()
    array, nulls = with_nulls(list(dict.fromkeys(first)))
    domain.admit(array[~nulls])
    arrangement = Arrangement((0,), (domain,))
    words = arrangement.layout.pack([domain.encode(array, nulls)], len(array))
    arrangement.runs = (Run(words[:, sort_order(words)]),)
    for value in second:
        domain.admit(np.array([value], np.int64))
    if arrangement.is_stale():
        arrangement.relayout()
    (run,) = arrangement.runs
    (raw,) = arrangement.layout.unpack(run.words)
    assert set(without_nulls(domain, raw)) == set(first)
    assert (np.diff(run.words[0].astype(object)) > 0).all()


def test_all_values_and_null_have_offsets_beside_one_that_nobody_holds() -> None:
    domain = nullable_domain()
    extremes = np.array([-(2**63), 2**63 - 1], np.int64)
    domain.admit(extremes)
    assert domain.is_turned
    missing, arrangement = domain.base, Arrangement((0,), (domain,))
    with pytest.raises(DomainOverflow) as overflow:
        placed([domain], [(np.array([missing], np.int64), None)])
    assert not domain.fits(missing, missing)
    arrangement.runs = (Run(arrangement.layout.pack([np.sort(domain.encode(extremes))], 2)),)
    overflow.value.domain.extend(overflow.value.low, overflow.value.high)
    assert domain.fits(missing, missing)
    arrangement.relayout()
    assert sorted(domain.decode(arrangement.runs[0].words[0]).tolist()) == extremes.tolist()


def test_a_value_whose_place_null_would_take_is_told() -> None:
    """The place is drawn by lot, so it is all but never one that a row has; then the lot is drawn again."""
    domain = nullable_domain()
    domain.admit(np.array([-(2**63), 2**63 - 1], np.int64))
    old = Layout.of([domain]).places[0]
    raw = domain.encode(np.array([5], np.int64))
    domain.base = 5
    with pytest.raises(DomainOverflow):
        domain.moved(raw, old)


def test_a_domain_without_null_is_as_narrow_as_its_values() -> None:
    for nullable, bits in ((False, 8), (True, 9)):
        domain = nullable_domain() if nullable else Domain(Type.INT64)
        domain.admit(np.array([0, 255], np.int64))
        assert domain.bits == bits
