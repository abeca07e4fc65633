"""Results of aggregates from totals: compiled code gives what numpy gives, or leaves a call to it.

Catches sums that leave 64 bits unseen, a mean that is rounded otherwise, and NULL in a group without values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.engine.accumulators.slots import NoResult, Slots, Totals
from deltic.engine.storage.columns import Column as StoredColumn
from deltic.engine.storage.interner import Interner
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Column, Schema, Type

TYPES = Type.INT32, Type.INT64, Type.decimal(7, 2), Type.decimal(17, 2), Type.decimal(38, 4)
SCHEMA = Schema(tuple(Column(f"c{i}", type_, nullable=True) for i, type_ in enumerate(TYPES)))
CHECKED, TRIED = (
    [GroupedAggregate(f, (i,)) for i, type_ in enumerate(TYPES) for f in ("count", sum_, mean)[: 2 + (i > 1)]]
    for sum_, mean in (("checked_sum", "decimal_mean"), ("tried_sum", "tried_decimal_mean"))
)
TOTALS = st.one_of(st.integers(-3, 3), st.integers(-(1 << 26), 1 << 26), st.integers(-(1 << 42), 1 << 42))


@pytest.mark.parametrize("calls", [CHECKED, TRIED])
@given(data=st.data())
def test_compiled_results_are_those_of_numpy(calls: list[GroupedAggregate], data: st.DataObject) -> None:
    slots, groups = Slots(calls, SCHEMA, Interner()), data.draw(st.integers(1, 4))
    of_group = st.lists(TOTALS, min_size=slots.width, max_size=slots.width)
    totals = np.array(data.draw(st.lists(of_group, min_size=groups, max_size=groups)), np.int64)
    for slot in (0, *slots.counts.values()):
        totals[:, slot] = np.abs(totals[:, slot]) % 5
    for (_, linear), slot in slots.linear.items():
        totals[:, slot + data.draw(st.integers(1, linear.width)) : slot + linear.width] = 0
    try:
        expected = [result.of(totals) for result in slots.results]
    except NoResult as missing:
        with pytest.raises(NoResult, match=str(missing)):
            slots.read(totals)
        return
    for call, (values, nulls), (found, absent) in zip(calls, expected, slots.read(totals), strict=True):
        nothing = np.zeros(groups, bool) if nulls is None else nulls
        assert nothing.tolist() == ([False] * groups if absent is None else absent.tolist()), call
        assert values[~nothing].tolist() == found[~nothing].tolist(), call


def test_usual_results_need_no_numpy() -> None:
    slots = Slots([*CHECKED, *TRIED], SCHEMA, Interner())
    totals = np.zeros((2, slots.width), np.int64)
    totals[:, [0, *slots.counts.values()]] = 1
    slots.results = [replace(result, of=_refused) for result in slots.results]
    assert {len(values) for values, _ in slots.read(totals)} == {2}


def _refused(totals: Totals) -> StoredColumn:
    raise AssertionError("compiled code left a call")
