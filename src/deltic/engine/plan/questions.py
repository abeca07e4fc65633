"""Expressions that the caller evaluates for a search, and the memos of their values.

The search computes the arguments, as far as they are integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from deltic.circuit.expressions import column, is_literal, operands_of, put
from deltic.engine.kernels import memo as kernel
from deltic.engine.kernels.types import Ints, Table
from deltic.engine.plan.arithmetic import is_arithmetic
from deltic.engine.storage.columns import Domain, Raw
from deltic.values.types import Type, ValueType

_FIRST, _MOST = 1 << 8, 1 << 16


class Memo:
    """The answers to one question, by its arguments; see `kernels.memo`.

    A full memo forgets all entries at the next question. It starts again four times as large, up to a limit.
    """

    def __init__(self, width: int) -> None:
        self.header: Ints = np.zeros(kernel.FIELDS, np.int64)
        self.header[kernel.WIDTH] = width
        self._begin(_FIRST)

    def _begin(self, capacity: int) -> None:
        self._entries: Table = np.empty((capacity, kernel.ARGUMENTS + int(self.header[kernel.WIDTH])), np.int64)
        self._index: Ints = np.zeros(2 * capacity, np.int64)
        self.header[[kernel.ENTRIES, kernel.INDEX]] = self._entries.ctypes.data, self._index.ctypes.data
        self.header[[kernel.COUNT, kernel.ANSWERED]] = 0
        self.header[[kernel.CAPACITY, kernel.MASK]] = capacity, 2 * capacity - 1

    def asked(self) -> Raw:
        """Return the arguments of the entries without an answer, uint64[n, width]."""
        answered, count = self.header[[kernel.ANSWERED, kernel.COUNT]].tolist()
        return self._entries[answered:count, kernel.ARGUMENTS :].view(np.uint64)

    def answer(self, states: Sequence[int] | Ints, results: Sequence[int] | Ints) -> None:
        """Set the states and results of these entries."""
        answered, count = self.header[[kernel.ANSWERED, kernel.COUNT]].tolist()
        self._entries[answered:count, kernel.STATE] = states
        self._entries[answered:count, kernel.RESULT] = results
        self.header[kernel.ANSWERED] = count

    def make_room(self) -> None:
        """Ensure that a question fits. All pending questions must have been answered before."""
        count, capacity = self.header[[kernel.COUNT, kernel.CAPACITY]].tolist()
        if count == capacity:
            self._begin(min(4 * capacity, _MOST))

    @property
    def forgets(self) -> bool:
        """Return whether it has just forgotten entries and cannot grow any more."""
        return bool(self.header[kernel.CAPACITY] == _MOST and self.header[kernel.COUNT] == 0)


@dataclass(frozen=True)
class Question:
    """An expression over arguments, which are columns named by `argument_name`, each an offset in its domain.

    For a condition, the answer is 1 if it is true. A branch of the search ends where there is no answer.
    NULL is an answer if the question is `nullable`.
    """

    expression: exp.Expression
    arguments: Sequence[tuple[Type, Domain]]
    is_condition: bool
    nullable: bool
    memo: Memo


def argument_name(index: int) -> str:
    """Return the column name of an argument."""
    return f"a{index}"


def arguments_of(
    expression: exp.Expression, types: Mapping[str, ValueType]
) -> tuple[exp.Expression, list[exp.Expression]]:
    """Return the expression over arguments, and the arguments: columns, and the largest parts that a search can
    compute.
    """
    around = exp.Paren(this=expression.copy())
    result: list[exp.Expression] = []

    def replace(node: exp.Expression) -> None:
        if isinstance(node, exp.Column) or (not is_literal(node) and is_arithmetic(node, types)):
            if node not in result:
                result.append(node.copy())
            put(node, column(argument_name(result.index(node))))
        else:
            for operand in operands_of(node):
                replace(operand)

    replace(around.this)
    return around.this, result
