"""Expressions over whole columns in 64 bits: numbers, truth values, and all that is compared as integers.

A program is a sequence of instructions, rows of `code` int64[., 6]: an operation, the register that it writes, up to
three registers that it reads, and a constant. A register has the values of a block of rows as relations store them, and
the state of each: 0, or the bits NULL and MISFIT. A value that is an error, or may not fit into 64 bits, is a MISFIT,
and so is all that is computed from it; the caller then computes the expression in another way. Values of other states
than 0 are arbitrary. Registers 0 and 1 are for intermediate results of floats.

Some fields are no registers. COLUMN has the index of a column in A; CONSTANT has the state in A. QUOTIENT, REMAINDER,
DIVIDE and FLOAT_DIVIDE have in C the state of a division by zero. WITHIN has the least value in C, and the greatest in
the constant. ROUND and FROM_INTEGER have their factor in the constant, DIVIDE the number of digits that the quotient
has more.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memory import load_i64, load_u8, store_u8
from deltic.engine.kernels.types import U64, Int, Ints, Table

NULL, MISFIT = 1, 2
# Operations on one operand, or none.
COLUMN, CONSTANT, WITHIN, ROUND, FROM_INTEGER, NOT, IS_NULL = range(7)
# Operations on two operands, which are NULL where one is.
ADD, SUBTRACT, MULTIPLY, QUOTIENT, REMAINDER, DIVIDE, EQUAL, LESS = range(7, 15)
FLOAT_ADD, FLOAT_SUBTRACT, FLOAT_MULTIPLY, FLOAT_DIVIDE = range(15, 19)
# Operations that look at NULLs themselves.
AND, OR, SAME, COALESCE, SELECT = range(19, 24)
OPERATION, TARGET, A, B, C, GIVEN = range(6)
# Rows that are computed at a time.
_BLOCK = 256
_REST = np.int64((1 << 63) - 1)
_EXACT = 1 << 53
_ROOM = float(1 << 62)


@compiled
def _size(value: Int) -> U64:
    """Return the magnitude of an integer."""
    return np.uint64(0) - np.uint64(value) if value < 0 else np.uint64(value)


@compiled
def _signed(size: U64, negative: bool) -> Int:
    return np.int64(np.uint64(0) - size) if negative else np.int64(size)


@compiled
def _divide(a: Int, b: Int, digits: Int) -> tuple[Int, Int]:
    """Return the quotient of a · 10^digits and b, which is not zero, rounded half away from zero, and its state."""
    size, divisor = _size(a), _size(b)
    if divisor >= np.uint64(1 << 59):
        return np.int64(0), np.int64(MISFIT)
    quotient = size // divisor
    rest = size - quotient * divisor
    while digits > 0:
        factor = np.uint64(10)
        if digits >= 9 and divisor < np.uint64(1 << 33):
            factor = np.uint64(10**9)
            digits -= 9
        else:
            digits -= 1
        if quotient > np.uint64(1 << 62) // factor:
            return np.int64(0), np.int64(MISFIT)
        rest *= factor
        more = rest // divisor
        quotient = quotient * factor + more
        rest -= more * divisor
    if rest + rest >= divisor:
        quotient += np.uint64(1)
    return _signed(quotient, (a < 0) != (b < 0)), np.int64(0)


@compiled
def _of_two(operation: Int, a: Int, b: Int, undefined: Int, given: Int) -> tuple[Int, Int]:
    """Return the result of an operation on two integers that are not NULL, and its state."""
    value, state = np.int64(0), np.int64(0)
    if operation == ADD:
        value = a + b
        if (a ^ value) & (b ^ value) < 0:
            state = np.int64(MISFIT)
    elif operation == SUBTRACT:
        value = a - b
        if (a ^ b) & (a ^ value) < 0:
            state = np.int64(MISFIT)
    elif operation == MULTIPLY:
        value = a * b
        if abs(np.float64(a) * np.float64(b)) >= _ROOM:
            state = np.int64(MISFIT)
    elif operation == EQUAL:
        value = np.int64(a == b)
    elif operation == LESS:
        value = np.int64(a < b)
    elif b == 0:
        state = undefined
    elif operation == DIVIDE:
        value, state = _divide(a, b, given)
    else:
        quotient = _size(a) // _size(b)
        if operation == QUOTIENT:
            value = _signed(quotient, (a < 0) != (b < 0))
            if value == np.int64(-(1 << 63)):
                state = np.int64(MISFIT)
        else:
            value = _signed(_size(a) - quotient * _size(b), a < 0)
    return value, state


@compiled
def _of_one(operation: Int, a: Int, low: Int, given: Int) -> tuple[Int, Int]:
    """Return the result of an operation on one integer that is not NULL, and its state."""
    value, state = a, np.int64(0)
    if operation == WITHIN:
        if a < low or a > given:
            state = np.int64(MISFIT)
    elif operation == ROUND:
        size, factor = _size(a), np.uint64(given)
        quotient = size // factor
        rest = size - quotient * factor
        if rest + rest >= factor:
            quotient += np.uint64(1)
        value = _signed(quotient, a < 0)
    elif operation == NOT:
        value = a ^ np.int64(1)
    return value, state


@compiled
def _logic(operation: Int, a: Int, a_state: Int, b: Int, b_state: Int) -> tuple[Int, Int]:
    """Compute three-valued AND and OR, null-safe equality, and COALESCE."""
    either = a_state | b_state
    value, state = np.int64(0), either
    if operation == COALESCE:
        value, state = a, a_state
        if a_state == NULL:
            value, state = b, b_state
    elif operation == SAME:
        if either < MISFIT:
            value, state = np.int64(a_state == b_state and (a_state == NULL or a == b)), np.int64(0)
    else:
        decisive = np.int64(operation == OR)
        if a_state == 0 and a == decisive:
            value, state = decisive, np.int64(0)
        elif either < MISFIT and b_state == 0 and b == decisive:
            value, state = decisive, np.int64(0)
        elif either == 0:
            value = np.int64(1) - decisive
    return value, state


@compiled
def _ordered(bits: Int) -> Int:
    """Convert the bits of a float to an integer with the order of floats, or back."""
    return bits ^ ((bits >> np.int64(63)) & _REST)


@compiled
def _floats(row: Ints, values: Table, states: Table, count: Int) -> None:
    """Compute an operation on a block of floats."""
    floats = values.view(np.float64)
    operation, target, a, b = row[OPERATION], row[TARGET], row[A], row[B]
    for i in range(count):
        state = states[a, i]
        result = 0.0
        if operation == FROM_INTEGER:
            if abs(values[a, i]) >= _EXACT:
                state |= MISFIT
            result = np.float64(values[a, i]) / np.float64(row[GIVEN])
        else:
            state |= states[b, i]
            values[0, i] = _ordered(values[a, i])
            values[1, i] = _ordered(values[b, i])
            left, right = floats[0, i], floats[1, i]
            if operation == FLOAT_ADD:
                result = left + right
            elif operation == FLOAT_SUBTRACT:
                result = left - right
            elif operation == FLOAT_MULTIPLY:
                result = left * right
            elif right != 0.0:
                result = left / right
            elif state == 0:
                state = row[C]
        floats[target, i] = np.nan if np.isnan(result) else result + 0.0
        values[target, i] = _ordered(values[target, i])
        states[target, i] = state


@compiled
def _step(row: Ints, columns: Table, values: Table, states: Table, start: Int, count: Int) -> None:
    """Run an instruction for a block of rows."""
    operation, target, a, b, c = row[OPERATION], row[TARGET], row[A], row[B], row[C]
    given = row[GIVEN]
    if operation == COLUMN:
        for i in range(count):
            values[target, i] = load_i64(columns[a, 0], start + i)
            nulls = columns[a, 1]
            states[target, i] = np.int64(nulls != 0 and load_u8(nulls, start + i) != 0)
    elif operation == CONSTANT:
        for i in range(count):
            values[target, i] = given
            states[target, i] = a
    elif operation == FROM_INTEGER or FLOAT_ADD <= operation <= FLOAT_DIVIDE:
        _floats(row, values, states, count)
    elif operation == IS_NULL:
        for i in range(count):
            values[target, i] = states[a, i] & NULL
            states[target, i] = states[a, i] & MISFIT
    elif operation <= NOT:
        for i in range(count):
            value, state = values[a, i], states[a, i]
            if state == 0:
                value, state = _of_one(operation, value, c, given)
            values[target, i], states[target, i] = value, state
    elif operation <= LESS:
        for i in range(count):
            value, state = np.int64(0), states[a, i] | states[b, i]
            if state == 0:
                value, state = _of_two(operation, values[a, i], values[b, i], c, given)
            values[target, i], states[target, i] = value, state
    elif operation == SELECT:
        for i in range(count):
            state = states[a, i]
            source = b if state == 0 and values[a, i] != 0 else c
            values[target, i] = values[source, i]
            states[target, i] = MISFIT if state >= MISFIT else states[source, i]
    else:
        for i in range(count):
            value, state = _logic(operation, values[a, i], states[a, i], values[b, i], states[b, i])
            values[target, i], states[target, i] = value, state


@kernel
def compute(code: Table, columns: Table, registers: Int, results: Ints, values: Table, nulls: Int) -> Ints:
    """Run a program on the rows of columns. Return the states that occur in each of the registers of `results`.

    Each column has its address, and the address of bytes that are 1 where it is NULL, or 0 for none. The results become
    rows of `values`; the bytes at the address `nulls`, zero at first, mark where they are NULL.
    """
    held = np.empty((registers, _BLOCK), np.int64)
    states = np.empty((registers, _BLOCK), np.int64)
    occurring = np.zeros(results.size, np.int64)
    count = values.shape[1]
    for start in range(0, count, _BLOCK):
        size = min(count - start, _BLOCK)
        for i in range(code.shape[0]):
            _step(code[i], columns, held, states, start, size)
        for r in range(results.size):
            register = results[r]
            for i in range(size):
                state = states[register, i]
                values[r, start + i] = held[register, i]
                if state != 0:
                    occurring[r] |= state
                    store_u8(nulls, r * count + start + i, np.uint8(state & NULL))
    return occurring
