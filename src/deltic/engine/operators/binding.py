"""A query's plan bound to layouts: the kernels' tables of its segments, and the answerers of its questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from deltic.circuit.expressions import type_of
from deltic.engine.operators import numbers, scalar
from deltic.engine.operators.answers import Answerer
from deltic.engine.operators.columns import Columns
from deltic.engine.plan.bind import Encoding, Tables, bind
from deltic.engine.plan.plan import Plan, PlanAccess, Segment
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.basis import Basis
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.layout import Domain, Layout, Place
from deltic.engine.storage.state import State
from deltic.program.queries import Term
from deltic.values.types import Type


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
