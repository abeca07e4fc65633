"""The premises of a row by operator: `_DERIVATIONS` has a function for each type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import groupby, islice
from operator import itemgetter

from sqlglot import exp

from deltic.catalog.words import Words
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of, conjuncts, is_not_null
from deltic.circuit.graph import Circuit
from deltic.errors import count_of
from deltic.values.types import Schema
from deltic.why.bound import Bound, Row, Rows, same
from deltic.why.deciding import deciding
from deltic.why.explanation import Absence, Note
from deltic.why.nodes import PASSED, copied, restricted, unexplained
from deltic.why.relations import RecursiveRelation, Relation
from deltic.why.rows import Evaluator
from deltic.why.scopes import ScopedNode
from deltic.why.words import called, condition_of

_AS_NAMED: Mapping[str, str] = {}

SAMPLE = 10
"""The number of rows of a group that are shown; of others only the count is."""


@dataclass(frozen=True)
class Fact:
    """A row of a relation as a premise, which is explained in turn."""

    relation: Relation
    row: Row


Premise = Fact | Absence | Note


@dataclass(frozen=True)
class Derivation:
    """Premises that together derive a row, and the values of the joined columns.

    In a recursion, `lasts` says whether all of them also hold at the end. `is_whole` is False if some are only counted.
    """

    premises: tuple[Premise, ...] = ()
    variables: Bound = field(default_factory=dict)
    lasts: bool = True
    is_whole: bool = True
    part: tuple[int, int] | None = None
    """The part of the outermost union that derives the row, and the number of its parts."""

    def with_(self, other: Derivation) -> Derivation:
        """Return the conjunction of both derivations; what both need is a premise once."""
        more = (each for each in other.premises if each not in self.premises)
        premises, variables = (*self.premises, *more), {**self.variables, **other.variables}
        lasts, is_whole = self.lasts and other.lasts, self.is_whole and other.is_whole
        return Derivation(premises, variables, lasts, is_whole, self.part)


class RowDerivations:
    """Enumerates the derivations of rows of nodes: all of them, or as many as a row has copies.

    A row of a set has one copy, and each copy of another row has a derivation.
    """

    def __init__(self, evaluator: Evaluator, of_copies: bool = False) -> None:
        self.of, self._is_of_copies = evaluator, of_copies
        self._conditions = cache(_conditions)
        self.copies = self if of_copies else RowDerivations(evaluator, of_copies=True)

    def of_row(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the derivations of a row of a node; none if the row is absent."""
        leaf = self.of.leaf(node)
        if isinstance(leaf, ScopedNode):
            yield from self.of_row(leaf, row)
            return
        if leaf is not None:
            if self.of.weight_of(node, row) > 0:
                yield Derivation((Fact(leaf, row),), lasts=self.of.in_the_end(leaf, row))
            return
        if type(node.operator) not in _DERIVATIONS:
            raise unexplained(node.operator)
        ways = _DERIVATIONS[type(node.operator)](self, node, row)
        yield from islice(ways, 1) if self._is_of_copies and node.type.is_set else ways

    def of_constant(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """A constant row has no premises."""
        if self.of.rows(node, node.named(row)):
            yield Derivation()

    def of_passed(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Return the same row of the input."""
        return self.of_row(node.below, row)

    def of_filter(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the row of the input, and the condition without what the premises show: equal columns, IS NOT NULL."""
        if self.of.condition(*node.place)(row):
            values = node.named(row)
            calls = [call(values) for call in self.of.calls(*node.place)]
            texts = [*self._conditions(*node.place, self.of.words(node.scope)), *calls]
            condition = Derivation(tuple(map(Note, texts)), values)
            yield from (below.with_(condition) for below in self.of_passed(node, row))

    def of_plus(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the row of one of the inputs; if other inputs subtract copies, a note with the counts."""
        left = Derivation()
        if any(map(subtracts, node.inputs)):
            copies, text = self.copies_left(node, row)
            if copies <= 0:
                return
            left = Derivation((Note(text),))
        for place, below in enumerate(node.inputs):
            for way in self.of_row(below, row):
                yield replace(way.with_(left), part=(place, len(node.inputs)))

    def copies_left(self, node: ScopedNode, row: Row) -> tuple[int, str]:
        """Return the number of copies of a row that a sum leaves if inputs of it subtract, and a text about them."""
        values = node.named(row)
        counts = [self.of.rows(below, values).get(row, 0) for below in node.inputs]
        there, less = sum(c for c in counts if c > 0), -sum(c for c in counts if c < 0)
        of = ", ".join(dict.fromkeys(self.names(below) for below in node.inputs if subtracts(below)))
        return there - less, f"{there:,} cop{'y' if there == 1 else 'ies'} of it, less {less:,} for rows of {of}"

    def of_differentiate(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the row of the input, whose weight was smaller an epoch earlier."""
        if self.of.weight_of(node, row) > 0:
            new = Derivation((Note("more of it than an epoch earlier"),))
            yield from (below.with_(new) for below in self.of_passed(node, row))

    def of_integrate(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the row of the input in this epoch, if it is there, and how many copies all epochs add up to."""
        total = self.of.weight_of(node, row)
        if total <= 0:
            return
        now = self.of.rows(node.below, node.named(row)).get(row, 0)
        text = f"total: weight {total:,} over all epochs, {now:,} in this one; earlier ones are not kept"
        note = Derivation((Note(text),), is_whole=now == total)
        ways = self.of_passed(node, row) if now > 0 else iter((Derivation(),))
        yield from (below.with_(note) for below in ways)

    def of_window(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the row of the input, its timestamp, and the first time that the window includes."""
        assert isinstance(node.operator, ops.Window)
        if self.of.is_recent(node, row):
            begin, column = self.of.begin_of(node), node.operator.column
            message = "no time yet" if begin is None else f"not before {begin}"
            values = node.named(row)
            note = Derivation((Note(f"window: {column} = {values[column]}, {message}"),), values)
            yield from (below.with_(note) for below in self.of_passed(node, row))

    def of_custom(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the inputs of the user's function: all of their rows."""
        assert isinstance(node.operator, ops.Apply)
        if self.of.weight_of(node, row) > 0:
            given = [(below, self.of.rows(below, {})) for below in node.inputs]
            sampled, below = self._sampled(given)
            note = Note(f"{node.operator.called} of {count_of(sum(len(rows) for _, rows in given), 'row')}{sampled}")
            yield Derivation((note,)).with_(below)

    def _sampled(self, given: Sequence[tuple[ScopedNode, Rows]]) -> tuple[str, Derivation]:
        """Derivations of the first rows of nodes, one for each copy, and a text with their number if there are more."""
        ways = (((node, row), way) for node, rows in given for row in rows for way in self.copies.of_row(node, row))
        taken = list(islice(ways, SAMPLE + 1))
        message = f", {SAMPLE} of them shown" if len(taken) > SAMPLE else ""
        result = Derivation(is_whole=not message)
        for _, copies in groupby(taken[:SAMPLE], itemgetter(0)):
            result = result.with_(reduce(_beside, (way for _, way in copies), Derivation()))
        return message, replace(result, variables={})

    def of_map(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the row of the input from which it is computed, and the results of users' functions."""
        calls = self.of.calls(*node.place)
        passed = self.of.passed(node, node.named(row))
        compute = self.of.mapping(*node.place)
        for origin in () if passed is None else self.of.stream(node.below, passed):
            result = compute(origin)
            if result is not None and all(map(same, result, row)):
                values = node.below.named(origin) if calls else {}
                notes = Derivation((*dict.fromkeys(Note(call(values)) for call in calls),))
                yield from (way.with_(notes) for way in self.of_row(node.below, origin))

    def of_join(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield a row of each input."""
        values = node.named(row)
        for derivation in self._all(node.inputs, values):
            yield derivation.with_(Derivation((), values))

    def of_antijoin(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the row of the first input, and that the second has no match."""
        (left, right), values = node.inputs, node.named(row)
        absent = self.absent(right, right.own(values))
        if absent is not None:
            yield from (d.with_(absent).with_(Derivation((), values)) for d in self.of_row(left, row))

    def of_flat_map(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the row of the input that generates it."""
        if self.of.weight_of(node, row) > 0:
            yield from self.of_passed(node, row[:-1])

    def _all(self, inputs: Sequence[ScopedNode], values: Bound) -> Iterator[Derivation]:
        """Derivations of one row of each input with these values, in all combinations."""
        if not inputs:
            yield Derivation()
            return
        first, *others = inputs
        for derivation in self.of_row(first, first.row(values)):
            yield from (derivation.with_(other) for other in self._all(others, values))

    def absent(self, node: ScopedNode, bound: Bound) -> Derivation | None:
        """Return why there is no row with these values; None if there is one.

        If rows are absent because each candidate is excluded, as in "for all", each exclusion is a premise.
        """
        if self.of.rows(node, bound):
            return None
        absence, end = self._absence(node, bound), node.at_end
        return absence if end is node else replace(absence, lasts=not self.of.rows(end, bound))

    def _absence(self, node: ScopedNode, bound: Bound) -> Derivation:
        leaf, operator = self.of.leaf(node), node.operator
        if isinstance(leaf, ScopedNode):
            return self._absence(leaf, bound)
        if leaf is not None:
            absent = self.absent_row(node, leaf, bound)
            return Derivation((replace(absent, until=self.of.absent_until(leaf, bound)),))
        for below, known in self._lacking(node, bound):
            if not self.of.rows(below, known):
                return self._absence(below, known)
        if isinstance(operator, ops.Plus):
            parts = [self._absence(below, bound) for below in node.inputs if not self.of.rows(below, bound)]
            return Derivation(tuple(premise for part in parts for premise in part.premises))
        if isinstance(operator, ops.Antijoin):
            return self._for_all(node, bound)
        names, words = self.names(node), self.of.words(node.scope)
        texts = {name: words.column(name) for name in bound}
        if isinstance(operator, ops.Filter):
            tests = _tests(operator, words, renamed=_renamed(node))
            return Derivation((Absence(names, dict(bound), where=f"where {tests}", words=texts),))
        order = f" {called(operator, words)}" if isinstance(operator, ops.Top) else ""
        return Derivation((Absence(f"{names}{order}", dict(bound), words=texts),))

    def absent_row(self, node: ScopedNode, leaf: Relation, bound: Bound) -> Absence:
        """That a relation has no row with these values; columns of a recursive one have the user's words."""
        is_inner = isinstance(leaf, RecursiveRelation) and not self.of.reader.is_the_view(leaf)
        words = {name: self.of.words(node.scope).column(name) for name in bound} if is_inner else {}
        return Absence(leaf.name, dict(bound), words=words)

    def _lacking(self, node: ScopedNode, bound: Bound) -> Iterator[tuple[ScopedNode, Bound]]:
        """Yield the inputs of a node with the values that their rows would have; if one has none, the node has none."""
        operator = node.operator
        if isinstance(operator, PASSED):
            yield node.below, bound
        elif isinstance(operator, ops.Filter):
            yield node.below, restricted(operator, node.schema, bound)
        elif isinstance(operator, ops.Aggregate | ops.Top | ops.Over | ops.FlatMap):
            yield node.below, self.of.grouped(node, bound)
        elif isinstance(operator, ops.Map):
            passed = self.of.passed(node, bound)
            if passed is not None and len(passed) == len(bound):
                yield node.below, passed
        elif isinstance(operator, ops.Join | ops.Semijoin):
            yield from ((below, below.own(bound)) for below in node.inputs)

    def _for_all(self, antijoin: ScopedNode, bound: Bound) -> Derivation:
        """For each row of the first input, the row of the second that excludes it."""
        left, right = antijoin.inputs
        rows = self.of.rows(left, bound)
        if not rows:
            return self._absence(left, bound)
        result = Derivation((Note(f"for each of {count_of(len(rows), 'row')} of {self.names(left)}:"),))
        for row in rows:
            domain = next(self.of_row(left, row))
            excluding = next(self.of_row(right, right.row(left.named(row))))
            result = Derivation((*result.premises, *domain.premises, *excluding.premises))
        return result

    def names(self, node: ScopedNode) -> str:
        """Return the names of the relations that a node depends on."""
        numbers = sorted(node.scope.circuit.ancestors([node.number]))
        leaves = (self.of.leaf(node.scope.node(number)) for number in numbers)
        names = [self.names(leaf) if isinstance(leaf, ScopedNode) else leaf.name for leaf in leaves if leaf is not None]
        return ", ".join(dict.fromkeys(filter(None, names)))

    def of_group(self, node: ScopedNode, row: Row) -> Iterator[Derivation]:
        """Yield the rows of the group that determine the result, and the size of the group."""
        values, below = node.named(row), node.below
        if self.of.rows(node, values).get(row, 0) <= 0:
            return
        group = self.of.rows(below, self.of.grouped(node, values))

        def evaluate(each: ops.Operator, rows: Rows, columns: Schema) -> Rows:
            return self.of.evaluated(each, rows, replace(below.type, schema=columns, is_set=False))

        decide, chosen = deciding(node.operator, row, group, below.schema, evaluate)
        sampled, premises = self._sampled([(below, chosen)])
        end = node.at_end
        lasts = end is node or self.of.rows(end, values).get(row, 0) > 0
        of = called(node.operator, self.of.words(node.scope))
        notes = [Note(f"{of}: {count_of(sum(group.values()), 'row')}{decide}{sampled}")] if of else []
        yield Derivation((*notes,), values, lasts).with_(premises)


_Way = Callable[[RowDerivations, ScopedNode, Row], Iterator[Derivation]]
_DERIVATIONS: dict[type[ops.Operator], _Way] = {
    ops.Constant: RowDerivations.of_constant,
    **dict.fromkeys(PASSED, RowDerivations.of_passed),
    ops.Filter: RowDerivations.of_filter,
    ops.Plus: RowDerivations.of_plus,
    ops.Negate: lambda *_: iter(()),
    ops.Map: RowDerivations.of_map,
    **dict.fromkeys((ops.Join, ops.Semijoin), RowDerivations.of_join),
    ops.Antijoin: RowDerivations.of_antijoin,
    ops.FlatMap: RowDerivations.of_flat_map,
    **dict.fromkeys((ops.Aggregate, ops.Top, ops.Over), RowDerivations.of_group),
    ops.Window: RowDerivations.of_window,
    ops.Differentiate: RowDerivations.of_differentiate,
    ops.Integrate: RowDerivations.of_integrate,
    **dict.fromkeys((ops.Apply, ops.Maintain), RowDerivations.of_custom),
}
"""The function for each operator that finds the premises of a row of its output."""


def subtracts(node: ScopedNode) -> bool:
    """Return whether a node's rows are those of a negation."""
    below = node.inputs if isinstance(node.operator, ops.Map | ops.Filter) else ()
    return isinstance(node.operator, ops.Negate) or any(map(subtracts, below))


def _conditions(circuit: Circuit, number: int, words: Words) -> Sequence[str]:
    """Return the text of a filter's condition, without equalities of columns; empty if nothing is left."""
    operator = circuit.nodes[number].operator
    assert isinstance(operator, ops.Filter)
    tests = _tests(operator, words, _is_of_columns)
    return [f"where {tests}"] if tests else []


def _tests(
    operator: ops.Filter,
    words: Words,
    is_evident: Callable[[exp.Expression], bool] = lambda _: False,
    renamed: Mapping[str, str] = _AS_NAMED,
) -> str:
    """Return the text of a filter's condition, without what is evident and IS NOT NULL; columns may be `renamed`."""
    evident = [exp.true(), *(is_not_null(column(name)) for name in columns_of(operator.predicate))]
    tests = [part for part in conjuncts(operator.predicate) if part not in evident and not is_evident(part)]
    return " AND ".join(dict.fromkeys(condition_of(part, words, renamed) for part in tests))


def _renamed(node: ScopedNode) -> Mapping[str, str]:
    """Return the columns of a node by their names where maps below it begin to rename them, above relations."""
    result = {name: name for name in node.schema.names}
    while isinstance(node.operator, (ops.Map, ops.Filter, *PASSED)):
        above, node = node, node.below
        if not node.inputs:
            break
        if isinstance(above.operator, ops.Map):
            passed = dict(copied(*above.place))
            result = {name: passed.get(column, column) for name, column in result.items()}
    return result


def _is_of_columns(condition: exp.Expression) -> bool:
    """Return whether a condition is an equality of two columns."""
    sides = condition.this, condition.expression
    return isinstance(condition, exp.EQ | exp.NullSafeEQ) and all(isinstance(side, exp.Column) for side in sides)


def _beside(one: Derivation, other: Derivation) -> Derivation:
    """Return the premises of both, for copies of a row; equal rows are copies, too."""
    rows = tuple(each for each in other.premises if isinstance(each, Fact))
    both = one.with_(replace(other, premises=tuple(each for each in other.premises if not isinstance(each, Fact))))
    return replace(both, premises=(*one.premises, *rows, *both.premises[len(one.premises) :]))
