"""The arithmetic that a search does itself, on integers and short decimals: instructions of `kernels.arithmetic`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from deltic.circuit.expressions import infer, is_literal, operands_of, result_of, type_of
from deltic.circuit.expressions.casts import never_undefined
from deltic.engine.kernels import arithmetic as kernel
from deltic.engine.storage.columns import signed
from deltic.engine.storage.interner import is_wide
from deltic.values.types import Kind, Type, ValueType

# A value: the content of a slot (-1: none) plus a constant.
Operand = tuple[int, int]

_SIGN = -(1 << 63)
_OPERATIONS: dict[type[exp.Expression], int] = {
    exp.Add: kernel.ADD,
    exp.Sub: kernel.SUBTRACT,
    exp.Mul: kernel.MULTIPLY,
    exp.BitwiseAnd: kernel.AND,
    exp.BitwiseOr: kernel.OR,
    exp.BitwiseXor: kernel.XOR,
    exp.BitwiseLeftShift: kernel.SHIFT_LEFT,
    exp.BitwiseRightShift: kernel.SHIFT_RIGHT,
    exp.Div: kernel.QUOTIENT,
    exp.IntDiv: kernel.QUOTIENT,
    exp.Mod: kernel.REMAINDER,
}
_UNSIGNED = {
    kernel.SHIFT_RIGHT: kernel.SHIFT_RIGHT_UNSIGNED,
    kernel.QUOTIENT: kernel.QUOTIENT_UNSIGNED,
    kernel.REMAINDER: kernel.REMAINDER_UNSIGNED,
}
_EXTREMES: dict[type[exp.Expression], int] = {exp.Least: kernel.MINIMUM, exp.Greatest: kernel.MAXIMUM}
_ANY_WIDTH = (*_EXTREMES, exp.Paren)
_OF_DECIMALS = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Paren)
_COMPUTED = (*_OPERATIONS, *_ANY_WIDTH, exp.Neg, exp.BitwiseNot, exp.TryCast)


def is_arithmetic(expression: exp.Expression, types: Mapping[str, ValueType], no_nulls: bool = False) -> bool:
    """Return whether a search can compute the expression: numbers that are never NULL, computed in 64 bits.

    Decimals are integers in units of their last digit. With `no_nulls`, no variable is NULL.
    """
    return _number(expression, types, no_nulls) is not None


def _number(expression: exp.Expression, types: Mapping[str, ValueType], no_nulls: bool) -> ValueType | None:
    """Return the type of an expression that a search can compute; None if it cannot."""
    if isinstance(expression, exp.Column) or is_literal(expression):
        result = infer(expression, types)
        is_null = result.nullable and not (no_nulls and isinstance(expression, exp.Column))
        return ValueType(result.type) if not is_null and _is_number(result.type) else None
    if not isinstance(expression, _COMPUTED):
        return None
    operands = list[ValueType]()
    for operand in operands_of(expression):
        if (number := _number(operand, types, no_nulls)) is None:
            return None
        operands.append(number)
    return _result(expression, operands)


def is_operation(expression: exp.Expression, operands: Sequence[Type]) -> bool:
    """Return whether a search can apply an operation to operands of these types, and its result is then not NULL."""
    is_of_numbers = isinstance(expression, _COMPUTED) and all(map(_is_number, operands))
    return is_of_numbers and _result(expression, [ValueType(type_) for type_ in operands]) is not None


def _result(expression: exp.Expression, operands: Sequence[ValueType]) -> ValueType | None:
    """Return the type of an operation on numbers; None if it may be NULL, or has no instructions."""
    result = result_of(expression, operands)
    return result if not result.nullable and _has_instructions(expression, operands[0].type, result.type) else None


def _is_number(type_: Type) -> bool:
    return type_.is_integer or is_short(type_)


def _has_instructions(expression: exp.Expression, operand: Type, result: Type) -> bool:
    """Return whether there are instructions for an operation on numbers."""
    if isinstance(expression, exp.TryCast):
        return _is_number(result) and _is_exact(operand, result)
    if is_short(result):
        return isinstance(expression, _OF_DECIMALS)
    return result.is_integer and (isinstance(expression, _ANY_WIDTH) or result.bits == 64)


def is_short(type_: Type) -> bool:
    """Return whether all values are decimals that are stored as themselves."""
    return type_.kind is Kind.DECIMAL and not is_wide(type_)


def _is_exact(source: Type, target: Type) -> bool:
    """Return whether a cast keeps every value: of integers, their 64 bits; of decimals, all digits."""
    if is_short(target):
        digits = source.scale if source.kind is Kind.DECIMAL else 0
        return digits <= target.scale and never_undefined(source, target)
    if not source.is_integer or target.bits == 64:
        return source.is_integer
    (least, most), (low, high) = source.range, target.range
    return low <= least and most <= high


class Assembler:
    """Append the instructions of expressions to `code`; `fresh` allocates a slot for an intermediate result."""

    def __init__(
        self,
        types: Mapping[str, Type],
        value_of: Callable[[exp.Expression], int],
        column: Callable[[str], Operand],
        fresh: Callable[[], int],
    ) -> None:
        self.types, self.value_of, self._column, self._fresh = types, value_of, column, fresh
        self.code: list[list[int]] = []

    def assemble(self, expression: exp.Expression) -> Operand:
        """Append the instructions of an expression. Return the operand of its value, encoded as relations store it."""
        return self.flipped(self.natural(expression), type_of(expression, self.types))

    def operand(self, expression: exp.Expression) -> Operand:
        """Return the operand of a variable or literal of any type, or of arithmetic, encoded as relations store it."""
        if isinstance(expression, exp.Column):
            return self._column(expression.name)
        return (-1, self.value_of(expression)) if is_literal(expression) else self.assemble(expression)

    def natural(self, expression: exp.Expression) -> Operand:
        """Return the operand of the plain value. Relations store unsigned integers with the top bit flipped."""
        type_ = type_of(expression, self.types)
        if isinstance(expression, exp.Column):
            return self.flipped(self._column(expression.name), type_)
        if is_literal(expression):
            return self.flipped((-1, self.value_of(expression)), type_)
        return self.computed(expression, [self.natural(part) for part in operands_of(expression)])

    def computed(self, expression: exp.Expression, operands: list[Operand]) -> Operand:
        """Append the instructions of one operation on plain operands."""
        type_, parts = type_of(expression, self.types), operands_of(expression)
        if type_.kind is Kind.DECIMAL and not isinstance(expression, exp.Mul):
            pairs = zip(operands, parts, strict=True)
            operands = [self.rescaled(operand, type_of(part, self.types), type_) for operand, part in pairs]
        if isinstance(expression, exp.Neg):
            return self.apply(kernel.SUBTRACT, (-1, 0), operands[0])
        if isinstance(expression, exp.BitwiseNot):
            return self.apply(kernel.XOR, operands[0], (-1, -1))
        if type(expression) in _EXTREMES:
            return self._extreme(_EXTREMES[type(expression)], [self.flipped(o, type_) for o in operands], type_)
        if type(expression) in _OPERATIONS:
            operation = _OPERATIONS[type(expression)]
            return self.apply(_UNSIGNED.get(operation, operation) if type_ is Type.UINT64 else operation, *operands)
        return operands[0]  # parentheses, and conversions, which keep the bits of integers

    def rescaled(self, operand: Operand, source: Type, target: Type) -> Operand:
        """Return an integer or a decimal in units of the last digit of another type, which has as many or more."""
        digits = target.scale - (source.scale if source.kind is Kind.DECIMAL else 0)
        return self.apply(kernel.MULTIPLY, operand, (-1, 10**digits)) if digits else operand

    def _extreme(self, operation: int, held: list[Operand], type_: Type) -> Operand:
        """Return the plain least or greatest of stored operands: their order is that of signed integers."""
        result = held[0]
        for operand in held[1:]:
            result = self.apply(operation, result, operand)
        return self.flipped(result, type_)

    def apply(self, operation: int, left: Operand, right: Operand) -> Operand:
        """Append an instruction. Return the operand of its result."""
        target = self._fresh()
        self.code.append([operation, target, *left, *right])
        return target, 0

    def flipped(self, operand: Operand, type_: Type) -> Operand:
        """Convert a plain operand to the stored encoding, or back: both flip the top bit of unsigned integers."""
        slot, addend = operand
        return (slot, signed(addend + _SIGN)) if type_ is Type.UINT64 else operand
