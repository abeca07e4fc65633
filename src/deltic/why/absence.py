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
from deltic.why.derivations import Derivation, Fact, subtracts
from deltic.why.explanation import Absence, ExplanationStep, as_written, brief, lines_of, shown
from deltic.why.nodes import PASSED, restricted, unexplained
from deltic.why.relations import (
    Bound,
    DefinedView,
    RecursiveRelation,
    RelationScope,
    Row,
    Rows,
    SourceTable,
    named,
    same,
)
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
    scope = search.evaluator.reader.scope(name)
    leaf = search.evaluator.leaf(scope, scope.circuit.sinks[name])
    target = leaf if isinstance(leaf, RecursiveRelation) and leaf.name == name else relation
    failing, ways = _Failing(search), []
    for body, number, rule, place in search.rules(target):
        for way in failing.ways(body, number, pattern):
            fails = as_written(way.fails, rule) if isinstance(way.fails, str) else way.fails
            holds, nearest = (tuple(as_written(text, rule) for text in part) for part in (way.holds, way.nearest))
            each = replace(way, rule=rule, place=place, holds=holds, fails=fails, nearest=nearest)
            ways += [each] if each not in ways else []
    return WhyNot(name, pattern, tuple(ways))


class _Failing:
    """Follows the operators down to those without rows for the bound values."""

    def __init__(self, search: ExplanationSearch) -> None:
        self.search, self.of = search, search.evaluator

    def ways(self, scope: RelationScope, number: int, bound: Bound) -> Iterator[FailedWay]:
        """Yield what fails below a node that has no row with these values."""
        leaf = self.of.leaf(scope, number)
        if leaf is None:
            yield from self._of_operator(scope, number, bound)
        elif isinstance(leaf, tuple):
            yield from self.ways(*leaf, bound)
        elif isinstance(leaf, RecursiveRelation) and scope.recursion is None and not self.of.reader.is_the_view(leaf):
            for body, rule, _, _ in self.search.rules(leaf):
                yield from self.ways(body, rule, bound)
        else:
            missing = self.search.derivations.absent_row(scope, leaf, bound)
            yield FailedWay("", "", (), missing, self._nearest(scope, number, bound))

    def _of_operator(self, scope: RelationScope, number: int, bound: Bound) -> Iterator[FailedWay]:
        node = scope.circuit.nodes[number]
        operator, inputs = node.operator, node.inputs
        if isinstance(operator, ops.Plus):
            adding = [i for i in inputs if not subtracts(scope, i)]
            rows = (row for i in adding for row in self.of.rows(scope, i, bound))
            if len(adding) < len(inputs) and (row := next(rows, None)) is not None:
                yield FailedWay("", "", (), self.search.derivations.copies_left(scope, number, row)[1])
                return
            for i in inputs:
                yield from self.ways(scope, i, bound)
        elif isinstance(operator, (*PASSED, ops.Integrate)):
            yield from self.ways(scope, inputs[0], bound)
        elif isinstance(operator, ops.Constant):
            listed = ", ".join(map(show_value, operator.rows)) or "an empty list"
            yield FailedWay("", "", (), Absence(brief(listed), bound_of(bound, self.of.words(scope))))
        elif isinstance(operator, ops.Negate):
            return
        elif isinstance(operator, ops.Map):
            yield from self._of_map(scope, number, bound)
        elif isinstance(operator, ops.Join | ops.Semijoin):
            yield self._of_join(scope, inputs, bound)
        elif isinstance(operator, ops.Filter | ops.Antijoin):
            yield from self._of_exclusion(scope, number, bound)
        elif isinstance(operator, ops.Aggregate | ops.Top | ops.Over | ops.FlatMap):
            yield from self._of_group(scope, number, bound)
        else:
            raise unexplained(operator)

    def _of_exclusion(self, scope: RelationScope, number: int, bound: Bound) -> Iterator[FailedWay]:
        """Yield the condition that is false, or the row that must be absent; else what fails in the input."""
        operator, inputs = scope.circuit.nodes[number].operator, scope.circuit.nodes[number].inputs
        if isinstance(operator, ops.Filter):
            bound = restricted(operator, scope.circuit.type_of(number).schema, bound)
        rows = self.of.rows(scope, inputs[0], bound)
        if not rows:
            yield from self.ways(scope, inputs[0], bound)
            return
        if isinstance(operator, ops.Filter):
            yield self._of_filter(operator, scope, inputs[0], rows)
            return
        left, right = (scope.circuit.type_of(i).schema for i in inputs)
        key = tuple(next(iter(rows))[left.index(name)] for name in right.names)
        derivation = next(self.search.derivations.of_row(scope, inputs[1], key), Derivation())
        blocking = [p for p in derivation.premises if isinstance(p, Fact)]
        parts = [f"{p.relation.name}({', '.join(map(shown, p.row))})" for p in blocking]
        derived = [p for p in blocking if not isinstance(p.relation, SourceTable)]
        because = tuple(self.search.step_of(each, _DEPTH) for each in derived)
        fails = f"not {', '.join(parts) or named(key, right)}"
        yield FailedWay("", "", self._told(scope, inputs[0], rows)[:1], fails, because=because)

    def _of_filter(self, operator: ops.Filter, scope: RelationScope, below: int, rows: Rows) -> FailedWay:
        """Return the conditions that are false of the row that meets the most of them."""
        schema = scope.circuit.type_of(below).schema
        parts = [(part, meaning(part, schema.types)) for part in conjuncts(operator.predicate)]

        def failing(row: Row) -> list[exp.Expression]:
            return [part for part, is_met in parts if is_met(named(row, schema)) is not True]

        first = min(islice(rows, _TRIED), key=lambda row: len(failing(row)))
        words = self.of.words(scope)
        fails = " AND ".join(condition_of(part, words) + _compared(part, first, schema) for part in failing(first))
        return FailedWay("", "", self._told(scope, below, dict.fromkeys((first, *rows))), f"where {fails}")

    def _of_group(self, scope: RelationScope, number: int, bound: Bound) -> Iterator[FailedWay]:
        """Other results of the same group; if the group is empty, what fails in the input."""
        node, grouped = scope.circuit.nodes[number], self.of.grouped(scope, number, bound)
        if self.of.rows(scope, node.inputs[0], grouped):
            words = self.of.words(scope)
            schema = scope.circuit.type_of(number).schema
            wanted = [(schema.index(name), value) for name, value in bound.items()]
            rows = self.of.rows(scope, number, grouped)
            nearest = sorted(rows, key=lambda row: sum(not same(row[i], value) for i, value in wanted))
            order = f" {called(node.operator, words)}" if isinstance(node.operator, ops.Top) else ""
            fails = str(Absence(self.search.derivations.names(scope, number) + order, bound_of(bound, words)))
            is_grouped = isinstance(node.operator, ops.Aggregate)
            fails = fails.replace("no row", "no group", 1) if is_grouped else fails
            yield FailedWay("", "", (), fails, self._told(scope, number, nearest))
        else:
            yield from self.ways(scope, node.inputs[0], grouped)

    def _of_map(self, scope: RelationScope, number: int, bound: Bound) -> Iterator[FailedWay]:
        operator, (below,) = scope.circuit.nodes[number].operator, scope.circuit.nodes[number].inputs
        assert isinstance(operator, ops.Map)
        passed: dict[str, Any] = {}
        for column, expression in zip(operator.columns, operator.expressions, strict=True):
            if expression.key == "column" and column.name in bound:
                value = passed.setdefault(expression.name, bound[column.name])
                if not same(value, bound[column.name]):
                    fails = f"{column.name} = {shown(bound[column.name])}, which equals {shown(value)} here"
                    yield FailedWay("", "", (), fails)
                    return
        if rows := self.of.rows(scope, below, passed):
            compute, asked = self.of.mapping(scope.circuit, number), operator.columns

            def other(row: Row) -> list[str]:
                columns = zip(asked, operator.expressions, compute(row) or [None] * len(asked), strict=True)
                differing = [(c.name, e, v) for c, e, v in columns if c.name in bound and not same(v, bound[c.name])]
                return [
                    f"{self._value(scope, name, e)} = {shown(value)}, not {shown(bound[name])}"
                    for name, e, value in differing
                ]

            first = min(islice(rows, _TRIED), key=lambda row: len(other(row)))
            fails = " AND ".join(other(first)) or "no value"
            yield FailedWay("", "", self._told(scope, below, dict.fromkeys((first, *rows))), fails)
        else:
            yield from self.ways(scope, below, passed)

    def _of_join(self, scope: RelationScope, inputs: Sequence[int], bound: Bound) -> FailedWay:
        """Return the partial join that matches the most inputs, and what fails in the next input."""
        best: tuple[tuple[int, ...], dict[str, Any], int] = ((), dict(bound), inputs[0])
        pending: list[tuple[tuple[int, ...], dict[str, Any]]] = [((), dict(bound))]
        while pending:
            done, values = pending.pop()
            others = [i for i in inputs if i not in done]
            if not others:
                continue
            first = min(others, key=lambda i: self.of.freedom(scope, i, values))
            if len(done) > len(best[0]) or not done:
                best = done, values, first
            schema = scope.circuit.type_of(first).schema
            rows = self.of.rows(scope, first, {n: values[n] for n in schema.names if n in values})
            pending += [((*done, first), {**values, **named(row, schema)}) for row in reversed(rows)]
        done, values, failing = best
        holds = [text for i in done for text in self._told(scope, i, [_picked(scope, i, values)])]
        schema = scope.circuit.type_of(failing).schema
        way = next(self.ways(scope, failing, {n: values[n] for n in schema.names if n in values}))
        return replace(way, holds=(*holds, *way.holds))

    def _nearest(self, scope: RelationScope, number: int, bound: Bound) -> tuple[str, ...]:
        """Rows that differ from the values in one column."""
        if len(bound) < 2:
            return ()
        result: dict[str, None] = {}
        for name in bound:
            rows = self.of.rows(scope, number, {n: value for n, value in bound.items() if n != name})
            result |= dict.fromkeys(self._told(scope, number, islice(rows, _NEAREST)))
        return tuple(islice(result, _NEAREST))

    def _value(self, scope: RelationScope, name: str, expression: exp.Expression) -> str:
        """Return a computed column: its expression, or its name if that is no column's value or not the user's."""
        words = self.of.words(scope)
        if words.texts.columns.get(name) or not columns_of(expression):
            return words.column(name) or name
        return condition_of(expression, words)

    def _told(self, scope: RelationScope, number: int, rows: Iterable[Row]) -> tuple[str, ...]:
        """Return the first rows of a node, by the names of a relation's columns or the user's words for others."""
        words, names = self.of.words(scope), scope.circuit.type_of(number).schema.names
        is_own = isinstance(self.of.leaf(scope, number), SourceTable | DefinedView)
        listed = (
            named(row, scope.circuit.type_of(number).schema) if is_own else pairs_of(names, row, words) for row in rows
        )
        texts = (", ".join(f"{name} = {shown(value)}" for name, value in each.items()) for each in listed)
        return tuple(islice(filter(None, texts), _NEAREST))


def _compared(part: exp.Expression, row: Row, schema: Schema) -> str:
    """Return the values of both sides of a comparison, for a row."""
    if type(part) not in _SIGNS:
        return ""
    sides = (meaning(side, schema.types)(named(row, schema)) for side in (part.this, part.expression))
    return f" ({f' {_SIGNS[type(part)]} '.join(map(shown, sides))})"


_SIGNS = dict(zip(COMPARISONS, ("=", "<>", "<", "<=", ">", ">="), strict=True)) | {exp.NullSafeEQ: "<=>"}


def _picked(scope: RelationScope, number: int, values: Bound) -> tuple[Any, ...]:
    return tuple(values[name] for name in scope.circuit.type_of(number).schema.names)
