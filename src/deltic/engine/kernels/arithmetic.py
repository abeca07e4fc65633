"""Integer arithmetic inside a search: computes values from those of slots, and places a result in its domain.

A program is a sequence of rows of `code` int64[., 6]: an operation, the slot that it writes, and two operands. An
operand is a slot and an addend; slot -1 stands for zero, so its addend is a literal. Slots of variables contain
offsets, and the addend is their base. Arithmetic is modulo 2⁶⁴: only right shifts, extremes, quotients, remainders and
LESS distinguish signed from unsigned. LOOK_UP reads an element of the array int64 at an address. EQUAL, LESS and
CONTAINS return all ones for true and 0 for false, so AND, OR and XOR combine them. The right operand of CONTAINS is the
address of an array int64: a count, and that many values in ascending order.

A row of `lets` int64[., 11] has: the result, as an operand; the values that have a place, and their base; whether the
base itself has none; the slot of the offset; whether a value without a place can be skipped; and the least and greatest
values that could not; and the slot that is 0 where the result is NULL, -1 if it never is.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memory import load_i64
from deltic.engine.kernels.types import U64, Int, Ints, Table, Words1

ADD, SUBTRACT, MULTIPLY, AND, OR, XOR, SHIFT_LEFT, SHIFT_RIGHT, SHIFT_RIGHT_UNSIGNED, MINIMUM, MAXIMUM = range(11)
QUOTIENT, REMAINDER, QUOTIENT_UNSIGNED, REMAINDER_UNSIGNED, LOOK_UP, EQUAL, LESS, CONTAINS = range(11, 19)
# Columns of `code`.
OPERATION, TARGET, LEFT, LEFT_ADDEND, RIGHT, RIGHT_ADDEND = range(6)
# Columns of `lets`.
SOURCE, ADDEND, LOW, HIGH, BASE, TURNED, SLOT, SOUGHT, LEAST, GREATEST, KNOWN = range(11)
# A value has a place; has none and need not have one; has none.
FITS, MISSES, STRAYS = range(3)


@compiled
def _quotient(a: Int, b: Int) -> Int:
    """Return the signed quotient, rounded toward zero, which wraps around."""
    if b == -1:
        return np.int64(np.uint64(0) - np.uint64(a))
    quotient = a // b
    if quotient * b != a and (a < 0) != (b < 0):
        quotient += 1
    return quotient


@compiled
def _truth(holds: bool) -> U64:
    """Return all ones for true, 0 for false."""
    return np.uint64(0) - np.uint64(holds)


@compiled
def _contains(address: Int, value: Int) -> bool:
    """Return whether an array of a count and ascending values contains this value."""
    low, high = np.int64(1), load_i64(address, 0)
    while low <= high:
        middle = (low + high) >> np.int64(1)
        there = load_i64(address, middle)
        if there == value:
            return True
        if there < value:
            low = middle + 1
        else:
            high = middle - 1
    return False


@compiled
def _apply(operation: Int, a: U64, b: U64) -> U64:
    """Return the result of one operation; divisors are not zero."""
    result = a
    if operation == ADD:
        result = a + b
    elif operation == SUBTRACT:
        result = a - b
    elif operation == MULTIPLY:
        result = a * b
    elif operation == AND:
        result = a & b
    elif operation == OR:
        result = a | b
    elif operation == XOR:
        result = a ^ b
    elif operation == SHIFT_LEFT:
        result = a << (b & np.uint64(63))
    elif operation == SHIFT_RIGHT:
        result = np.uint64(np.int64(a) >> np.int64(b & np.uint64(63)))
    elif operation == SHIFT_RIGHT_UNSIGNED:
        result = a >> (b & np.uint64(63))
    elif operation == MINIMUM:
        result = a if np.int64(a) < np.int64(b) else b
    elif operation == MAXIMUM:
        result = b if np.int64(a) < np.int64(b) else a
    elif operation == QUOTIENT:
        result = np.uint64(_quotient(np.int64(a), np.int64(b)))
    elif operation == REMAINDER:
        result = a - np.uint64(_quotient(np.int64(a), np.int64(b))) * b
    elif operation == QUOTIENT_UNSIGNED:
        result = a // b
    elif operation == REMAINDER_UNSIGNED:
        result = a - a // b * b
    elif operation == LOOK_UP:
        result = np.uint64(load_i64(np.int64(b), np.int64(a)))
    elif operation == EQUAL:
        result = _truth(bool(a == b))
    elif operation == LESS:
        result = _truth(bool(np.int64(a) < np.int64(b)))
    elif operation == CONTAINS:
        result = _truth(_contains(np.int64(b), np.int64(a)))
    return result


@compiled
def _operand(slot: Int, addend: Int, slots: Words1) -> U64:
    return np.uint64(addend) + (slots[slot] if slot >= 0 else np.uint64(0))


@compiled
def run(code: Table, first: Int, count: Int, slots: Words1) -> None:
    """Run a program."""
    for i in range(first, first + count):
        left = _operand(code[i, LEFT], code[i, LEFT_ADDEND], slots)
        right = _operand(code[i, RIGHT], code[i, RIGHT_ADDEND], slots)
        slots[code[i, TARGET]] = _apply(code[i, OPERATION], left, right)


@kernel
def let(code: Table, first: Int, count: Int, row: Ints, slots: Words1) -> Int:
    """Run a program and place its result. Return whether that FITS, MISSES or STRAYS."""
    run(code, first, count, slots)
    if row[KNOWN] >= 0 and slots[row[KNOWN]] == 0:
        slots[row[SLOT]] = np.uint64(0)
        return FITS
    return place(np.int64(_operand(row[SOURCE], row[ADDEND], slots)), row, slots)


@compiled
def place(value: Int, row: Ints, slots: Words1) -> Int:
    """Put the offset of a value into its slot. Return whether it FITS, MISSES or STRAYS."""
    if row[LOW] <= value <= row[HIGH] and not (row[TURNED] and value == row[BASE]):
        slots[row[SLOT]] = np.uint64(value) - np.uint64(row[BASE])
        return FITS
    if row[SOUGHT]:
        return MISSES
    row[LEAST] = min(row[LEAST], value)
    row[GREATEST] = max(row[GREATEST], value)
    return STRAYS
