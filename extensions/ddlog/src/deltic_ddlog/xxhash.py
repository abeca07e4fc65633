"""xxHash of 32 and 64 bits for short byte strings: <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>.

`deltic.values.hashing` has the 64-bit hash for columns of values.
"""

from __future__ import annotations

from deltic.values.hashing import PRIMES_64

_MASK32, _MASK64 = (1 << 32) - 1, (1 << 64) - 1
_A32, _B32, _C32, _D32, _E32 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_A64, _B64, _C64, _D64, _E64 = PRIMES_64


def _turned(value: int, by: int, width: int) -> int:
    return (value << by | value >> width - by) & ((1 << width) - 1)


def _word(data: bytes, start: int, size: int) -> int:
    return int.from_bytes(data[start : start + size], "little")


def _round32(state: int, word: int) -> int:
    return _turned((state + word * _B32) & _MASK32, 13, 32) * _A32 & _MASK32


def _round64(state: int, word: int) -> int:
    return _turned((state + word * _B64) & _MASK64, 31, 64) * _A64 & _MASK64


def xxh32(data: bytes, seed: int) -> int:
    """Return the hash of 32 bits."""
    place, end = 0, len(data)
    if end >= 16:
        lanes = [(seed + _A32 + _B32) & _MASK32, (seed + _B32) & _MASK32, seed, (seed - _A32) & _MASK32]
        for place in range(0, end - 15, 16):
            lanes = [_round32(lane, _word(data, place + 4 * i, 4)) for i, lane in enumerate(lanes)]
        place += 16
        result = sum(_turned(lane, by, 32) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK32
    else:
        result = (seed + _E32) & _MASK32
    result = (result + end) & _MASK32
    while place + 4 <= end:
        result = _turned((result + _word(data, place, 4) * _C32) & _MASK32, 17, 32) * _D32 & _MASK32
        place += 4
    for byte in data[place:]:
        result = _turned((result + byte * _E32) & _MASK32, 11, 32) * _A32 & _MASK32
    result = (result ^ result >> 15) * _B32 & _MASK32
    result = (result ^ result >> 13) * _C32 & _MASK32
    return result ^ result >> 16


def xxh64(data: bytes, seed: int) -> int:
    """Return the hash of 64 bits."""
    place, end = 0, len(data)
    if end >= 32:
        lanes = [(seed + _A64 + _B64) & _MASK64, (seed + _B64) & _MASK64, seed, (seed - _A64) & _MASK64]
        for place in range(0, end - 31, 32):
            lanes = [_round64(lane, _word(data, place + 8 * i, 8)) for i, lane in enumerate(lanes)]
        place += 32
        result = sum(_turned(lane, by, 64) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK64
        for lane in lanes:
            result = ((result ^ _round64(0, lane)) * _A64 + _D64) & _MASK64
    else:
        result = (seed + _E64) & _MASK64
    result = (result + end) & _MASK64
    while place + 8 <= end:
        result = (_turned(result ^ _round64(0, _word(data, place, 8)), 27, 64) * _A64 + _D64) & _MASK64
        place += 8
    if place + 4 <= end:
        result = (_turned(result ^ _word(data, place, 4) * _A64 & _MASK64, 23, 64) * _B64 + _C64) & _MASK64
        place += 4
    for byte in data[place:]:
        result = _turned(result ^ byte * _E64 & _MASK64, 11, 64) * _A64 & _MASK64
    result = (result ^ result >> 33) * _B64 & _MASK64
    result = (result ^ result >> 29) * _C64 & _MASK64
    return result ^ result >> 32
