"""Vectorised versions of Spark's xxhash64 and hash; equal rows have equal hashes in every process and in Spark.

The hash of a row is a fold over its columns: the hash of a value is seeded with the hash so far, 42 at first, and
NULL leaves it unchanged. `xxhash64` is XXH64: <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>. `hash`
is Murmur3 of 32 bits, except that Spark takes the last bytes one by one:
<https://github.com/aappleby/smhasher/wiki/MurmurHash3>. Values that are equal as keys have equal hashes: −0.0 hashes as
0.0, and all NaNs alike. Maps are skipped, because the order of their entries has no meaning; Spark hashes no maps
either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.values.types import Kind
from deltic.values.types.arrow import type_of_arrow

Hashes = npt.NDArray[Any]  # of uint64 or uint32
Bytes = npt.NDArray[np.uint8]

PRIMES_64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
"""The primes of XXH64."""

SEED = 42
"""The hash of a row without columns."""
_P1, _P2, _P3, _P4, _P5 = map(np.uint64, PRIMES_64)
# Rows that are hashed at once: intermediate results stay in the processor's cache.
_PART = 1 << 14
# The most digits of a decimal that Spark hashes as one integer.
_LONG_DIGITS = 18


@dataclass(frozen=True)
class _Function:
    """The hash functions of int32[n], of int64[n] and of values of one length as uint8[n, length], each with seeds."""

    width: type
    ints: Callable[[npt.NDArray[np.int32], Hashes], Hashes]
    longs: Callable[[npt.NDArray[np.int64], Hashes], Hashes]
    bytes: Callable[[Bytes, Hashes], Hashes]


def xxhash64(
    columns: Sequence[pa.ChunkedArray | pa.Array], count: int, before: npt.NDArray[np.uint64] | None = None
) -> npt.NDArray[np.uint64]:
    """Spark's `xxhash64` of `count` rows, as unsigned integers; `before` are the hashes of their earlier columns."""
    return _hashed(columns, np.full(count, SEED, np.uint64) if before is None else before.copy(), _XXHASH64)


def murmur3(columns: Sequence[pa.ChunkedArray | pa.Array], count: int) -> npt.NDArray[np.uint32]:
    """Spark's `hash` of `count` rows, as unsigned integers."""
    return _hashed(columns, np.full(count, SEED, np.uint32), _MURMUR3)


def _hashed(columns: Sequence[pa.ChunkedArray | pa.Array], hashes: Hashes, function: _Function) -> Hashes:
    """Return the hashes with the columns folded in, in the same array."""
    arrays = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns]
    for start in range(0, len(hashes), _PART):
        for array in arrays:
            hashes[start : start + _PART] = _fold(array.slice(start, _PART), hashes[start : start + _PART], function)
    return hashes


def _fold(column: pa.Array, hashes: Hashes, function: _Function) -> Hashes:
    """Return the hashes of rows extended by one more column."""
    type_ = type_of_arrow(column.type)
    if type_.kind is Kind.MAP:
        return hashes
    hash_values = _HASHED[type_.kind]
    if not column.null_count:
        return hash_values(column, hashes, function)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    result = hashes.copy()
    result[there] = hash_values(column.drop_null(), hashes[there], function)
    return result


# Values as integers


def _of_ints(column: pa.Array, seeds: Hashes, function: _Function, storage: pa.DataType | None = None) -> Hashes:
    column = column if storage is None else column.view(storage)
    return function.ints(column.to_numpy(zero_copy_only=False).astype(np.int32), seeds)


def _of_longs(column: pa.Array, seeds: Hashes, function: _Function, storage: pa.DataType | None = None) -> Hashes:
    column = column if storage is None else column.view(storage)
    return function.longs(column.to_numpy(zero_copy_only=False).astype(np.int64), seeds)


def _of_clocks(column: pa.Array, seeds: Hashes, function: _Function) -> Hashes:
    """Times of a day are nanoseconds in Spark."""
    return function.longs(column.view(pa.int64()).to_numpy(zero_copy_only=False) * 1000, seeds)


def _of_singles(column: pa.Array, seeds: Hashes, function: _Function) -> Hashes:
    values = column.to_numpy(zero_copy_only=False).astype(np.float32) + np.float32(0)
    return function.ints(np.where(np.isnan(values), np.float32(np.nan), values).view(np.int32), seeds)


