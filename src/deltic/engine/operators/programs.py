"""Expressions as programs of `kernels.columnwise`: one call computes many of them, for all rows, in 64 bits.

A program does what `scalar` does by numpy, or says that it does not fit: where a number needs more than 64 bits, or an
operation is an error. Then `scalar` computes the expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from deltic.circuit.expressions import BY_ORDER, COMPARISONS, Checked, is_conversion, is_literal
from deltic.engine.kernels import columnwise as kernel
from deltic.engine.kernels.memory import address_of
from deltic.engine.operators import numbers
from deltic.engine.operators.columns import ColumnOperation, Columns
from deltic.engine.storage.columns import Column, addresses
from deltic.engine.storage.interner import DIGITS, is_interned, is_wide
from deltic.engine.storage.value_order import LARGE
from deltic.values.types import Kind, Type

# Longer programs, and longer lists of IN, are left to numpy.
_MOST, _LISTED = 1000, 16
# Registers for intermediate results of floats.
_SPARE = 2
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_WITHOUT = (Kind.UINT64, Kind.FLOAT32, Kind.ARRAY, Kind.STRUCT, Kind.MAP)
_SUMS: dict[type[exp.Expression], int] = {
    exp.Add: kernel.ADD,
    exp.SafeAdd: kernel.ADD,
    exp.Sub: kernel.SUBTRACT,
    exp.SafeSubtract: kernel.SUBTRACT,
}
_PRODUCTS = (exp.Mul, exp.SafeMultiply)
_DIVISIONS: dict[type[exp.Expression], int] = {
    exp.Div: kernel.QUOTIENT,
    exp.IntDiv: kernel.QUOTIENT,
    exp.Mod: kernel.REMAINDER,
}
_FLOATS: dict[type[exp.Expression], int] = {
    exp.Add: kernel.FLOAT_ADD,
    exp.Sub: kernel.FLOAT_SUBTRACT,
    exp.Mul: kernel.FLOAT_MULTIPLY,
    exp.Div: kernel.FLOAT_DIVIDE,
}
_NUMERIC = (*_SUMS, *_PRODUCTS, *_DIVISIONS, exp.Neg, exp.SafeNegate, exp.Cast)


class ColumnProgram:
    """Expressions on columns of the same types, without those that no program can compute."""

    def __init__(self, expressions: Sequence[exp.Expression], columns: Columns, conjunction: bool = False) -> None:
        assembler = _Assembler(columns)
        made = [assembler.of(expression) for expression in expressions]
        if conjunction:
            made = [assembler.conjunction(made)]
        self._expressions = expressions  # their id() is known while they live
        results = [register for register in made if register is not None]
        self._places = list(_numbered(made))
        self._results, self._registers = np.array(results, np.int64), assembler.registers
        self._code, self._names = np.array(assembler.code, np.int64).reshape(-1, 6), list(assembler.columns)

    def run(self, columns: Columns) -> list[Column | None]:
        """Return the stored values of each expression, None for those that a program can not compute for all rows."""
        results, count = len(self._results), columns.count
        if not results:
            return [None] * len(self._places)
        read = [columns.values[name] for name in self._names]
        given = [(np.ascontiguousarray(v), None if n is None else np.ascontiguousarray(n)) for v, n in read]
        values, nulls = np.empty((results, count), np.int64), np.zeros((results, count), bool)
        table = addresses(given) if given else np.zeros((0, 2), np.int64)
        states = kernel.compute(self._code, table, self._registers, self._results, values, address_of(nulls)).tolist()
        return [None if at is None else _column(states[at], values[at], nulls[at]) for at in self._places]


def _numbered(made: Sequence[int | None]) -> list[int | None]:
    """Return the number of each register among the present ones."""
    result, number = list[int | None](), 0
    for register in made:
        result.append(None if register is None else number)
        number += register is not None
    return result


def _column(states: int, values: np.ndarray[Any, Any], nulls: np.ndarray[Any, Any]) -> Column | None:
    return None if states & kernel.MISFIT else (values, nulls if states else None)


class _UnfitError(Exception):
    """No program computes an expression."""


class _Assembler:
    """Appends instructions; equal expressions are computed once."""

    def __init__(self, columns: Columns) -> None:
        self._node, self._types, self._interner = columns.node, columns.types, columns.interner
        self.code: list[list[int]] = []
        self.columns: dict[str, int] = {}
        self.registers = _SPARE
        self._known: dict[object, int] = {}

    def of(self, expression: exp.Expression) -> int | None:
        """Return the register of an expression's values, as relations store them; None if no program computes it."""
        length, known = len(self.code), dict(self._known)
        try:
            return self._register(expression)
        except _UnfitError:
            del self.code[length:]
            self._known = known
            return None

    def conjunction(self, registers: Sequence[int | None]) -> int | None:
        """Return the register of AND over these; None if one of them is None."""
        first, *others = registers
        for other in others:
            first = None if first is None or other is None else self._apply(kernel.AND, first, other)
        return first

    def _apply(self, operation: int, a: int = 0, b: int = 0, c: int = 0, given: int = 0) -> int:
        """Append an instruction. Return its register."""
        if not _LOWEST <= given <= _HIGHEST or len(self.code) >= _MOST:
            raise _UnfitError
        fields = operation, a, b, c, given
        if fields not in self._known:
            self.code.append([operation, self.registers, a, b, c, given])
            self._known[fields] = self.registers
            self.registers += 1
        return self._known[fields]

    def _register(self, expression: exp.Expression, undefined: int = kernel.NULL) -> int:
        """Return the register of an expression; a division by zero gives the state `undefined`."""
        key = expression, undefined
        if key not in self._known:
            self._known[key] = self._made(expression, undefined)
        return self._known[key]

    def _made(self, expression: exp.Expression, undefined: int) -> int:
        if isinstance(expression, exp.Paren):
            return self._register(expression.this, undefined)
        if isinstance(expression, exp.Column):
            return self._column(expression.name)
        if isinstance(expression, Checked) and isinstance(operation := expression.this, exp.Expression):
            return self._checked(operation)
        if not isinstance(expression, (*_NUMERIC, *_LOGIC)) and not is_literal(expression):
            raise _UnfitError
        node = self._node(expression)
        if node.result.kind in _WITHOUT:
            raise _UnfitError
        if node.constant is not None:
            (value,) = numbers.stored(node.constant, node.result, self._interner).tolist()
            return self._within(self._apply(kernel.CONSTANT, given=value), node.result, checks=is_wide(node.result))
        if (logic := _LOGIC.get(node.kind)) is not None:
            return logic(self, node)
        if isinstance(expression, exp.Cast):
            return self._cast(node) if node.operands else self._null()
        if isinstance(expression, exp.Neg | exp.SafeNegate):
            return self._negated(node)
        return self._arithmetic(node, undefined)

    def _checked(self, operation: exp.Expression) -> int:
        if not isinstance(operation, _NUMERIC):
            raise _UnfitError
        return self._register(operation, kernel.MISFIT)

    def _column(self, name: str) -> int:
        if (type_ := self._types[name]).kind in _WITHOUT:
            raise _UnfitError
        register = self._apply(kernel.COLUMN, self.columns.setdefault(name, len(self.columns)))
        return self._within(register, type_, checks=is_wide(type_))

    def _null(self) -> int:
        return self._apply(kernel.CONSTANT, kernel.NULL)

    def _within(self, register: int, type_: Type, checks: bool = True) -> int:
        """Return the register with only those values that the type has, stored as themselves."""
        if not checks:
            return register
        low, high = type_.range if type_.is_integer else _range(type_)
        return self._apply(kernel.WITHIN, register, 0, low, high)

    # Conditions

    def _is_null(self, node: ColumnOperation) -> int:
        return self._apply(kernel.IS_NULL, self._register(node.operands[0]) if node.operands else self._null())

    def _both(self, node: ColumnOperation) -> int:
        operation = kernel.AND if node.kind is exp.And else kernel.OR
        return self._apply(operation, *map(self._register, node.operands))

    def _not(self, register: int) -> int:
        return self._apply(kernel.NOT, register)

    def _same(self, node: ColumnOperation) -> int:
        same = self._apply(kernel.SAME, *self._sides(node))
        return same if node.kind is exp.NullSafeEQ else self._not(same)

    def _compared(self, node: ColumnOperation) -> int:
        is_equality, changed, negated = BY_ORDER[node.kind]
        operation = kernel.EQUAL if is_equality else kernel.LESS
        if operation == kernel.LESS and any(map(is_interned, node.types)):
            raise _UnfitError
        sides = self._sides(node)
        truth = self._apply(operation, *(reversed(sides) if changed else sides))
        return self._not(truth) if negated else truth

    def _sides(self, node: ColumnOperation) -> list[int]:
        """Return the registers of two operands in the same units."""
        left, right = node.types
        sides = [self._register(operand) for operand in node.operands]
        if left.kind is right.kind is Kind.DECIMAL:
            scale = max(left.scale, right.scale)
            return [self._rescaled(side, t.scale, scale) for side, t in zip(sides, node.types, strict=True)]
        if left is not right:
            raise _UnfitError
        return sides

    def _among(self, node: ColumnOperation) -> int:
        (type_,) = node.types
        listed = numbers.stored(node.listed, type_, self._interner).tolist()
        if len(listed) > _LISTED:
            raise _UnfitError
        value = self._register(node.operands[0])
        first, *others = [self._apply(kernel.EQUAL, value, self._apply(kernel.CONSTANT, given=v)) for v in listed]
        for other in others:
            first = self._apply(kernel.OR, first, other)
        return first

    def _coalesce(self, node: ColumnOperation) -> int:
        *others, last = map(self._register, node.operands)
        for other in reversed(others):
            last = self._apply(kernel.COALESCE, other, last)
        return last

    def _case(self, node: ColumnOperation) -> int:
        branches = 2 * len(node.expression.args["ifs"])
        registers = list(map(self._register, node.operands))
        last = registers[-1] if len(registers) > branches else self._null()
        for place in reversed(range(0, branches, 2)):
            last = self._apply(kernel.SELECT, registers[place], registers[place + 1], last)
        return last

    # Numbers

    def _rescaled(self, register: int, scale: int, target: int) -> int:
        """Return a decimal with another number of digits after the point, rounded half away from zero."""
        if scale == target:
            return register
        if target > scale:
            return self._apply(kernel.MULTIPLY, register, self._apply(kernel.CONSTANT, given=10 ** (target - scale)))
        return self._apply(kernel.ROUND, register, given=10 ** (scale - target))

    def _negated(self, node: ColumnOperation) -> int:
        if not (node.result.is_integer or node.result.kind is Kind.DECIMAL):
            raise _UnfitError
        zero = self._apply(kernel.CONSTANT)
        return self._within(self._apply(kernel.SUBTRACT, zero, self._register(node.operands[0])), node.result)

    def _arithmetic(self, node: ColumnOperation, undefined: int) -> int:
        if len(node.operands) != 2:
            raise _UnfitError
        left, right = node.types
        if left.kind is right.kind is node.result.kind is Kind.DECIMAL:
            return self._within(self._of_decimals(node, undefined), node.result)
        if not left is right is node.result:
            raise _UnfitError
        a, b = map(self._register, node.operands)
        if node.result is Type.FLOAT64 and node.kind in _FLOATS:
            return self._apply(_FLOATS[node.kind], a, b, undefined)
        if not node.result.is_integer:
            raise _UnfitError
        if node.kind in _DIVISIONS:
            return self._within(self._apply(_DIVISIONS[node.kind], a, b, undefined), node.result)
        return self._within(self._apply(_ring(node.kind), a, b), node.result)

    def _of_decimals(self, node: ColumnOperation, undefined: int) -> int:
        """Return the result of an operation on decimals, in units of its type."""
        (left, right), result = node.types, node.result
        if node.kind is exp.Div:
            a, b = map(self._register, node.operands)
            digits = result.scale + right.scale - left.scale
            if digits < 0:
                raise _UnfitError
            return self._apply(kernel.DIVIDE, a, b, undefined, digits)
        operation = _ring(node.kind)
        if operation == kernel.MULTIPLY:
            a, b = map(self._register, node.operands)
            return self._rescaled(self._apply(operation, a, b), left.scale + right.scale, result.scale)
        return self._rescaled(self._apply(operation, *self._sides(node)), max(left.scale, right.scale), result.scale)

    def _cast(self, node: ColumnOperation) -> int:
        (source,), target = node.types, node.result
        register = self._register(node.operands[0])
        if source is target:
            return register
        is_exact = source.is_integer or source.kind is Kind.DECIMAL
        scale = source.scale if source.kind is Kind.DECIMAL else 0
        if is_exact and target.kind is Kind.DECIMAL:
            return self._within(self._rescaled(register, scale, target.scale), target)
        if target is Type.FLOAT64 and (source.kind is Kind.DECIMAL or not is_conversion(node.expression)) and is_exact:
            return self._apply(kernel.FROM_INTEGER, register, given=10**scale)
        if not (is_exact and target.is_integer) or (scale and not is_conversion(node.expression)):
            raise _UnfitError
        if scale:
            register = self._apply(kernel.QUOTIENT, register, self._apply(kernel.CONSTANT, given=10**scale))
        return self._within(register, target)


def _ring(kind: type[exp.Expression]) -> int:
    """Return the operation of a sum, difference or product."""
    if kind in _PRODUCTS:
        return kernel.MULTIPLY
    if kind not in _SUMS:
        raise _UnfitError
    return _SUMS[kind]


def _range(decimal: Type) -> tuple[int, int]:
    """Return the least and greatest decimal, in units of its last digit, that is stored as itself."""
    most = 10**decimal.precision - 1 if decimal.precision <= DIGITS else LARGE - 1
    return -most, most


_LOGIC: dict[type[exp.Expression], Callable[[_Assembler, ColumnOperation], int]] = {
    exp.Is: _Assembler._is_null,
    exp.And: _Assembler._both,
    exp.Or: _Assembler._both,
    exp.Not: lambda assembler, node: assembler._not(assembler._register(node.operands[0])),
    exp.NullSafeEQ: _Assembler._same,
    exp.NullSafeNEQ: _Assembler._same,
    exp.In: _Assembler._among,
    exp.Coalesce: _Assembler._coalesce,
    exp.Case: _Assembler._case,
    **dict.fromkeys(COMPARISONS, _Assembler._compared),
}
