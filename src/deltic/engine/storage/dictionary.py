"""The interface of all dictionaries, which map the values of one interned type to dense ids and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltic.engine.image import GrowingSequence, StoredArrays
from deltic.engine.storage.by_id import NumbersById
from deltic.engine.storage.columns import Values
from deltic.engine.storage.value_order import Positions, ValueOrder
from deltic.values.hashing import xxhash64
from deltic.values.types import Type

UNKNOWN = -(1 << 63)
"""The result of a look-up for a value without an id."""


class Dictionary(ABC):
    """A map from the values of one type to dense ids and back. It only grows: an id never changes its meaning.

    `order` is the order of the values, for types that have one. One thread may add values while others look values up
    and decode ids that they know.
    """

    def __init__(self, type_: Type) -> None:
        self.type = type_
        self._kept: Sequence[StoredArrays] = ()
        self.origin = uuid4().hex
        self.order = ValueOrder(self)
        self.sources = WeakKeyDictionary[Dictionary, NumbersById]()
        """For each dictionary of the same type that ids were translated from, one more than the own id of each id."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def restore(self, count: int, kept: Sequence[StoredArrays]) -> None:
        """Restore the first `count` values that `growing` returned. They are read when first used."""

    def growing(self) -> GrowingSequence:
        """Return the present values, for a checkpoint."""
        return GrowingSequence(
            len(self), lambda start, end: {"values": _written(self.between(start, end))}, self.origin, self._kept
        )

    @abstractmethod
    def between(self, start: int, end: int) -> pa.Array:
        """Return the values of a range of ids. Changes nothing, because other threads use the dictionary."""

    def _read(self, count: int) -> pa.Array:
        """Read the first `count` stored values."""
        kept = [_read(stretch.arrays()["values"]) for stretch in self._kept]
        return pa.concat_arrays([pa.array([], self.type.arrow), *kept]).slice(0, count)

    def find(self, value: Any) -> int | None:
        """Return the id of a Python value, or None if it has none."""
        number = int(self.find_all(pa.array([value], self.type.arrow))[0])
        return None if number == UNKNOWN else number

    @abstractmethod
    def encode(self, column: pa.Array) -> Values:
        """Return the ids of a column without NULL. New values get an id."""

    def translated(self, ids: Values, source: Dictionary) -> Values:
        """Return the own ids of the values that these ids have in another dictionary. New values get an id."""
        if (known := self.sources.get(source)) is None:
            there = ref(source)  # the table must not keep its key alive

            def compute(new: Values) -> Values:
                values = there()
                assert values is not None
                return self.encode(values.decode(new)) + 1

            self.sources[source] = known = NumbersById(compute)
        return known.of(ids, len(source)) - 1

    def hashes(self, ids: Values) -> npt.NDArray[np.uint64]:
        """Return Spark's xxhash64 of the values of ids, as the only or the first column of a row."""
        return self._hashes.of(ids, len(self)).view(np.uint64)

    @cached_property
    def _hashes(self) -> NumbersById:
        return NumbersById(lambda new: xxhash64([self.decode(new)], len(new)).view(np.int64))

    @abstractmethod
    def find_all(self, column: pa.Array) -> Values:
        """Encode like `encode`, but return UNKNOWN for values without an id."""

    def decode(self, ids: Values) -> pa.Array:
        """Return the values of ids."""
        return self.take(ids)

    @abstractmethod
    def take(self, ids: Values) -> pa.Array:
        """Return the values of ids, in time proportional to the number of ids."""

    def sort_indices(self, column: pa.Array) -> npt.NDArray[np.int64]:
        """Return the positions of a column's values in ascending order of the values."""
        return np.asarray(pc.sort_indices(column)).astype(np.int64)

    def heads(self, ids: Values) -> Any:
        """Return an index for `places` over ids that are sorted by their values, or None."""
        return None

    @abstractmethod
    def places(self, ids: Values, heads: Any, values: pa.Array) -> Positions:
        """For each of some sorted values, count the ids (sorted by their values) whose values come before it."""


def _written(values: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the values as an Arrow stream."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([values], names=["value"])
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _read(written: npt.NDArray[np.uint8]) -> pa.Array:
    """Return the values of an Arrow stream, without copying them."""
    with pa.ipc.open_stream(pa.py_buffer(written)) as stream:
        return stream.read_next_batch().column(0)
