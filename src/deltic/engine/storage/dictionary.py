"""What every dictionary has: the values of one interned type, to dense ids and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltic.engine.image import GrowingSequence, StoredArrays
from deltic.engine.storage.layout import Values
from deltic.engine.storage.value_order import Positions, ValueOrder
from deltic.values.types import Type

UNKNOWN = -(1 << 63)
"""What stands for a value that has no id, where one is looked for."""


class Dictionary(ABC):
    """The values of one type to dense ids and back; append-only: an id never changes its meaning.

    `order` is that of the values, for types that have one. One thread adds values, while others may look for them and
    decode ids that they have.
    """

    def __init__(self, type_: Type) -> None:
        self.type = type_
        self._kept: Sequence[StoredArrays] = ()
        self.origin = uuid4().hex
        self.order = ValueOrder(self)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def restore(self, count: int, kept: Sequence[StoredArrays]) -> None:
        """Have the first `count` values that `growing` gave, which are read when somebody asks for one."""

    def growing(self) -> GrowingSequence:
        """The values so far."""
        return GrowingSequence(
            len(self), lambda start, end: {"values": _written(self.between(start, end))}, self.origin, self._kept
        )

    @abstractmethod
    def between(self, start: int, end: int) -> pa.Array:
        """The values of some ids; leaves everything as it is, for other threads work with it."""

    def _read(self, count: int) -> pa.Array:
        """The first values that were kept."""
        kept = [_read(stretch.arrays()["values"]) for stretch in self._kept]
        return pa.concat_arrays([pa.array([], self.type.arrow), *kept]).slice(0, count)

    @abstractmethod
    def find(self, value: Any) -> int | None:
        """The id of a value of Python that is known, else None."""

    @abstractmethod
    def encode(self, column: pa.Array) -> Values:
        """The ids of a column without NULL; values that have none get one."""

    @abstractmethod
    def find_all(self, column: pa.Array) -> Values:
        """As `encode`, but UNKNOWN for values that have no id."""

    def decode(self, ids: Values) -> pa.Array:
        """The values of ids."""
        return self.take(ids)

    @abstractmethod
    def take(self, ids: Values) -> pa.Array:
        """The values of ids, at the cost of the ids."""

    def sort_indices(self, column: pa.Array) -> npt.NDArray[np.int64]:
        """The positions of a column's values in their order."""
        return np.asarray(pc.sort_indices(column)).astype(np.int64)

    def heads(self, ids: Values) -> Any:
        """What `places` wants to know of ids that are in the order of their values."""
        return None

    @abstractmethod
    def places(self, ids: Values, heads: Any, values: pa.Array) -> Positions:
        """How many of some ids, which are in the order of their values, are before each of other values in order."""


def _written(values: pa.Array) -> npt.NDArray[np.uint8]:
    """The values as a stream of Arrow."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([values], names=["value"])
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _read(written: npt.NDArray[np.uint8]) -> pa.Array:
    """The values of a stream, where they stand in it."""
    with pa.ipc.open_stream(pa.py_buffer(written)) as stream:
        return stream.read_next_batch().column(0)
