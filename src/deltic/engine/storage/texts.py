"""Dictionaries of texts and bytes: one array with all values, and a hash table to look them up.

No value is a Python object. Compiled code encodes and decodes Arrow columns in place.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.engine.image import StoredArrays
from deltic.engine.kernels import texts as kernel
from deltic.engine.kernels.memory import address_of
from deltic.engine.kernels.types import Bytes, Ints, Words1
from deltic.engine.storage.columns import Values
from deltic.engine.storage.dictionary import UNKNOWN, Dictionary
from deltic.engine.storage.value_order import Positions
from deltic.values.types import Kind, Type

# The number of texts that get ids at a time. The table has room for all of them before.
_BLOCK = 1 << 16
_LEAST = 64
# The element types of offsets, by the type of a column.
_WIDTHS = {
    pa.string(): np.int32,
    pa.binary(): np.int32,
    pa.large_string(): np.int64,
    pa.large_binary(): np.int64,
}
# A random seed: the same texts collide differently in each process.
_SEED = np.uint64(secrets.randbits(64))
# Held by the thread that numbers restored texts.
_numbering = threading.RLock()


@dataclass(frozen=True)
class _Table:
    """The texts and their hash table, see `kernels.texts`. A full array is replaced by a larger one."""

    slots: Words1
    ends: Ints
    data: Bytes

    @classmethod
    def empty(cls) -> _Table:
        return cls(np.zeros(_LEAST, np.uint64), np.zeros(_LEAST, np.int64), np.zeros(_LEAST, np.uint8))

    @classmethod
    def of(cls, texts: pa.Array) -> _Table:
        """Return the table of distinct texts."""
        given = _Given.of(texts)
        made = cls.empty().with_room(0, len(texts), given.size)
        np.subtract(given.offsets, given.offsets[0], out=made.ends[: len(given.offsets)])
        made.data[: given.size] = given.bytes
        made.enter(len(texts))
        return made

    def with_room(self, count: int, more: int, size: int) -> _Table:
        """Return a table of the same `count` texts with room for `more` texts of `size` bytes in total; itself if it
        has room.
        """
        ends = _grown(self.ends, count + 1, count + more + 1)
        data = _grown(self.data, used := int(self.ends[count]), used + size)
        slots, needed = self.slots, 2 * (count + more)
        if needed > len(slots):
            slots = np.zeros(1 << needed.bit_length(), np.uint64)
        if ends is self.ends and data is self.data and slots is self.slots:
            return self
        if slots is self.slots:  # whoever reads the old arrays finds no text there that these do not have
            return _Table(slots.copy(), ends, data)
        made = _Table(slots, ends, data)
        made.enter(count)
        return made

    def enter(self, count: int) -> None:
        kernel.enter(_SEED, self.slots, self.ends, address_of(self.data), count)


@dataclass(frozen=True)
class _Given:
    """Texts of an Arrow array: `offsets` int64[n + 1] into the bytes at an address."""

    texts: pa.Array
    offsets: Ints
    address: int

    @classmethod
    def of(cls, texts: pa.Array) -> _Given:
        if texts.type not in _WIDTHS:
            texts = texts.cast(pa.large_string())
        _, offsets, data = texts.buffers()
        if offsets is None or not len(texts):
            return cls(texts, np.zeros(len(texts) + 1, np.int64), 0)
        all_offsets = np.frombuffer(offsets, _WIDTHS[texts.type])[texts.offset : texts.offset + len(texts) + 1]
        return cls(texts, all_offsets.astype(np.int64), data.address if data is not None else 0)

    @property
    def size(self) -> int:
        """Return the total size of the texts, in bytes."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def bytes(self) -> Bytes:
        data = self.texts.buffers()[2]
        every = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        return every[self.offsets[0] : self.offsets[-1]]


class Texts(Dictionary):
    """The dictionary of texts, or of bytes."""

    def __init__(self, type_: Type) -> None:
        super().__init__(type_)
        self._count = 0
        self._table: _Table | None = _Table.empty()
        self._restored: pa.Array | None = None

    def restore(self, count: int, kept: Sequence[StoredArrays]) -> None:
        self._count, self._kept, self._table = count, kept, None

    def __len__(self) -> int:
        return self._count

    @property
    def _texts(self) -> _Table:
        if (table := self._table) is None:
            with _numbering:
                if (table := self._table) is None:
                    self._table = table = _Table.of(self._array)
                    self._restored = None
        return table

    @property
    def _array(self) -> pa.Array:
        """All texts by id, without copying them."""
        count = self._count  # read before the table: a writer replaces the table first
        if (table := self._table) is not None:
            type_ = pa.large_string() if self.type.kind is Kind.STRING else pa.large_binary()
            buffers = [None, pa.py_buffer(table.ends), pa.py_buffer(table.data)]
            return pa.Array.from_buffers(type_, count, buffers)
        if (restored := self._restored) is None:
            self._restored = restored = self._read(count)
        return restored

    def between(self, start: int, end: int) -> pa.Array:
        return self._array.slice(start, end - start).cast(self.type.arrow)

    def value(self, number: int) -> str:
        """Return the text of an id."""
        table = self._texts
        return table.data[table.ends[number] : table.ends[number + 1]].tobytes().decode()

    def number_of(self, value: str) -> int:
        """Return the id of a text. A new text gets one."""
        return int(self.encode(pa.array([value], self.type.arrow))[0])

    def find(self, value: Any) -> int | None:
        written = value.encode(errors="surrogatepass") if isinstance(value, str) else bytes(value)
        buffer = pa.py_buffer(written)
        number = self._find(buffer.address, np.array([0, len(written)]))[0]
        return None if number == UNKNOWN else int(number)

    def encode(self, column: pa.Array) -> Values:
        given, blocks = _Given.of(column), list[Values]()
        for start in range(0, len(column), _BLOCK):
            offsets = given.offsets[start : start + _BLOCK + 1]
            size, count = int(offsets[-1] - offsets[0]), self._count
            self._table = table = self._texts.with_room(count, len(offsets) - 1, size)
            stored = address_of(table.data)
            ids = kernel.number(given.address, offsets, _SEED, table.slots, table.ends, stored, count)
            self._count = int(ids[-1])
            blocks.append(ids[:-1])
        return np.concatenate(blocks) if blocks else np.empty(0, np.int64)

    def find_all(self, column: pa.Array) -> Values:
        given = _Given.of(column)
        return self._find(given.address, given.offsets)

    def _find(self, address: int, offsets: Ints) -> Values:
        table = self._texts
        return kernel.find(address, offsets, _SEED, table.slots, table.ends, address_of(table.data), UNKNOWN)

    def take(self, ids: Values) -> pa.Array:
        return self._array.take(pa.array(ids)).cast(self.type.arrow)

    def heads(self, ids: Values) -> Words1:
        table = self._texts
        return kernel.heads(ids, table.ends, address_of(table.data))

    def places(self, ids: Values, heads: Words1, values: pa.Array) -> Positions:
        given, table = _Given.of(values), self._texts
        return kernel.places(given.address, given.offsets, ids, heads, table.ends, address_of(table.data))


def _grown(array: npt.NDArray[Any], used: int, needed: int) -> npt.NDArray[Any]:
    """Return an array with room for `needed` elements, of which the first `used` are kept; itself if it has room."""
    if needed <= len(array):
        return array
    made = np.zeros(max(needed, 2 * len(array)), array.dtype)
    made[:used] = array[:used]
    return made
