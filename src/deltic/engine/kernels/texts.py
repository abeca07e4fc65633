"""Texts by number: a hash table from bytes to dense ids, and a search among sorted texts.

The bytes of text `i` are at `ends[i]` to `ends[i + 1]` of the address `stored`. A slot of the table is 0, or 24 bits of
the text's hash above 40 bits of its id plus 1; a text is in the first free slot from the low bits of its hash on. Given
texts have the same form: from `offsets[i]` to `offsets[i + 1]` of the address `data`.

Other threads may look texts up while one adds some: the target of a slot is written before the slot, and is compared
byte by byte.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, inlined, kernel
from deltic.engine.kernels.memory import load_u8, load_word, store_u8
from deltic.engine.kernels.types import U64, Int, Ints, Words1

# The number of texts that are hashed before the first of them is looked up.
_BLOCK = 128
_ID_MASK = np.uint64((1 << 40) - 1)
_TAG_MASK = ~_ID_MASK
_FACTOR = np.uint64(0xC6A4A7935BD1E995)
_FOLD = np.uint64(47)


@compiled
def _rest(data: Int, start: Int, end: Int) -> U64:
    """Return up to eight bytes as a number, the first byte lowest."""
    word = np.uint64(0)
    for i in range(start, end):
        word |= np.uint64(load_u8(data, i)) << np.uint64(8 * (i - start))
    return word


@inlined
def _mixed(state: U64, word: U64) -> U64:
    """Return the state of a hash after another word."""
    word = word * _FACTOR
    word ^= word >> _FOLD
    return (state ^ word * _FACTOR) * _FACTOR


@compiled
def hash_of(data: Int, start: Int, end: Int, seed: U64) -> U64:
    """Return a hash of some bytes: MurmurHash64A."""
    state = seed ^ np.uint64(end - start) * _FACTOR
    while start + 8 <= end:
        state = _mixed(state, load_word(data, start))
        start += 8
    if start < end:
        state = (state ^ _rest(data, start, end)) * _FACTOR
    state = (state ^ state >> _FOLD) * _FACTOR
    return state ^ state >> _FOLD


@compiled
def _are_equal(a: Int, at_a: Int, b: Int, at_b: Int, length: Int) -> bool:
    """Return whether this number of bytes is equal at two addresses."""
    i = 0
    while i + 8 <= length:
        if load_word(a, at_a + i) != load_word(b, at_b + i):
            return False
        i += 8
    while i < length:
        if load_u8(a, at_a + i) != load_u8(b, at_b + i):
            return False
        i += 1
    return True


@compiled
def _begin_block(data: Int, offsets: Ints, first: Int, seed: U64, table: Words1, ends: Ints, hashes: Words1) -> None:
    """Write the hashes of the block of texts from `first` on, and read their slots and the ends of the texts in these.

    The reads depend on no other, so the processor waits for all of them at once, and the look-ups find them in its
    cache. Compilers drop reads whose values are unused, so their sum is the last element.
    """
    count, mask, total = min(_BLOCK, offsets.size - 1 - first), np.uint64(table.size - 1), np.uint64(0)
    for i in range(count):
        hashes[i] = hash_of(data, offsets[first + i], offsets[first + i + 1], seed)
    for i in range(count):
        total += table[hashes[i] & mask]
    for i in range(count):
        place: Int = min(np.int64(table[hashes[i] & mask] & _ID_MASK), ends.size - 1)
        total += np.uint64(ends[place])
    hashes[-1] = total


@compiled
def _slot_of(data: Int, start: Int, end: Int, hashed: U64, table: Words1, ends: Ints, stored: Int) -> tuple[Int, Int]:
    """Return the id of a text, -1 if it has none, and its slot or the free slot for it."""
    mask = np.uint64(table.size - 1)
    tag = hashed & _TAG_MASK
    slot = hashed & mask
    while table[slot] != 0:
        entry = table[slot]
        if entry & _TAG_MASK == tag:
            number = np.int64(entry & _ID_MASK) - 1
            place = ends[number]
            if ends[number + 1] - place == end - start and _are_equal(data, start, stored, place, end - start):
                return number, np.int64(slot)
        slot = (slot + np.uint64(1)) & mask
    return np.int64(-1), np.int64(slot)


@kernel
def find(data: Int, offsets: Ints, seed: U64, table: Words1, ends: Ints, stored: Int, missing: Int) -> Ints:
    """Return the ids of texts, `missing` for those without one."""
    ids = np.empty(offsets.size - 1, np.int64)
    hashes = np.empty(_BLOCK + 1, np.uint64)
    for i in range(ids.size):
        if i % _BLOCK == 0:
            _begin_block(data, offsets, i, seed, table, ends, hashes)
        number, _ = _slot_of(data, offsets[i], offsets[i + 1], hashes[i % _BLOCK], table, ends, stored)
        ids[i] = number if number >= 0 else missing
    return ids


@kernel
def number(data: Int, offsets: Ints, seed: U64, table: Words1, ends: Ints, stored: Int, count: Int) -> Ints:
    """Return the ids of texts; new texts get the ids from `count` on, for which there must be room.

    The last element is the new number of ids.
    """
    ids = np.empty(offsets.size, np.int64)
    hashes = np.empty(_BLOCK + 1, np.uint64)
    for i in range(ids.size - 1):
        if i % _BLOCK == 0:
            _begin_block(data, offsets, i, seed, table, ends, hashes)
        start, end, hashed = offsets[i], offsets[i + 1], hashes[i % _BLOCK]
        known, slot = _slot_of(data, start, end, hashed, table, ends, stored)
        if known < 0:
            place = ends[count]
            for k in range(end - start):
                store_u8(stored, place + k, load_u8(data, start + k))
            ends[count + 1] = place + end - start
            known = count
            count += 1
            table[slot] = (hashed & _TAG_MASK) | np.uint64(count)
        ids[i] = known
    ids[-1] = count
    return ids


@kernel
def enter(seed: U64, table: Words1, ends: Ints, stored: Int, count: Int) -> None:
    """Enter the first `count` texts, which are all different, into an empty table."""
    mask = np.uint64(table.size - 1)
    hashes = np.empty(_BLOCK + 1, np.uint64)
    for i in range(count):
        if i % _BLOCK == 0:
            _begin_block(stored, ends[: count + 1], i, seed, table, ends, hashes)
        hashed = hashes[i % _BLOCK]
        slot = hashed & mask
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = (hashed & _TAG_MASK) | np.uint64(i + 1)


@compiled
def _compare(a: Int, at_a: Int, end_a: Int, b: Int, at_b: Int, end_b: Int) -> Int:
    """Return the sign of one text minus another, byte by byte; a prefix is less than the whole text."""
    length = min(end_a - at_a, end_b - at_b)
    i = 0
    while i + 8 <= length and load_word(a, at_a + i) == load_word(b, at_b + i):
        i += 8
    while i < length:
        x, y = load_u8(a, at_a + i), load_u8(b, at_b + i)
        if x != y:
            return -1 if x < y else 1
        i += 1
    return (end_a - at_a) - (end_b - at_b)


@compiled
def _head(data: Int, start: Int, end: Int) -> U64:
    """Return up to eight bytes as a number, the first byte highest: unequal numbers compare as the bytes do."""
    word = np.uint64(0)
    for i in range(min(8, end - start)):
        word |= np.uint64(load_u8(data, start + i)) << np.uint64(56 - 8 * i)
    return word


@kernel
def heads(run: Ints, ends: Ints, stored: Int) -> Words1:
    """Return, for texts given by their ids in order, the eight bytes after their common prefix; last, the prefix's
    length.

    A search reads these numbers, which are adjacent, and reads a text only if its number equals the sought one.
    """
    result = np.zeros(run.size + 1, np.uint64)
    if run.size:
        first, last, skipped = run[0], run[-1], 0
        length = min(ends[first + 1] - ends[first], ends[last + 1] - ends[last])
        while skipped < length and load_u8(stored, ends[first] + skipped) == load_u8(stored, ends[last] + skipped):
            skipped += 1
        for i in range(run.size):
            result[i] = _head(stored, ends[run[i]] + skipped, ends[run[i] + 1])
        result[-1] = np.uint64(skipped)
    return result


@compiled
def _place(data: Int, start: Int, end: Int, low: Int, run: Ints, heads: Words1, ends: Ints, stored: Int) -> Int:
    """Return how many texts of a run, of which at least `low` are, are less than a text with their common prefix."""
    head = _head(data, start + np.int64(heads[-1]), end)
    high = run.size
    while low < high:
        middle = (low + high) >> 1
        is_less = heads[middle] < head
        if heads[middle] == head:
            is_less = _compare(stored, ends[run[middle]], ends[run[middle] + 1], data, start, end) < 0
        if is_less:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def places(data: Int, offsets: Ints, run: Ints, heads: Words1, ends: Ints, stored: Int) -> Ints:
    """Return how many texts of a run with its `heads` are less than each of the given texts, which are sorted."""
    result = np.zeros(offsets.size - 1, np.int64)
    low, skipped = 0, np.int64(heads[-1])
    for i in range(result.size if run.size else 0):
        start, end = offsets[i], offsets[i + 1]
        common, first = start + min(skipped, end - start), ends[run[0]]
        order = _compare(data, start, common, stored, first, first + skipped)
        if order > 0:
            low = run.size
        elif order == 0:
            low = _place(data, start, end, low, run, heads, ends, stored)
        result[i] = low
    return result
