"""Interned values: text, bytes and composite values, and the decimals that are too large for 64 bits, to ids and back.

What must hold:

* Ids are equal where the values are, by Spark's rules: NaN equals NaN and −0.0 equals 0.0, inside composites too.
* Ids are dense from 0 in the order of insertion. An id never changes its value, and outlives an abandoned epoch.
* Decimals of absolute values below `LARGE` stand for themselves, the others are `LARGE` + id.
* One thread inserts. Others may look values up, and decode the ids that they have.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.engine.image import StoredArrays
from deltic.engine.storage.columns import Values
from deltic.engine.storage.dictionary import UNKNOWN, Dictionary
from deltic.engine.storage.texts import Texts
from deltic.engine.storage.value_order import LARGE, DecimalOrder, Positions
from deltic.values.types import Kind, Type

# Held while restored values are numbered: all threads must use the same numbering.
_numbering = threading.RLock()

# Up to this many times as many known values as new ones are merged with them; more are searched one by one.
_MERGED = 8
DIGITS = 18
"""An int64 holds all decimals of at most this many digits."""


def is_interned(type_: Type) -> bool:
    """Return whether all values of the type are stored as ids."""
    return type_.is_composite or type_.kind in (Kind.STRING, Kind.BINARY)


def is_wide(type_: Type) -> bool:
    """Return whether some values of the type are stored as ids, the others as themselves: decimals of many digits."""
    return type_.kind is Kind.DECIMAL and type_.precision > DIGITS


def is_labelled(type_: Type) -> bool:
    """Return whether the stored integers have no order of their own, only that of their labels (see `value_order`)."""
    return is_interned(type_) or is_wide(type_)


class Interner(dict[Type, "Dictionary"]):
    """The dictionaries of the interned types, each created when first used.

    One thread adds values, while others may look values up and decode ids that they know.
    """

    def __missing__(self, type_: Type) -> Dictionary:
        self[type_] = made = _empty(type_)
        return made

    def known(self, type_: Type) -> Dictionary:
        """Return the dictionary of a type for reading only: an empty one if the type has none."""
        result = self.get(type_)
        return _empty(type_) if result is None else result

    @property
    def text(self) -> Texts:
        """The dictionary of text."""
        result = self[Type.STRING]
        assert isinstance(result, Texts)
        return result


def _empty(type_: Type) -> Dictionary:
    """Return a dictionary without values."""
    return (Numbered if type_.is_composite else Decimals if is_wide(type_) else Texts)(type_)


class Numbered(Dictionary):
    """The dictionary of a type of arrays, structs or maps, as Python objects. Equal values have the same key.

    Times inside them are stored as integers, because Python's times have a smaller range than Arrow's.
    """

    def __init__(self, type_: Type) -> None:
        super().__init__(type_)
        self._count, self._plain = 0, _plain(type_)

    def restore(self, count: int, kept: Sequence[StoredArrays]) -> None:
        self._count, self._kept = count, kept

    def between(self, start: int, end: int) -> pa.Array:
        if "_ids" in vars(self):
            return self._arrow(self.values[start:end])
        return self._array.slice(start, end - start)

    def __len__(self) -> int:
        return len(self._ids.named) if "_ids" in vars(self) else self._count

    @cached_property
    def _array(self) -> pa.Array:
        """The values by id, without the newest, which `take` appends."""
        return self._read(self._count)

    @cached_property
    def _ids(self) -> _Numbering:
        with _numbering:
            if "_ids" not in vars(self):
                named = self.python(self._array)
                vars(self)["_ids"] = _Numbering.of([_key(value, self.type) for value in named], named)
            result: _Numbering = vars(self)["_ids"]
            return result

    @property
    def values(self) -> Sequence[Any]:
        """Return the values by id."""
        return self._ids.named

    def encode(self, column: pa.Array) -> Values:
        result = self.python(column)
        return np.fromiter((self._ids.number(_key(v, self.type), v) for v in result), np.int64, len(result))

    def find_all(self, column: pa.Array) -> Values:
        return self._ids.known([_key(value, self.type) for value in self.python(column)])

    def take(self, ids: Values) -> pa.Array:
        """Return the values of ids: few of them one by one, many by one Arrow gather."""
        array = self._array
        if "_ids" in vars(self):
            values = self.values
            if 8 * len(ids) < len(values):
                return self._arrow(list(map(values.__getitem__, ids.tolist())))
            if len(array) < len(values):
                self._array = array = pa.concat_arrays([array, self._arrow(values[len(array) :])])
        return array.take(pa.array(ids))

    def sort_indices(self, column: pa.Array) -> npt.NDArray[np.int64]:
        keys = self._sort_keys(column)
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)

    def places(self, ids: Values, heads: None, values: pa.Array) -> Positions:
        if _MERGED * len(values) < len(ids):
            keys, by_key = self._sort_keys(values), lambda number: sort_key(self.values[number], self.type)
            return np.array([bisect_left(ids, key, key=by_key) for key in keys], np.int64)
        both = pa.concat_arrays([self.take(ids), values])
        new = self.sort_indices(both) >= len(ids)
        positions: Positions = np.cumsum(~new, dtype=np.int64)[new]
        return positions

    def _sort_keys(self, column: pa.Array) -> list[Any]:
        return [sort_key(value, self.type) for value in self.python(column)]

    def python(self, column: pa.Array) -> list[Any]:
        """Return the values of a column in the representation of `values`."""
        result: list[Any] = column.cast(self._plain).to_pylist()
        return result

    def _arrow(self, values: Sequence[Any]) -> pa.Array:
        return pa.array(values, self._plain).cast(self.type.arrow)


class Decimals(Numbered):
    """The decimals of a type of more than 18 digits, stored as integers in units of the last digit.

    Those whose absolute value is `LARGE` or more are numbered, and stored as `LARGE` plus their id.
    """

    def __init__(self, type_: Type) -> None:
        super().__init__(type_)
        self.order = DecimalOrder(self)

    def encode(self, column: pa.Array) -> Values:
        return self._mapped(column, lambda large: self._ids.numbers(large))

    def find_all(self, column: pa.Array) -> Values:
        return self._mapped(column, lambda large: self._ids.known(large))

    def _mapped(self, column: pa.Array, numbers_of: Callable[[Sequence[Any]], Values]) -> Values:
        """Return the values of decimals, with the number of each large one, UNKNOWN for those without one."""
        low, high = words_of(column)
        large = (high != low >> 63) | (low <= -LARGE) | (low >= LARGE)
        values = low.copy()
        if large.any():
            encoded = column.filter(pa.array(large)).dictionary_encode()  # only distinct values are looked up
            numbers = numbers_of(encoded.dictionary.to_pylist())[encoded.indices.to_numpy(zero_copy_only=False)]
            values[large] = np.where(numbers == UNKNOWN, UNKNOWN, LARGE + numbers)
        return values

    def decode(self, ids: Values) -> pa.Array:
        large = ids >= LARGE
        if not large.any():
            return of_words(ids, ids >> 63, self.type)
        low, high = ids.copy(), ids >> 63
        low[large], high[large] = words_of(self.take(ids[large] - LARGE))
        return of_words(low, high, self.type)

    def sort_indices(self, column: pa.Array) -> npt.NDArray[np.int64]:
        return Dictionary.sort_indices(self, column)


class _Numbering(dict[Any, int]):
    """A dictionary that numbers new keys; `named` has the values that the keys stand for, in the same order."""

    @classmethod
    def of(cls, keys: Sequence[Any], named: list[Any]) -> _Numbering:
        """Return the numbering of keys by their positions."""
        made = cls(zip(keys, range(len(named)), strict=True))
        made.named = named
        return made

    def __init__(self, pairs: Iterable[tuple[Any, int]] = ()) -> None:
        super().__init__(pairs)
        self.named: list[Any] = []

    def numbers(self, keys: Sequence[Any]) -> Values:
        """Return the numbers of distinct keys that stand for themselves. New keys get a number."""
        result, first = self.known(keys), len(self.named)
        places = np.flatnonzero(result == UNKNOWN)
        self.named += (new := [keys[place] for place in places.tolist()])
        self.update(zip(new, range(first, len(self.named)), strict=True))
        result[places] = np.arange(first, len(self.named))
        return result

    def known(self, keys: Sequence[Any]) -> Values:
        """Return the numbers of keys, UNKNOWN for those without one."""
        return np.fromiter(map(self.get, keys, repeat(UNKNOWN)), np.int64, len(keys))

    def number(self, key: Any, value: Any) -> int:
        """Return the number of a key that stands for `value`. A new key gets one."""
        number = self.get(key)
        if number is None:
            self[key] = number = len(self.named)
            self.named.append(value)
        return number


def _plain(type_: Type) -> pa.DataType:
    """Return the Arrow type with integers in place of times."""
    match type_.kind:
        case Kind.ARRAY:
            return pa.list_(pa.field("item", _plain(type_.element.type), type_.element.nullable))
        case Kind.STRUCT:
            return pa.struct([pa.field(c.name, _plain(c.type), c.nullable) for c in type_.fields])
        case Kind.MAP:
            return pa.map_(_plain(type_.key), pa.field("value", _plain(type_.value.type), type_.value.nullable))
        case Kind.DATE:
            return pa.int32()
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ | Kind.TIME | Kind.DAY_TIME_INTERVAL:
            return pa.int64()
        case _:
            return type_.arrow


def _key(value: Any, type_: Type) -> Any:
    """Return a hashable key that is equal exactly for equal values."""
    if value is None:
        return None
    match type_.kind:
        case Kind.ARRAY:
            return tuple(_key(v, type_.element.type) for v in value)
        case Kind.STRUCT:
            return tuple(_key(value[c.name], c.type) for c in type_.fields)
        case Kind.MAP:
            return tuple((_key(k, type_.key), _key(v, type_.value.type)) for k, v in value)
        case Kind.FLOAT32 | Kind.FLOAT64:
            return "NaN" if math.isnan(value) else value
        case _:
            return value


def sort_key(value: Any, type_: Type) -> Any:
    """Return a key that compares as the values do: NULL first, and NaN after all other floats."""
    if value is None:
        return (0,)
    match type_.kind:
        case Kind.ARRAY:
            return (1, *(sort_key(v, type_.element.type) for v in value))
        case Kind.STRUCT:
            return (1, *(sort_key(value[c.name], c.type) for c in type_.fields))
        case Kind.FLOAT32 | Kind.FLOAT64:
            return (1, math.isnan(value), 0.0 if math.isnan(value) else value)
        case Kind.MAP:
            return (1, *((sort_key(k, type_.key), sort_key(v, type_.value.type)) for k, v in value))
        case _:
            return (1, value)


def words_of(column: pa.Array) -> tuple[Values, Values]:
    """Return the low and the high words of a column of decimals without NULL, as read-only views.

    Arrow stores decimals as integers in units of the last digit, as two 64-bit words, low word first.
    """
    words = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    return words[:, 0], words[:, 1]


def of_words(low: Values, high: Values, type_: Type) -> pa.Array:
    """Return the column of decimals of these words, the inverse of `words_of`."""
    words = np.ascontiguousarray(np.stack([low, high], axis=1))
    return pa.Array.from_buffers(type_.arrow, len(low), [None, pa.py_buffer(words)])