def _of_floats(column: pa.Array, seeds: Hashes, function: _Function) -> Hashes:
    values = column.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
    return function.longs(np.where(np.isnan(values), np.nan, values).view(np.int64), seeds)


def _of_months(column: pa.Array, seeds: Hashes, function: _Function) -> Hashes:
    parts = np.frombuffer(column.buffers()[1], np.int32)[4 * column.offset :: 4][: len(column)]
    return function.ints(np.ascontiguousarray(parts), seeds)


# Values as bytes


def _of_bytes(column: pa.Array, seeds: Hashes, function: _Function) -> Hashes:
    """Bytes and texts, grouped by length."""
    column = column.cast(pa.large_binary())
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    return _by_length(data, offsets[:-1], np.diff(offsets), seeds, function)


def _by_length(
    data: Bytes, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], seeds: Hashes, function: _Function
) -> Hashes:
    hashes = np.empty_like(seeds)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        hashes[rows] = function.bytes(data[starts[rows][:, None] + np.arange(length)], seeds[rows])
    return hashes


def _of_decimals(column: pa.Array, seeds: Hashes, function: _Function) -> Hashes:
    """Decimals of at most 18 digits as an integer; others as a big-endian integer of the fewest bytes."""
    halves = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    if column.type.precision <= _LONG_DIGITS:
        return function.longs(np.ascontiguousarray(halves[:, 0]), seeds)
    return _whole_numbers(np.ascontiguousarray(halves).view(np.uint8).reshape(-1, 16)[:, ::-1], seeds, function)


def _whole_numbers(values: Bytes, seeds: Hashes, function: _Function) -> Hashes:
    """Big-endian two's complement numbers, without leading bytes that only repeat the sign."""
    sign = values[:, :1] >> 7
    repeats = (values[:, :-1] == 255 * sign) & (values[:, 1:] >> 7 == sign)
    skipped = np.logical_and.accumulate(repeats, axis=1).sum(axis=1)
    starts = np.arange(len(values)) * values.shape[1] + skipped
    return _by_length(np.ascontiguousarray(values).reshape(-1), starts, values.shape[1] - skipped, seeds, function)


def _of_unsigned_longs(column: pa.Array, seeds: Hashes, function: _Function) -> Hashes:
    """Unsigned 64-bit integers, which Spark has as decimals of 20 digits."""
    return _of_decimals(column.cast(pa.decimal128(20)), seeds, function)


# Composite values


def _of_lists(column: pa.Array, seeds: Hashes, function: _Function) -> Hashes:
    """Arrays, element by element: one step for each position, over all arrays that have it."""
    lengths = column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    elements, hashes = column.flatten(), seeds.copy()
    for position in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > position)
        hashes[rows] = _fold(elements.take(pa.array(starts[rows] + position)), hashes[rows], function)
    return hashes


def _of_structs(column: pa.Array, seeds: Hashes, function: _Function) -> Hashes:
    for field in column.flatten():
        seeds = _fold(field, seeds, function)
    return seeds


# xxhash64


def _rotated(values: Hashes, bits: int) -> Hashes:
    width = values.dtype.type
    result: Hashes = (values << width(bits)) | (values >> width(8 * values.itemsize - bits))
    return result


def _mixed(hashes: Hashes) -> Hashes:
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _P2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _P3
    result: Hashes = hashes ^ (hashes >> np.uint64(32))
    return result


def _int(values: npt.NDArray[np.int32], seeds: Hashes) -> Hashes:
    hashes = (seeds + _P5 + np.uint64(4)) ^ (values.view(np.uint32).astype(np.uint64) * _P1)
    return _mixed(_rotated(hashes, 23) * _P2 + _P3)


def _long(values: npt.NDArray[np.int64], seeds: Hashes) -> Hashes:
    return _mixed(_with_word(seeds + _P5 + np.uint64(8), values.view(np.uint64)))


def _with_word(hashes: Hashes, words: Hashes) -> Hashes:
    return _rotated(hashes ^ (_rotated(words * _P2, 31) * _P1), 27) * _P1 + _P4


