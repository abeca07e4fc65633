"""A query's plan bound to layouts: the kernels' tables of its segments, and the answerers of its questions.

Few values are answered one by one, as the reference interpreter does, many by vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from deltic.circuit.expressions import type_of
from deltic.circuit.expressions.meaning import meaning
from deltic.engine.kernels.memo import DEFINED, NULL, UNDEFINED
from deltic.engine.operators import numbers, scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.plan.bind import Encoding, Tables, bind
from deltic.engine.plan.plan import Plan, PlanAccess, Segment
from deltic.engine.plan.questions import Question, argument_name
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.basis import Basis
from deltic.engine.storage.codec import reader, writer
from deltic.engine.storage.columns import Domain, Place, Raw, signed
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.state import State
from deltic.program.queries import Term
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


@dataclass(frozen=True)
class BoundSegment:
    """A segment with its tables and the layout of its search's results.

    `computed` is the layout of the rows that it computes from them for the next segment; None for the head's layout.
    """

    segment: Segment
    tables: Tables
    output: Layout
    computed: Layout | None


@dataclass(frozen=True)
class Binding:
    """A plan bound to the layouts and domains of its basis. Invalid once the basis no longer holds."""

    segments: Sequence[BoundSegment]
    answerers: Sequence[Answerer]
    basis: Basis

    @property
    def tables(self) -> Tables:
        """The tables of the first segment."""
        return self.segments[0].tables

    def answer(self) -> bool:
        """Answer the questions of the first segment's search. Return whether a memo could not keep all answers."""
        for answerer in self.answerers:
            answerer.answer()
        return any(answerer.question.memo.forgets for answerer in self.answerers)


@dataclass(frozen=True)
class Binder:
    """Binds a plan whose results are rows of `head`; `packed_as` returns an arrangement in an access's layout."""

    plan: Plan
    head: State
    domains: Mapping[int, Domain]
    types: Mapping[str, Type]
    packed_as: Callable[[PlanAccess], Arrangement]
    interner: Interner

    def bind(self) -> Binding:
        """Return the plan bound to the present layouts, which have places for all values of their domains."""
        basis = Basis()
        columns = basis.columns(self.head)
        made = {t: d for t, d in zip(self.plan.head, columns, strict=True) if isinstance(t, int)}
        of_variables = {**made, **{v: basis.domain(domain) for v, domain in self.domains.items()}}
        encoding = Encoding(of_variables, self.types, lambda literal: value_of(literal, self.interner))
        segments = list[BoundSegment]()
        intervals = self.plan.intervals
        input_layout = wide(self.domains, intervals.input) if intervals else None
        for segment in self.plan.segments:
            layouts = [self._layout(access, input_layout, basis) for access in segment.accesses]
            output, terms = self._output(segment, columns, basis)
            input_layout = None if segment is self.plan.segments[-1] else wide(self.domains, segment.computed)
            tables = bind(segment, layouts, output, terms, encoding)
            segments.append(BoundSegment(segment, tables, output, input_layout))
        answerers = [Answerer(question, self.interner) for question in segments[0].tables.questions]
        return Binding(segments, answerers, basis)

    def _layout(self, access: PlanAccess, input_layout: Layout | None, basis: Basis) -> Layout:
        if access.relation:
            return basis.layout(self.packed_as(access))
        assert input_layout is not None
        return input_layout

    def _output(
        self, segment: Segment, columns: Sequence[Domain], basis: Basis
    ) -> tuple[Layout, list[tuple[Term, Domain]]]:
        if segment.compute is not None:
            return wide(self.domains, segment.output), [(v, self.domains[v]) for v in segment.output]
        layout = basis.layout(self.head.contents)
        assert layout.holds(columns), f"the layout of {self.head.relation.name} has no place for all of its values"
        return layout, list(zip(self.plan.head, columns, strict=True))


def wide(domains: Mapping[int, Domain], variables: Sequence[int]) -> Layout:
    """Return a layout with one word for each variable."""
    result = [domains[v] for v in variables]
    places = tuple(Place(i, 0, 64, d.base, d.numbering, d.nullable) for i, d in enumerate(result))
    return Layout(places, max(1, len(places)))


def value_of(literal: exp.Expression, interner: Interner) -> int:
    """Return a literal as an int64 value."""
    array, _ = scalar.evaluate(literal, Columns({}, {}, 1, interner))
    return int(numbers.stored(array, type_of(literal, {}), interner)[0])
