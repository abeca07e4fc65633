"""Expressions that a search asks for: what of them it computes itself, and the memos of the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from deltic.circuit.expressions import column, is_literal, operands_of, put
from deltic.engine.kernels import memo as kernel
from deltic.engine.kernels.types import Ints, Table
from deltic.engine.plan.arithmetic import is_arithmetic
from deltic.engine.storage.layout import Domain, Raw
from deltic.values.types import Type, ValueType

_FIRST, _MOST = 1 << 8, 1 << 16


class Memo:
    """The answers to one question, by its arguments; see `kernels.memo`.

    A memo that is full when something more is asked forgets all, and starts again, four times as large up to a limit.
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
        """The arguments of the entries that have no answer yet, uint64[n, width]."""
        answered, count = self.header[[kernel.ANSWERED, kernel.COUNT]].tolist()
        return self._entries[answered:count, kernel.ARGUMENTS :].view(np.uint64)

    def answer(self, states: Sequence[int] | Ints, results: Sequence[int] | Ints) -> None:
        """Give those entries their states and results."""
        answered, count = self.header[[kernel.ANSWERED, kernel.COUNT]].tolist()
        self._entries[answered:count, kernel.STATE] = states
        self._entries[answered:count, kernel.RESULT] = results
        self.header[kernel.ANSWERED] = count

    def make_room(self) -> None:
        """See that something can be asked. What a search waits for is answered first, so that it goes on."""
        count, capacity = self.header[[kernel.COUNT, kernel.CAPACITY]].tolist()
        if count == capacity:
            self._begin(min(4 * capacity, _MOST))

    @property
    def forgets(self) -> bool:
        """Whether it has just forgotten what it will not have room for the next time."""
        return bool(self.header[kernel.CAPACITY] == _MOST and self.header[kernel.COUNT] == 0)


@dataclass(frozen=True)
class Question:
    """An expression over arguments, columns by the names of `argument_name`, each an offset in its domain.

    The answer to a condition is 1, if it is true. A search ends where there is no answer; NULL is one if it is
    `nullable`.
    """

    expression: exp.Expression
    arguments: Sequence[tuple[Type, Domain]]
    is_condition: bool
    nullable: bool
    memo: Memo


def argument_name(index: int) -> str:
    """What an expression calls an argument."""
    return f"a{index}"


def arguments_of(
    expression: exp.Expression, types: Mapping[str, ValueType]
) -> tuple[exp.Expression, list[exp.Expression]]:
    """The expression over arguments, and these: columns, and the largest parts that a search can compute."""
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
