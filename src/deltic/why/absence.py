"""Why a row is not in a view: for each rule, what holds, what fails, and the nearest rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import columns_of, conjuncts
from deltic.circuit.expressions.checks import show_value
from deltic.circuit.expressions.meaning import meaning
from deltic.circuit.expressions.trees import COMPARISONS
from deltic.errors import DelticError
from deltic.html import preformatted
from deltic.values.types import Schema
from deltic.why.bound import Bound, Row, Rows, named, same
from deltic.why.derivations import Derivation, Fact, subtracts
from deltic.why.explanation import Absence, ExplanationStep, as_written, brief, lines_of, shown
from deltic.why.nodes import PASSED, restricted, unexplained
from deltic.why.relations import DefinedView, RecursiveRelation, SourceTable
from deltic.why.scopes import ScopedNode
from deltic.why.search import ExplanationSearch
from deltic.why.words import bound_of, called, condition_of, pairs_of

_NEAREST = 3
"""Rows that are named beside what fails."""

_TRIED = 1_000
"""Rows among which the one that meets the most conditions is looked for."""

_DEPTH = 3
"""The height to which a row that must be absent is explained."""


@dataclass(frozen=True)
class FailedWay:
    """A rule that could derive the row, or a part of one: what `holds`, what `fails`, and the `nearest` rows.

    If `fails` is an Absence of all columns of a table, inserting that row makes this condition hold.
    """

    rule: str
    place: str
    holds: tuple[str, ...]
    fails: Absence | str
    nearest: tuple[str, ...] = ()
    because: tuple[ExplanationStep, ...] = ()
    """If rows of views must be absent, why they are there."""

    def __str__(self) -> str:
        lines = [brief(self.rule), *(f"  holds: {each}" for each in self.holds if each), f"  fails: {self.fails}"]
        lines += [f"  nearest: {each}" for each in self.nearest]
        return "\n".join([*lines, *(f"    {line}" for step in self.because for line in lines_of(step))])


@dataclass(frozen=True)
class WhyNot:
    """Why no row of a view has these values: `ways` has what fails for each rule."""

    view: str
    pattern: Mapping[str, Any]
    ways: tuple[FailedWay, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the view, the values, and the ways with their parts as texts."""
        ways = [
            {"rule": way.rule, "place": way.place, "holds": list(way.holds), "fails": str(way.fails)}
            | {"nearest": list(way.nearest), "because": [line for step in way.because for line in lines_of(step)]}
            for way in self.ways
        ]
        return {"view": self.view, "pattern": dict(self.pattern), "ways": ways}

    def to_json(self) -> str:
        """`to_dict` as JSON; values without a JSON type are texts."""
        return json.dumps(self.to_dict(), default=str, ensure_ascii=False)

    def __str__(self) -> str:
        return "\n".join([str(Absence(self.view, self.pattern)), *(f"{way}" for way in self.ways)])

    def _repr_html_(self) -> str:
        """Return the text for notebooks."""
        return preformatted(str(self))

    def __repr__(self) -> str:
        return str(self)


def why_not(search: ExplanationSearch, name: str, pattern: Mapping[str, Any]) -> WhyNot:
    """Return why no row of a view has these values; raises DelticError if one has."""
    relation = search.relation(name)
    if rows := search.evaluator.rows_of(relation, pattern):
        message = ", ".join(map(shown, next(iter(rows))))
        raise DelticError(f"{name} has a row with these values, ({message}): ask why")
    if isinstance(relation, SourceTable):
        return WhyNot(name, pattern, (FailedWay("table", "", (), Absence(name, pattern)),))
    leaf = search.evaluator.leaf(search.evaluator.reader.scope(name).sink(name))
    target = leaf if isinstance(leaf, RecursiveRelation) and leaf.name == name else relation
    failing, ways = _Failing(search), []
    for node, rule, place in search.rules(target):
        for way in failing.ways(node, pattern):
            fails = as_written(way.fails, rule) if isinstance(way.fails, str) else way.fails
            holds, nearest = (tuple(as_written(text, rule) for text in part) for part in (way.holds, way.nearest))
            each = replace(way, rule=rule, place=place, holds=holds, fails=fails, nearest=nearest)
            ways += [each] if each not in ways else []
    return WhyNot(name, pattern, tuple(ways))


