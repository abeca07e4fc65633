"""The order of interned text. Catches labels that disagree with the texts, are given twice, or lead to other ids."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.engine.storage.columns import DomainOverflow, Place
from deltic.engine.storage.interner import Decimals
from deltic.engine.storage.texts import Texts
from deltic.engine.storage.value_order import BITS, LARGE
from deltic.values.types import Type

EXACT = Context(prec=38)
# Few characters, so that texts share prefixes; some outside of the basic plane, which UTF-16 would put elsewhere.
TEXTS = st.text(alphabet="ab\0\x7fé\ud7ff\ue000\U0001f600", max_size=4)


def intern(interner: Texts, texts: list[str]) -> None:
    interner.encode(pa.array(texts, pa.string()))


def labels_of(interner: Texts) -> np.ndarray:
    """The labels, given anew where there is no room."""
    try:
        return interner.order.labels()
    except DomainOverflow as overflow:
        overflow.domain.extend(overflow.low, overflow.high)
        return interner.order.labels()


def closing_in(count: int) -> list[str]:
    """Texts of which each comes between two before it, so that room is halved each time."""
    low, high, texts = "b", "c", ["b", "c"]
    for number in range(count):
        texts.append(low + "b" if number % 2 else high[:-1] + chr(ord(high[-1]) - 1) + "z")
        assert low < texts[-1] < high, (low, texts[-1], high)
        low, high = (texts[-1], high) if number % 2 else (low, texts[-1])
    return texts


def check(interner: Texts) -> None:
    labels = labels_of(interner)
    by_label = interner.decode(np.argsort(labels)).to_pylist()
    assert by_label == sorted(interner.decode(np.arange(len(interner))).to_pylist(), key=str.encode)
    assert len(set(labels.tolist())) == len(labels)
    assert labels.min() > 0
    assert labels.max() < 1 << BITS
    assert interner.order.ids(labels).tolist() == list(range(len(labels)))


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=20), min_size=1, max_size=6))
def test_labels_compare_as_the_bytes_of_the_texts(batches):
    interner = Texts(Type.STRING)
    for batch in batches:
        intern(interner, batch)
        check(interner)


@pytest.mark.parametrize("many", [100, 3000])
@pytest.mark.parametrize("step", [1, -1])
def test_sequences_within_others_find_room_without_giving_labels_anew(many, step):
    interner = Texts(Type.STRING)
    intern(interner, ["a", "m", "z"])
    for number in range(many)[::step]:
        intern(interner, [f"m{number:06}"])
        interner.order.labels()
    check(interner)
    assert interner.order.domain.numbering == 0


def test_where_there_is_no_room_labels_are_given_anew_in_the_same_order():
    interner = Texts(Type.STRING)
    for text in closing_in(200):
        intern(interner, [text])
        labels_of(interner)
    assert 0 < interner.order.domain.numbering < 10
    check(interner)


def test_labels_that_were_given_stay_as_they_are_while_others_come():
    interner = Texts(Type.STRING)
    intern(interner, ["b", "d"])
    old = interner.order.labels()
    kept = old.copy()
    intern(interner, [f"c{i}" for i in range(5000)])
    interner.order.labels()
    assert old.tolist() == kept.tolist()


@pytest.mark.parametrize("scale", [0, 20])
@pytest.mark.parametrize("sign", [1, -1])
def test_large_decimals_are_in_order_with_small_ones_when_labels_are_given_anew(sign, scale):
    type_ = Type.decimal(38, scale)
    interner, low, high = Decimals(type_), 10**36, 10**36 + 2**119
    numbers = [0, 1 - LARGE, LARGE - 1, sign * low, sign * high]
    labels, domain = np.empty(0, np.int64), interner.order.domain
    for step in range(110):
        low, high = ((low + high) // 2, high) if step % 2 else (low, (low + high) // 2)
        numbers.append(sign * (low if step % 2 else high))
        held = interner.encode(pa.array([Decimal(n).scaleb(-scale, EXACT) for n in numbers], type_.arrow))
        try:
            labels = interner.order.of(held)
        except DomainOverflow as overflow:
            before, place = domain.encode(labels), Place(0, 0, 62, 0, domain.numbering)
            overflow.domain.extend(overflow.low, overflow.high)
            labels = interner.order.of(held)
            assert domain.moved(before, place).tolist() == labels[: len(before)].tolist()
        assert [numbers[i] for i in np.argsort(labels)] == sorted(numbers)
        assert interner.order.ids(labels).tolist() == held.tolist()
    assert domain.numbering > 0
    assert interner.decode(held).to_pylist() == [Decimal(n).scaleb(-scale, EXACT) for n in numbers]
