"""The conditions that a search decides itself, as instructions of `kernels.arithmetic`.

A truth value is all ones for true, and 0 for false and unknown. NOT is moved down to single tests, and a single test is
false where a variable of it is NULL: so AND and OR are those of bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce

import numpy as np
from sqlglot import exp

from deltic.circuit.expressions import BY_ORDER, COMPARISONS, columns_of, infer, is_literal, type_of
from deltic.engine.kernels import arithmetic as kernel
from deltic.engine.kernels.types import Ints
from deltic.engine.plan.arithmetic import Assembler, Operand, is_arithmetic, is_short
from deltic.engine.plan.plan import is_null_test
from deltic.engine.storage.interner import DIGITS, is_interned, is_wide
from deltic.values.types import Type, ValueType

# A condition of more single tests is evaluated for many rows at once instead.
_MOST = 64
TRUE, FALSE = (-1, -1), (-1, 0)


def is_comparison(condition: exp.Expression, types: Mapping[str, ValueType]) -> bool:
    """Return whether a search can compare the operands, none of them NULL: variables, literals, integer arithmetic."""
    if not isinstance(condition, COMPARISONS):
        return False
    sides = (condition.this, condition.expression)
    left, right = (infer(side, types).type for side in sides)
    if left is not right or (is_wide(left) and _is_by_order(condition)):
        return False
    return all(_is_plain(side) for side in sides) or all(_is_computed(side, types) for side in sides)


def is_decided(condition: exp.Expression, types: Mapping[str, ValueType]) -> bool:
    """Return whether a search can decide a condition: AND, OR and NOT of a few comparisons, INs and NULL tests."""
    tests = list(_single_tests(condition))
    return len(tests) <= _MOST and all(_is_single(test, types) for test in tests)


def _single_tests(condition: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the parts of a condition that are not AND, OR or NOT of others."""
    waiting = [condition]
    while waiting:
        match node := waiting.pop():
            case exp.And() | exp.Or():
                waiting += [node.expression, node.this]
            case exp.Not() | exp.Paren():
                waiting.append(node.this)
            case _:
                yield node


def _is_single(test: exp.Expression, types: Mapping[str, ValueType]) -> bool:
    match test:
        case exp.Boolean():
            return True
        case exp.Column():
            return types[test.name].type is Type.BOOLEAN
        case exp.Is():
            return is_null_test(test) and types[test.this.name].nullable
        case exp.In():
            return _is_plain(test.this) or _is_computed(test.this, types)
    return (is_comparison(test, types) and not _looks_up_null(test, types)) or _is_of_decimals(test, types)


def _is_of_decimals(test: exp.Expression, types: Mapping[str, ValueType]) -> bool:
    """Return whether it compares decimals of two types that a search can compute with the digits of both."""
    if not isinstance(test, COMPARISONS):
        return False
    sides = (test.this, test.expression)
    left, right = (infer(side, types).type for side in sides)
    return (
        is_short(left)
        and is_short(right)
        and _common(left, right) is not None
        and all(_is_computed(side, types) for side in sides)
    )


def _common(left: Type, right: Type) -> Type | None:
    """Return the type of decimals with the digits of both; None if it is wide."""
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale
    return Type.decimal(digits, scale) if digits <= DIGITS else None


def _looks_up_null(test: exp.Expression, types: Mapping[str, ValueType]) -> bool:
    """Return whether it may look up the label of NULL, which has none."""
    by_label = _is_by_order(test) and is_interned(infer(test.this, types).type)
    return by_label and any(types[name].nullable for name in columns_of(test))


def _is_by_order(comparison: exp.Expression) -> bool:
    return not isinstance(comparison, exp.EQ | exp.NEQ)


def _is_plain(side: exp.Expression) -> bool:
    return isinstance(side, exp.Column) or is_literal(side)


def _is_computed(side: exp.Expression, types: Mapping[str, ValueType]) -> bool:
    """Return whether a search can compute the operand where none of its variables is NULL."""
    return is_arithmetic(side, types, no_nulls=True)


class ConditionAssembler(Assembler):
    """Appends the instructions of conditions, too.

    `null` returns the operand that is 0 where a variable is NULL; None where it never is. `label` returns the label of
    a variable or literal of a type, `address` a slot that holds the address of an array.
    """

    def __init__(
        self,
        types: Mapping[str, Type],
        value_of: Callable[[exp.Expression], int],
        column: Callable[[str], Operand],
        fresh: Callable[[], int],
        null: Callable[[str], Operand | None],
        label: Callable[[exp.Expression, Type], Operand],
        address: Callable[[Ints], int],
    ) -> None:
        super().__init__(types, value_of, column, fresh)
        self._null, self._label, self._address = null, label, address

    def decide(self, condition: exp.Expression, negated: bool = False) -> Operand:
        """Append the instructions of a condition, or of its negation. Return the operand of its truth value."""
        while isinstance(condition, exp.Paren | exp.Not):
            condition, negated = condition.this, negated != isinstance(condition, exp.Not)
        match condition:
            case exp.And() | exp.Or():
                left, right = (self.decide(part, negated) for part in (condition.this, condition.expression))
                return self.apply(kernel.AND if isinstance(condition, exp.And) != negated else kernel.OR, left, right)
            case exp.Boolean():
                return TRUE if bool(condition.this) != negated else FALSE
            case exp.Is():
                null = self._null(condition.this.name)
                return FALSE if null is None else self._zero(null, negated)
        truth = self._of(self._single(condition), negated)
        return reduce(self.both, map(self.known, columns_of(condition)), truth)

    def known(self, name: str) -> Operand:
        """Return whether a variable is not NULL."""
        null = self._null(name)
        return TRUE if null is None else self._zero(null, negated=True)

    def both(self, one: Operand, other: Operand) -> Operand:
        """Return whether both truth values are true."""
        return one if other == TRUE else other if one == TRUE else self.apply(kernel.AND, one, other)

    def _single(self, test: exp.Expression) -> Operand:
        """Return the truth value of a test of variables that are not NULL."""
        if isinstance(test, exp.Column):
            return self.apply(kernel.EQUAL, self.operand(test), (-1, 1))
        if isinstance(test, exp.In):
            listed = sorted({self.value_of(value) for value in test.expressions})
            array = self._address(np.array([len(listed), *listed], np.int64))
            return self.apply(kernel.CONTAINS, self.operand(test.this), (array, 0))
        is_equality, changed, negated = BY_ORDER[type(test)]
        operation = kernel.EQUAL if is_equality else kernel.LESS
        type_ = type_of(test.this, self.types)
        by_label = operation == kernel.LESS and is_interned(type_)
        sides = [self._label(side, type_) if by_label else self.operand(side) for side in (test.this, test.expression)]
        if is_short(type_) and (common := _common(type_, other := type_of(test.expression, self.types))) is not None:
            sides = [self.rescaled(side, of, common) for side, of in zip(sides, (type_, other), strict=True)]
        return self._of(self.apply(operation, *(reversed(sides) if changed else sides)), negated)

    def _zero(self, operand: Operand, negated: bool) -> Operand:
        """Return whether the operand is 0, or, negated, is not."""
        return self._of(self.apply(kernel.EQUAL, operand, (-1, 0)), negated)

    def _of(self, truth: Operand, negated: bool) -> Operand:
        return self.apply(kernel.XOR, truth, TRUE) if negated else truth
