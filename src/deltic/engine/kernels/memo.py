"""Values for searches: for each expression that they cannot compute, a memo from its arguments to its value.

A memo is a vector of int64: the address of its entries, their number, how many of them are answered, how many fit, the
number of arguments of an expression, and an index by hash, with open addressing, of entry numbers from 1 on. An entry
is a row: its state, its result as a value, and its arguments as the search has them. A search adds an entry for each
missing value; its caller answers these entries, and the search continues where it first missed one.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.arithmetic import FITS, MISSES, SLOT, place, run
from deltic.engine.kernels.declaring import compiled
from deltic.engine.kernels.memory import array_i64, load_i64, load_u64, store_i64, store_u64
from deltic.engine.kernels.types import Int, Ints, Table, Words1

ENTRIES, COUNT, ANSWERED, CAPACITY, WIDTH, INDEX, MASK, FIELDS = range(8)
# Fields of an entry, the first argument's last.
STATE, RESULT, ARGUMENTS = range(3)
# States of an entry: not answered; with a value; without one, so that the search ends here; NULL, which has a place.
UNANSWERED, DEFINED, UNDEFINED, NULL = range(4)
# Beside the outcomes of `arithmetic.place`: the value is not known yet.
UNKNOWN = 3


@compiled
def _hash(slots: Words1, first: Int, width: Int) -> Int:
    mixed = np.uint64(width)
    for k in range(first, first + width):
        mixed = (mixed ^ slots[k]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed)


@compiled
def _is_of(entry: Int, slots: Words1, first: Int, width: Int) -> bool:
    for k in range(width):
        if load_u64(entry, ARGUMENTS + k) != slots[first + k]:
            return False
    return True


@compiled
def _entry_of(memo: Ints, slots: Words1, first: Int) -> Int:
    """Return the address of the entry for the arguments in these slots, made if there is none; 0 without room."""
    width = memo[WIDTH]
    size = 8 * (ARGUMENTS + width)
    at = _hash(slots, first, width) & memo[MASK]
    number = load_i64(memo[INDEX], at)
    while number:
        entry: Int = memo[ENTRIES] + (number - 1) * size
        if _is_of(entry, slots, first, width):
            return entry
        at = (at + 1) & memo[MASK]
        number = load_i64(memo[INDEX], at)
    if memo[COUNT] == memo[CAPACITY]:
        return 0
    made: Int = memo[ENTRIES] + memo[COUNT] * size
    store_i64(made, STATE, UNANSWERED)
    for k in range(width):
        store_u64(made, ARGUMENTS + k, slots[first + k])
    memo[COUNT] += 1
    store_i64(memo[INDEX], at, memo[COUNT])
    return made


@compiled
def ask(code: Table, step: Ints, row: Ints, slots: Words1) -> Int:
    """Compute the arguments of a step ASK and place the memo's value. Return whether it FITS, MISSES, STRAYS, is
    UNKNOWN.
    """
    run(code, step[2], step[3], slots)
    memo = array_i64(np.int64(slots[step[5]]), FIELDS)
    entry = _entry_of(memo, slots, step[4])
    state: Int = load_i64(entry, STATE) if entry else UNANSWERED
    if state == DEFINED:
        return place(load_i64(entry, RESULT), row, slots)
    if state == NULL:
        slots[row[SLOT]] = np.uint64(0)
        return FITS
    return MISSES if state == UNDEFINED else UNKNOWN