def _bytes(values: Bytes, seeds: Hashes) -> Hashes:
    """Return the hashes of values of one length, uint8[n, length]."""
    count, length = values.shape
    words = np.ascontiguousarray(values[:, : length // 8 * 8]).view(np.uint64).reshape(count, length // 8)
    at = length // 32 * 4
    hashes = _stripes(words[:, :at], seeds) if at else seeds + _P5
    hashes = hashes + np.uint64(length)
    for word in range(at, length // 8):
        hashes = _with_word(hashes, words[:, word])
    at = length // 8 * 8
    if length - at >= 4:
        four = np.ascontiguousarray(values[:, at : at + 4]).view(np.uint32)[:, 0].astype(np.uint64)
        hashes = _rotated(hashes ^ (four * _P1), 23) * _P2 + _P3
        at += 4
    for byte in range(at, length):
        hashes = _rotated(hashes ^ (values[:, byte].astype(np.uint64) * _P5), 11) * _P1
    return _mixed(hashes)


def _stripes(words: Hashes, seeds: Hashes) -> Hashes:
    """Return the hash of the 32-byte blocks, in four lanes."""
    lanes = [seeds + _P1 + _P2, seeds + _P2, seeds, seeds - _P1]
    for start in range(0, words.shape[1], 4):
        lanes = [_rotated(lane + words[:, start + i] * _P2, 31) * _P1 for i, lane in enumerate(lanes)]
    hashes = sum((_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)), np.uint64(0))
    for lane in lanes:
        hashes = (hashes ^ (_rotated(lane * _P2, 31) * _P1)) * _P1 + _P4
    return np.asarray(hashes, np.uint64)


# hash


def _mixed_in(hashes: Hashes, words: Hashes) -> Hashes:
    """Return the hashes with one more 32-bit word mixed in."""
    words = _rotated(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotated(hashes ^ words, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _ended(hashes: Hashes, length: int) -> Hashes:
    hashes = hashes ^ np.uint32(length)
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    result: Hashes = hashes ^ (hashes >> np.uint32(16))
    return result


def _murmur_int(values: npt.NDArray[np.int32], seeds: Hashes) -> Hashes:
    return _ended(_mixed_in(seeds, values.view(np.uint32)), 4)


def _murmur_long(values: npt.NDArray[np.int64], seeds: Hashes) -> Hashes:
    halves = values.view(np.uint32).reshape(-1, 2)
    return _ended(_mixed_in(_mixed_in(seeds, halves[:, 0]), halves[:, 1]), 8)


def _murmur_bytes(values: Bytes, seeds: Hashes) -> Hashes:
    count, length = values.shape
    whole = length // 4
    words = np.ascontiguousarray(values[:, : 4 * whole]).view(np.uint32).reshape(count, whole)
    for word in range(whole):
        seeds = _mixed_in(seeds, words[:, word])
    for byte in range(4 * whole, length):
        seeds = _mixed_in(seeds, values[:, byte].view(np.int8).astype(np.int32).view(np.uint32))
    return _ended(seeds, length)


_XXHASH64 = _Function(np.uint64, _int, _long, _bytes)
_MURMUR3 = _Function(np.uint32, _murmur_int, _murmur_long, _murmur_bytes)
_MICROSECONDS = (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.DAY_TIME_INTERVAL)
_HASHED: dict[Kind, Callable[..., Hashes]] = {
    **dict.fromkeys((Kind.BOOLEAN, Kind.INT8, Kind.INT16, Kind.INT32, Kind.UINT8, Kind.UINT16), _of_ints),
    **dict.fromkeys((Kind.INT64, Kind.UINT32), _of_longs),
    **dict.fromkeys(_MICROSECONDS, partial(_of_longs, storage=pa.int64())),
    **dict.fromkeys((Kind.STRING, Kind.BINARY), _of_bytes),
    Kind.DATE: partial(_of_ints, storage=pa.int32()),
    Kind.TIME: _of_clocks,
    Kind.YEAR_MONTH_INTERVAL: _of_months,
    Kind.UINT64: _of_unsigned_longs,
    Kind.FLOAT32: _of_singles,
    Kind.FLOAT64: _of_floats,
    Kind.DECIMAL: _of_decimals,
    Kind.ARRAY: _of_lists,
    Kind.STRUCT: _of_structs,
}
