"""Answers the questions of searches: few values one by one, as the reference interpreter does, many by vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from deltic.circuit.expressions import type_of
from deltic.circuit.expressions.meaning import meaning
from deltic.engine.kernels.memo import DEFINED, NULL, UNDEFINED
from deltic.engine.operators import numbers, scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.plan.questions import Question, argument_name
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.layout import Domain, Raw, signed
from deltic.engine.storage.single import reader, writer
from deltic.values.types import Type

# From this many arguments on, vectors are faster.
_MANY = 128
_Answer = tuple[int, int]


class Answerer:
    """Answers one question."""

    def __init__(self, question: Question, interner: Interner) -> None:
        self.question, self._interner = question, interner
        names = [argument_name(i) for i in range(len(question.arguments))]
        self._types = {name: type_ for name, (type_, _) in zip(names, question.arguments, strict=True)}
        self._result = type_of(question.expression, self._types)
        self._meaning = meaning(question.expression, self._types)
        self._write = writer(self._result, interner)
        self._readers = [
            (name, _raw_reader(type_, domain, interner))
            for name, (type_, domain) in zip(names, question.arguments, strict=True)
        ]

    def answer(self) -> None:
        """Answer all pending questions."""
        memo = self.question.memo
        asked = memo.asked()
        if not len(asked):
            memo.make_room()
        elif len(asked) < _MANY:
            memo.answer(*zip(*map(self._one, asked.tolist()), strict=True))
        else:
            memo.answer(*self._many(asked))

    def _one(self, arguments: Sequence[int]) -> _Answer:
        """Return the state and the result for one row of arguments."""
        row = {name: read(raw) for (name, read), raw in zip(self._readers, arguments, strict=True)}
        value = self._meaning(row)
        if self.question.is_condition:
            return (DEFINED, 1) if value is True else (UNDEFINED, 0)
        if value is None:
            return (NULL if self.question.nullable else UNDEFINED), 0
        return DEFINED, self._write(value)

    def _many(self, asked: Raw) -> tuple[numbers.Array, numbers.Array]:
        """Return the states and the results for many rows."""
        parts = zip(self._types, self.question.arguments, np.ascontiguousarray(asked.T), strict=True)
        values = {name: (domain.decode(raw), domain.nulls(raw)) for name, (_, domain), raw in parts}
        columns = Columns(values, self._types, len(asked), self._interner)
        if self.question.is_condition:
            kept = scalar.keep((self.question.expression,), columns)
            return np.where(kept, DEFINED, UNDEFINED), kept.astype(np.int64)
        array, nulls = scalar.evaluate(self.question.expression, columns)
        held = numbers.stored(array, self._result, self._interner)
        there = np.ones(len(asked), bool) if nulls is None else ~nulls
        return np.where(there, DEFINED, NULL if self.question.nullable else UNDEFINED), held


def _raw_reader(type_: Type, domain: Domain, interner: Interner) -> Callable[[int], object]:
    """Return the function from offsets in a domain to Python values, with None for NULL."""
    read, base = reader(type_, interner), domain.base
    if domain.nullable:
        return lambda raw: read(signed(raw + base)) if raw else None
    return lambda raw: read(signed(raw + base))
