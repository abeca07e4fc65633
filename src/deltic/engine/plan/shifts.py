"""Equalities between a column and another one plus a constant, as `a.n = b.n + 1`: look-ups from either side.

SQL checks such a sum: it is an error where it does not fit into its type. A plan that looks up the row with the other
value skips rows whose sums do not fit. So it is only for columns where the sums of all values fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from deltic.circuit.expressions import Checked, columns_of, infer, is_not_null, literal, operands_of
from deltic.circuit.expressions.casts import cast
from deltic.circuit.expressions.meaning import meaning
from deltic.depth import deep
from deltic.engine.plan.plan import LetStep, Plan, TestStep
from deltic.engine.plan.planner import Planner
from deltic.engine.storage.columns import Domain
from deltic.errors import EvaluationError
from deltic.program.queries import Atom, Query, as_expression, variable_of
from deltic.values.types import Type, ValueType

_SUMS = (exp.SafeAdd, exp.Add)
_DIFFERENCES = (exp.SafeSubtract, exp.Sub)


@dataclass(frozen=True)
class Shift:
    """The fact that a variable equals another one plus a constant; `sums` are the intermediate sums and their types."""

    variable: int
    other: int
    constant: int
    sums: tuple[tuple[int, Type], ...]

    def is_defined(self, domains: Mapping[int, Domain]) -> bool:
        """Return whether the sums of all values in the other variable's domain fit into their types."""
        low, high = domains[self.other].range()
        return all(t.range[0] <= low + constant and high + constant <= t.range[1] for constant, t in self.sums)


@deep
def plan_shifts(query: Query) -> tuple[Plan, tuple[Shift, ...]] | None:
    """Return the plan that looks up shifted values, with the shifts that it relies on; None if there are none."""
    planner = _ShiftPlanner(query)
    shifts = tuple(planner.shifts)
    return (planner.run(), shifts) if shifts else None


class _ShiftPlanner(Planner):
    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self.shifts = list(self._found())
        self.equations = [e for e in self.equations if self._shift(*e) not in self.shifts]

    def _found(self) -> Iterator[Shift]:
        for variable, expression in self.equations:
            shift = self._shift(variable, expression)
            if shift is not None and shift.variable != shift.other and {shift.variable, shift.other} <= self.sought:
                yield shift

    def _shift(self, variable: int, expression: exp.Expression) -> Shift | None:
        """Return the shift that an equation states, if it states one."""
        if not _is_signed(self.body.types[variable].type) or self._may_both_be_null(variable, expression):
            return None
        if expression.find(Checked) is None or (offset := _offset(expression, self.types)) is None:
            return None
        other, sums = offset
        return Shift(variable, other, sums[-1][0], sums) if sums else None

    def _may_both_be_null(self, variable: int, expression: exp.Expression) -> bool:
        """Return whether NULL on both sides may satisfy the equation; a look-up of shifted values finds no NULL."""
        sides = as_expression(variable), expression
        tests = [is_not_null(side.copy()) for side in sides]
        return all(self.body.infer(side).nullable for side in sides) and not any(
            test in self.body.conditions for test in tests
        )

    def bind_computed(self, sought: bool) -> bool:
        return (sought and self._look_up()) or super().bind_computed(sought)

    def _look_up(self) -> bool:
        """Bind one variable of a shift by the other one, or test it if both are bound."""
        for shift in self.shifts:
            known = self.bound & {shift.variable, shift.other}
            if known:
                self.shifts.remove(shift)
                self._take_shift(shift, known)
                return True
        return False

    def _take_shift(self, shift: Shift, known: set[int]) -> None:
        nullable = (v for v in sorted(known) if self.body.types[v].nullable)
        self.steps += [TestStep(is_not_null(as_expression(v))) for v in nullable]
        value = _moved(shift.other, shift.constant)
        if len(known) == 2:
            self.steps.append(TestStep(exp.EQ(this=_moved(shift.variable, 0), expression=value)))
        elif shift.other in known:
            self._let(LetStep(shift.variable, value, sought=True))
        else:
            self._let(LetStep(shift.other, _moved(shift.variable, -shift.constant), sought=True))

    def variables_read(self, but: Atom | None = None) -> set[int]:
        return super().variables_read(but) | {v for shift in self.shifts for v in (shift.variable, shift.other)}


def _offset(
    expression: exp.Expression, types: Mapping[str, ValueType]
) -> tuple[int, tuple[tuple[int, Type], ...]] | None:
    """Return the only variable of an expression that adds constants to it, and the typed sums on the way."""
    if not columns_of(expression):
        return None
    type_ = infer(expression, types).type
    if not _is_signed(type_):
        return None
    if isinstance(expression, exp.Column):
        return variable_of(expression.name), ()
    if isinstance(expression, exp.Paren | Checked | exp.TryCast):
        inner = _offset(expression.this, types)
        return None if inner is None else (inner[0], (*inner[1], (_last(inner[1]), type_)))
    if not isinstance(expression, _SUMS + _DIFFERENCES):
        return None
    left, right = operands_of(expression)
    if isinstance(expression, _SUMS) and not columns_of(left):
        left, right = right, left
    if columns_of(right) or (inner := _offset(left, types)) is None:
        return None
    try:
        constant = meaning(right, {})({})
    except EvaluationError:  # it is for the rows that reach it
        return None
    if not isinstance(constant, int):
        return None
    last = _last(inner[1]) + (constant if isinstance(expression, _SUMS) else -constant)
    return inner[0], (*inner[1], (last, type_))


def _last(sums: tuple[tuple[int, Type], ...]) -> int:
    return sums[-1][0] if sums else 0


def _is_signed(type_: Type) -> bool:
    return type_.is_integer and type_.signed


def _moved(variable: int, constant: int) -> exp.Expression:
    """Return a variable plus a constant, in 64 bits."""
    wide = cast(as_expression(variable), Type.INT64)
    if not constant:
        return wide
    return (exp.Add if constant > 0 else exp.Sub)(this=wide, expression=literal(abs(constant), Type.INT64))
