"""Integer expressions that searches compute themselves: which ones, and as instructions of `kernels.arithmetic`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from deltic.circuit.expressions import cast_type, is_literal, is_literal_zero, operands_of, type_of
from deltic.circuit.types import Type
from deltic.engine.local.kernels import arithmetic as kernel

# A value: a slot, -1 for none, and what is added to it.
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
_DIVISIONS = (exp.Div, exp.IntDiv, exp.Mod)


def is_arithmetic(expression: exp.Expression, types: Mapping[str, Type]) -> bool:
    """Whether a search can compute the expression: integers alone, divided by nothing but literals other than zero."""
    if isinstance(expression, exp.Column) or is_literal(expression):
        return type_of(expression, types).is_integer
    kinds = (*_OPERATIONS, *_EXTREMES, exp.Neg, exp.BitwiseNot, exp.Paren)
    is_known = isinstance(expression, kinds) or (
        isinstance(expression, exp.TryCast) and cast_type(expression).is_integer
    )
    if isinstance(expression, _DIVISIONS):
        divisor = expression.expression
        is_known = is_literal(divisor) and not is_literal_zero(divisor)
    return is_known and all(is_arithmetic(operand, types) for operand in operands_of(expression))


class Assembler:
    """Appends the instructions of expressions to `code`; `fresh` makes slots for what they compute on the way."""

    def __init__(
        self,
        types: Mapping[str, Type],
        value_of: Callable[[exp.Expression], int],
        column: Callable[[str], Operand],
        fresh: Callable[[], int],
    ) -> None:
        self._types, self._value_of, self._column, self._fresh = types, value_of, column, fresh
        self.code: list[list[int]] = []

    def assemble(self, expression: exp.Expression) -> Operand:
        """Where the value is, as relations hold it, once the instructions that were appended have run."""
        return self._flipped(self._natural(expression), type_of(expression, self._types))

    def _natural(self, expression: exp.Expression) -> Operand:
        """The value with its own bits: relations hold unsigned integers with the first one flipped."""
        type_ = type_of(expression, self._types)
        if isinstance(expression, exp.Column):
            return self._flipped(self._column(expression.name), type_)
        if is_literal(expression):
            return self._flipped((-1, self._value_of(expression)), type_)
        operands = [self._natural(operand) for operand in operands_of(expression)]
        if isinstance(expression, exp.Neg):
            return self._apply(kernel.SUBTRACT, (-1, 0), operands[0])
        if isinstance(expression, exp.BitwiseNot):
            return self._apply(kernel.XOR, operands[0], (-1, -1))
        if type(expression) in _EXTREMES:
            return self._extreme(_EXTREMES[type(expression)], [self._flipped(o, type_) for o in operands], type_)
        if type(expression) in _OPERATIONS:
            operation = _OPERATIONS[type(expression)]
            return self._apply(_UNSIGNED.get(operation, operation) if type_ is Type.UINT64 else operation, *operands)
        return operands[0]  # parentheses, and conversions between integers, which keep the bits

    def _extreme(self, operation: int, held: list[Operand], type_: Type) -> Operand:
        """The extreme of values as relations hold them, whose order is that of signed integers."""
        found = held[0]
        for operand in held[1:]:
            found = self._apply(operation, found, operand)
        return self._flipped(found, type_)

    def _apply(self, operation: int, left: Operand, right: Operand) -> Operand:
        target = self._fresh()
        self.code.append([operation, target, *left, *right])
        return target, 0

    def _flipped(self, operand: Operand, type_: Type) -> Operand:
        """From the value itself to what relations hold, and back."""
        slot, addend = operand
        return (slot, _wrapped(addend + _SIGN)) if type_ is Type.UINT64 else operand


def _wrapped(value: int) -> int:
    """The signed 64-bit integer that is equal modulo 2⁶⁴."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
