"""Values that a search computes itself although they may be NULL: arithmetic, COALESCE and CASE over any values.

Each value has a second operand: all ones where it is not NULL, 0 where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial, reduce

from sqlglot import exp

from deltic.circuit.expressions import infer, is_literal, operands_of, type_of
from deltic.circuit.expressions.casts import is_null_of_a_type
from deltic.engine.kernels import arithmetic as kernel
from deltic.engine.plan.arithmetic import Operand, is_operation
from deltic.engine.plan.conditions import FALSE, TRUE, ConditionAssembler, is_decided
from deltic.values.types import ValueType

_NULL: Operand = (-1, 0)


def is_value(expression: exp.Expression, types: Mapping[str, ValueType]) -> bool:
    """Return whether a search can compute the value."""
    if isinstance(expression, exp.Column) or is_literal(expression) or _is_null(expression):
        return True
    if isinstance(expression, exp.Case):
        tests, values = [test for test, _ in _branches(expression)], [value for _, value in _branches(expression)]
        return all(is_decided(test, types) for test in tests) and all(is_value(value, types) for value in values)
    parts = operands_of(expression)
    is_known = isinstance(expression, exp.Coalesce) or is_operation(expression, [infer(p, types).type for p in parts])
    return is_known and all(is_value(part, types) for part in parts)


def _branches(case: exp.Case) -> Iterator[tuple[exp.Expression, exp.Expression]]:
    """Yield the conditions of CASE with their values; the last is for all other rows."""
    yield from ((branch.this, branch.args["true"]) for branch in case.args["ifs"])
    yield exp.true(), case.args.get("default") or exp.null()


def _is_null(expression: exp.Expression) -> bool:
    return isinstance(expression, exp.Null) or is_null_of_a_type(expression)


class ValueAssembler(ConditionAssembler):
    """Appends the instructions of values that may be NULL, too."""

    def value(self, expression: exp.Expression) -> tuple[Operand, Operand]:
        """Append the instructions of a value. Return it, as relations store it, and whether it is not NULL."""
        plain, known = self._plain(expression)
        return self.flipped(plain, type_of(expression, self.types)), known

    def _plain(self, expression: exp.Expression) -> tuple[Operand, Operand]:
        """Return the plain value, and whether it is not NULL."""
        if _is_null(expression):
            return _NULL, FALSE
        if isinstance(expression, exp.Case):
            branches = [(self.decide(test), self._plain(value)) for test, value in _branches(expression)]
            return reduce(lambda others, own: self._chosen(own[0], own[1], others), branches[::-1], (_NULL, FALSE))
        if isinstance(expression, exp.Column):
            return self.natural(expression), self.known(expression.name)
        if is_literal(expression):
            return self.natural(expression), TRUE
        parts = [self._plain(part) for part in operands_of(expression)]
        if isinstance(expression, exp.Coalesce):
            return reduce(lambda others, own: self._chosen(own[1], own, others), parts[::-1], (_NULL, FALSE))
        return self.computed(expression, [value for value, _ in parts]), reduce(
            self.both, [known for _, known in parts]
        )

    def _chosen(
        self, truth: Operand, value: tuple[Operand, Operand], other: tuple[Operand, Operand]
    ) -> tuple[Operand, Operand]:
        """Return the one value where a truth value is true, and the other where it is not."""
        if truth in (TRUE, FALSE):
            return value if truth == TRUE else other
        opposite = self.apply(kernel.XOR, truth, TRUE)
        own = [self.apply(kernel.AND, part, truth) for part in value]
        others = [self.apply(kernel.AND, part, opposite) for part in other]
        plain, known = map(partial(self.apply, kernel.OR), own, others)
        return plain, known
