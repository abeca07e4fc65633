"""Texts by number, against a dictionary of Python: what the table and the search in compiled code could get wrong.

Catches two texts with one id, a text with two, bytes read past an end, offsets of a sliced column, a table that is
outgrown within a batch, and what a reader sees while another thread adds.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.engine.image import StoredArrays
from deltic.engine.storage.dictionary import UNKNOWN
from deltic.engine.storage.texts import Texts
from deltic.values.types import Type

# Lengths about eight, at which words are read, of few letters.
TEXTS = st.text(alphabet="ab\0é", max_size=20)


@given(st.lists(st.lists(TEXTS, max_size=30), max_size=5), st.lists(TEXTS, max_size=10), st.integers(0, 3))
def test_each_text_has_one_id(batches: list[list[str]], others: list[str], skipped: int) -> None:
    texts, ids = Texts(Type.STRING), dict[str, int]()
    for batch in batches:
        column = pa.array(["outside"] * skipped + batch, pa.string()).slice(skipped)
        expected = [ids.setdefault(text, len(ids)) for text in batch]
        assert texts.encode(column).tolist() == expected
        assert texts.find_all(column.cast(pa.large_string())).tolist() == expected
    assert len(texts) == len(ids)
    assert [texts.find(text) for text in others] == [ids.get(text) for text in others]
    assert texts.find_all(pa.array(others, pa.string())).tolist() == [ids.get(text, UNKNOWN) for text in others]
    assert texts.decode(np.arange(len(ids))[::-1].copy()).to_pylist() == [*ids][::-1]
    assert [texts.value(number) for number in ids.values()] == [*ids]


@given(st.lists(TEXTS, unique=True, max_size=40), st.lists(TEXTS, max_size=20), st.sampled_from(["", "https://a.b/"]))
def test_places_are_those_among_bytes_in_order(known: list[str], others: list[str], begin: str) -> None:
    texts, known = Texts(Type.STRING), [begin + text for text in known]
    others += [begin + text for text in others]
    ids, written = texts.encode(pa.array(known, pa.string())), sorted(text.encode() for text in known)
    run = ids[np.array(sorted(range(len(known)), key=lambda i: known[i].encode()), np.int64)]
    others = sorted(others, key=str.encode)
    expected = [bisect_left(written, text.encode()) for text in others]
    assert texts.places(run, texts.heads(run), pa.array(others, pa.string())).tolist() == expected


def test_more_texts_than_there_is_room_for_at_once() -> None:
    texts = Texts(Type.STRING)
    column = pa.array([f"text {i % 150_000}" for i in range(200_000)])
    ids = texts.encode(column)
    assert len(texts) == 150_000
    assert ids.tolist() == [i % 150_000 for i in range(200_000)]
    assert texts.decode(ids).equals(column)


class Written(StoredArrays):
    """Arrays as they are read back."""

    about: ClassVar[dict[str, object]] = {}
    is_far = False

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = arrays

    def arrays(self) -> dict[str, np.ndarray]:
        return self._arrays

    def some(self, ranges: object) -> dict[str, np.ndarray]:
        raise NotImplementedError


@pytest.mark.parametrize("type_", [Type.STRING, Type.BINARY])
def test_restored_texts_go_on(type_: Type) -> None:
    before, after = Texts(type_), Texts(type_)
    column = pa.array(["a", "", "long enough", "é"], pa.string()).cast(type_.arrow)
    before.encode(column)
    growing = before.growing()
    after.restore(3, [Written(dict(growing.arrays(0, 2))), Written(dict(growing.arrays(2, 4)))])
    assert len(after) == 3
    assert after.decode(np.array([2, 0])).equals(column.take(pa.array([2, 0])))
    assert after.encode(column[2:]).tolist() == [2, 3]
    assert after.growing().arrays(0, 4)["values"].tolist() == before.growing().arrays(0, 4)["values"].tolist()


def test_others_read_while_one_adds() -> None:
    texts, wrong, done = Texts(Type.STRING), list[object](), threading.Event()
    texts.encode(known := pa.array([f"known {i}" for i in range(1000)]))

    def read() -> None:
        while not done.is_set():
            ids = texts.find_all(known)
            if ids.tolist() != list(range(1000)) or not texts.decode(ids).equals(known):
                wrong.append(ids)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for batch in range(100):
        texts.encode(pa.array([f"new {batch} {i}" for i in range(2000)]))
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_old_arrays_find_no_text_that_they_do_not_have() -> None:
    """Where the bytes have no more room, a reader that has the old arrays would follow an id past their end."""
    texts = Texts(Type.STRING)
    texts.encode(pa.array(["a" * 40]))
    old = texts._texts
    texts.encode(pa.array(["b" * 40]))
    assert old.data is not texts._texts.data
    assert old.slots is not texts._texts.slots
    assert np.count_nonzero(old.slots) == 1
    assert [texts.find(letter * 40) for letter in "abc"] == [0, 1, None]