class _Failing:
    """Follows the operators down to those without rows for the bound values."""

    def __init__(self, search: ExplanationSearch) -> None:
        self.search, self.of = search, search.evaluator

    def ways(self, node: ScopedNode, bound: Bound) -> Iterator[FailedWay]:
        """Yield what fails below a node that has no row with these values."""
        leaf, is_outer = self.of.leaf(node), node.scope.recursion is None
        if leaf is None:
            yield from self._of_operator(node, bound)
        elif isinstance(leaf, ScopedNode):
            yield from self.ways(leaf, bound)
        elif isinstance(leaf, RecursiveRelation) and is_outer and not self.of.reader.is_the_view(leaf):
            for branch, _, _ in self.search.rules(leaf):
                yield from self.ways(branch, bound)
        else:
            missing = self.search.derivations.absent_row(node, leaf, bound)
            yield FailedWay("", "", (), missing, self._nearest(node, bound))

    def _of_operator(self, node: ScopedNode, bound: Bound) -> Iterator[FailedWay]:
        operator, inputs = node.operator, node.inputs
        if isinstance(operator, ops.Plus):
            adding = [below for below in inputs if not subtracts(below)]
            rows = (row for below in adding for row in self.of.rows(below, bound))
            if len(adding) < len(inputs) and (row := next(rows, None)) is not None:
                yield FailedWay("", "", (), self.search.derivations.copies_left(node, row)[1])
                return
            for below in inputs:
                yield from self.ways(below, bound)
        elif isinstance(operator, (*PASSED, ops.Integrate)):
            yield from self.ways(node.below, bound)
        elif isinstance(operator, ops.Constant):
            listed = ", ".join(map(show_value, operator.rows)) or "an empty list"
            yield FailedWay("", "", (), Absence(brief(listed), bound_of(bound, self.of.words(node.scope))))
        elif isinstance(operator, ops.Negate):
            return
        elif isinstance(operator, ops.Map):
            yield from self._of_map(node, bound)
        elif isinstance(operator, ops.Join | ops.Semijoin):
            yield self._of_join(inputs, bound)
        elif isinstance(operator, ops.Filter | ops.Antijoin):
            yield from self._of_exclusion(node, bound)
        elif isinstance(operator, ops.Aggregate | ops.Top | ops.Over | ops.FlatMap):
            yield from self._of_group(node, bound)
        else:
            raise unexplained(operator)

    def _of_exclusion(self, node: ScopedNode, bound: Bound) -> Iterator[FailedWay]:
        """Yield the condition that is false, or the row that must be absent; else what fails in the input."""
        operator, left = node.operator, node.below
        if isinstance(operator, ops.Filter):
            bound = restricted(operator, node.schema, bound)
        rows = self.of.rows(left, bound)
        if not rows:
            yield from self.ways(left, bound)
            return
        if isinstance(operator, ops.Filter):
            yield self._of_filter(operator, left, rows)
            return
        right = node.inputs[1]
        key = right.row(left.named(next(iter(rows))))
        derivation = next(self.search.derivations.of_row(right, key), Derivation())
        blocking = [p for p in derivation.premises if isinstance(p, Fact)]
        parts = [f"{p.relation.name}({', '.join(map(shown, p.row))})" for p in blocking]
        derived = [p for p in blocking if not isinstance(p.relation, SourceTable)]
        because = tuple(self.search.step_of(each, _DEPTH) for each in derived)
        fails = f"not {', '.join(parts) or right.named(key)}"
        yield FailedWay("", "", self._told(left, rows)[:1], fails, because=because)

    def _of_filter(self, operator: ops.Filter, below: ScopedNode, rows: Rows) -> FailedWay:
        """Return the conditions that are false of the row that meets the most of them."""
        parts = [(part, meaning(part, below.schema.types)) for part in conjuncts(operator.predicate)]

        def failing(row: Row) -> list[exp.Expression]:
            return [part for part, is_met in parts if is_met(below.named(row)) is not True]

        first = min(islice(rows, _TRIED), key=lambda row: len(failing(row)))
        words = self.of.words(below.scope)
        fails = " AND ".join(
            condition_of(part, words) + _compared(part, first, below.schema) for part in failing(first)
        )
        return FailedWay("", "", self._told(below, dict.fromkeys((first, *rows))), f"where {fails}")

    def _of_group(self, node: ScopedNode, bound: Bound) -> Iterator[FailedWay]:
        """Other results of the same group; if the group is empty, what fails in the input."""
        grouped = self.of.grouped(node, bound)
        if self.of.rows(node.below, grouped):
            words = self.of.words(node.scope)
            wanted = [(node.schema.index(name), value) for name, value in bound.items()]
            rows = self.of.rows(node, grouped)
            nearest = sorted(rows, key=lambda row: sum(not same(row[i], value) for i, value in wanted))
            order = f" {called(node.operator, words)}" if isinstance(node.operator, ops.Top) else ""
            fails = str(Absence(self.search.derivations.names(node) + order, bound_of(bound, words)))
            is_grouped = isinstance(node.operator, ops.Aggregate)
            fails = fails.replace("no row", "no group", 1) if is_grouped else fails
            yield FailedWay("", "", (), fails, self._told(node, nearest))
        else:
            yield from self.ways(node.below, grouped)

    def _of_map(self, node: ScopedNode, bound: Bound) -> Iterator[FailedWay]:
        operator, below = node.operator, node.below
        assert isinstance(operator, ops.Map)
        passed: dict[str, Any] = {}
        for column, expression in zip(operator.columns, operator.expressions, strict=True):
            if expression.key == "column" and column.name in bound:
                value = passed.setdefault(expression.name, bound[column.name])
                if not same(value, bound[column.name]):
                    fails = f"{column.name} = {shown(bound[column.name])}, which equals {shown(value)} here"
                    yield FailedWay("", "", (), fails)
                    return
        if rows := self.of.rows(below, passed):
            compute, asked = self.of.mapping(*node.place), operator.columns

            def other(row: Row) -> list[str]:
                columns = zip(asked, operator.expressions, compute(row) or [None] * len(asked), strict=True)
                differing = [(c.name, e, v) for c, e, v in columns if c.name in bound and not same(v, bound[c.name])]
                return [
                    f"{self._value(node, name, e)} = {shown(value)}, not {shown(bound[name])}"
                    for name, e, value in differing
                ]

            first = min(islice(rows, _TRIED), key=lambda row: len(other(row)))
            fails = " AND ".join(other(first)) or "no value"
            yield FailedWay("", "", self._told(below, dict.fromkeys((first, *rows))), fails)
        else:
            yield from self.ways(below, passed)

    def _of_join(self, inputs: Sequence[ScopedNode], bound: Bound) -> FailedWay:
        """Return the partial join that matches the most inputs, and what fails in the next input."""
        best: tuple[tuple[ScopedNode, ...], dict[str, Any], ScopedNode] = ((), dict(bound), inputs[0])
        pending: list[tuple[tuple[ScopedNode, ...], dict[str, Any]]] = [((), dict(bound))]
        while pending:
            done, values = pending.pop()
            others = [each for each in inputs if each not in done]
            if not others:
                continue
            first = min(others, key=lambda each: self.of.freedom(each, values))
            if len(done) > len(best[0]) or not done:
                best = done, values, first
            rows = self.of.rows(first, first.own(values))
            pending += [((*done, first), {**values, **first.named(row)}) for row in reversed(rows)]
        done, values, failing = best
        holds = [text for each in done for text in self._told(each, [each.row(values)])]
        way = next(self.ways(failing, failing.own(values)))
        return replace(way, holds=(*holds, *way.holds))

    def _nearest(self, node: ScopedNode, bound: Bound) -> tuple[str, ...]:
        """Rows that differ from the values in one column."""
        if len(bound) < 2:
            return ()
        result: dict[str, None] = {}
        for name in bound:
            rows = self.of.rows(node, {n: value for n, value in bound.items() if n != name})
            result |= dict.fromkeys(self._told(node, islice(rows, _NEAREST)))
        return tuple(islice(result, _NEAREST))

    def _value(self, node: ScopedNode, name: str, expression: exp.Expression) -> str:
        """Return a computed column: its expression, or its name if that is no column's value or not the user's."""
        words = self.of.words(node.scope)
        if words.texts.columns.get(name) or not columns_of(expression):
            return words.column(name) or name
        return condition_of(expression, words)

    def _told(self, node: ScopedNode, rows: Iterable[Row]) -> tuple[str, ...]:
        """Return the first rows of a node, by the names of a relation's columns or the user's words for others."""
        words, names = self.of.words(node.scope), node.schema.names
        is_own = isinstance(self.of.leaf(node), SourceTable | DefinedView)
        listed = (node.named(row) if is_own else pairs_of(names, row, words) for row in rows)
        texts = (", ".join(f"{name} = {shown(value)}" for name, value in each.items()) for each in listed)
        return tuple(islice(filter(None, texts), _NEAREST))


def _compared(part: exp.Expression, row: Row, schema: Schema) -> str:
    """Return the values of both sides of a comparison, for a row."""
    if type(part) not in _SIGNS:
        return ""
    sides = (meaning(side, schema.types)(named(row, schema)) for side in (part.this, part.expression))
    return f" ({f' {_SIGNS[type(part)]} '.join(map(shown, sides))})"


_SIGNS = dict(zip(COMPARISONS, ("=", "<>", "<", "<=", ">", ">="), strict=True)) | {exp.NullSafeEQ: "<=>"}
