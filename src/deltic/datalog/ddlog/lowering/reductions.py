"""Groups of which a rule asks for nothing but what the engine keeps as it changes: counts, sums, least and greatest.

Where each use of a group is a call of one of the libraries' functions that have an aggregate of the engine, the calls
become variables, and the group a `Reduce`. Any other use has the values of the whole group, as `GroupBy` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from deltic.datalog.ddlog import core
from deltic.datalog.ddlog import types as t
from deltic.datalog.ddlog.checked import Assignment, Checked, Clause, GroupBy, Head
from deltic.datalog.ddlog.lowering.columns import native_type
from deltic.datalog.syntax.expressions import Node, nodes_in, transform
from deltic.datalog.syntax.source import Span

Function = Literal["count", "sum", "min", "max", "first"]

_COUNT = t.Bit(64)
_EXTREMES = {"min": False, "group_min": False, "first": False, "group_first": False, "max": True, "group_max": True}
_KEYS, _COUNTS = frozenset(("key", "group_key")), frozenset(("count_distinct", "group_count_distinct", "size"))
_MEASURED = frozenset(("sum_of", "count", "any", "all", "arg_min", "arg_max"))


@dataclass(frozen=True)
class Reduction:
    """What is kept of a group, in the variables `names`.

    `count`: how many values there are. `sum`: that of `by` over the values, each once. `min` and `max`: of the one
    native value. `first`: the native parts of the value that is first by `by`, then by its parts; `descending` tells
    which of these, the measure first, have the greatest first.
    """

    function: Function
    names: tuple[str, ...]
    types: tuple[t.Type, ...]
    by: tuple[core.Expression, ...] = ()
    descending: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Reduce:
    """`GroupBy` with reductions in the place of the group."""

    values: core.Expression
    parts: tuple[core.Expression, ...]
    visible: tuple[str, ...]
    reductions: tuple[Reduction, ...]
    span: Span


Step = Clause | Reduce


def reduced(checked: Checked, body: Sequence[Clause], head: Head) -> tuple[tuple[Step, ...], Head]:
    """The clauses and the head of a rule, with reductions for groups where the engine has them."""
    for place, clause in enumerate(body):
        if isinstance(clause, GroupBy):
            before, (behind, head) = body[:place], _without_aliases(clause.name, body[place + 1 :], head)
            known = {name for each in before for name in _bound(each)}
            making = _Making(checked, clause, known)
            if making.covers((*behind, head)):
                changed = tuple(making.changed(each) for each in behind)
                rest, head = reduced(checked, changed, making.changed(head))
                return (*before, making.clause(), *rest), head
            rest, head = reduced(checked, behind, head)
            return (*before, clause, *rest), head
    return tuple(body), head


def _without_aliases(name: str, clauses: Sequence[Clause], head: Head) -> tuple[Sequence[Clause], Head]:
    """The clauses and the head without other names for a group."""
    for place, clause in enumerate(clauses):
        match clause:
            case Assignment(pattern=core.Bind(name=alias), expression=core.Variable(name=found)) if found == name:

                def renamed(node: Any, alias: str = alias) -> Any:
                    is_alias = isinstance(node, core.Variable) and node.name == alias
                    return replace(node, name=name) if is_alias else node

                others = [with_expressions(each, renamed) for each in (*clauses[:place], *clauses[place + 1 :])]
                return _without_aliases(name, others, with_expressions(head, renamed))
    return clauses, head


def with_expressions(clause: Any, change: Any) -> Any:
    """A clause or a head with `change` applied to all nodes in it, to the innermost first."""
    found = {f.name: getattr(clause, f.name) for f in fields(clause)}
    return replace(clause, **{n: transform(part, change) for n, part in found.items() if isinstance(part, Node)})


def _bound(clause: Clause) -> Iterator[str]:
    if isinstance(clause, GroupBy):
        yield clause.name
    elif (pattern := getattr(clause, "pattern", None)) is not None:
        yield from (name for name, _ in core.bound_by(pattern))


class _Making:
    """The reductions of one group on their way: `known` are the variables that are known before it."""

    def __init__(self, checked: Checked, group: GroupBy, known: set[str]) -> None:
        self._checked, self._group, self._known = checked, group, known
        self._parts = tuple(self._leaves(group.values))
        self._made: dict[tuple[object, ...], Reduction] = {}

    def covers(self, users: Sequence[Any]) -> bool:
        """Whether all that these clauses ask of the group can be reduced."""
        for user in users:
            nodes = [n for f in fields(user) if isinstance(part := getattr(user, f.name), Node) for n in nodes_in(part)]
            mentions = sum(isinstance(node, core.Variable) and node.name == self._group.name for node in nodes)
            if mentions != sum(self._result(node) is not None for node in nodes if isinstance(node, core.Expression)):
                return False
        return True

    def changed(self, user: Any) -> Any:
        """A clause or a head with variables for what it asks of the group."""
        return with_expressions(user, lambda node: self._result(node) or node)

    def clause(self) -> Reduce:
        """The group's clause, once all calls are known."""
        group = self._group
        return Reduce(group.values, self._parts, group.visible, tuple(self._made.values()), group.span)

    def _result(self, node: Any) -> core.Expression | None:
        """What stands for a call of a function of the group; None for what is none, or has to have the whole group."""
        if not isinstance(node, core.CallFunction) or not node.arguments:
            return None
        first, *others = node.arguments
        if not isinstance(first, core.Variable) or first.name != self._group.name:
            return None
        module, _, name = node.function.name.rpartition("::")
        if module == "ddlog_std" and not others:
            return self._plain(node, name)
        if module == "group" and name in _MEASURED and len(others) == 1:
            measure = self._measure(others[0])
            return None if measure is None else self._measured(node, name, measure)
        return None

    def _plain(self, node: core.CallFunction, name: str) -> core.Expression | None:
        if name in _KEYS:
            return self._group.key
        if name in _COUNTS:
            return self._variable(node, Reduction("count", (), (_COUNT,)))
        if name not in _EXTREMES or not self._parts:
            return None
        is_greatest = _EXTREMES[name]
        if len(self._parts) == 1:
            return self._value(node, Reduction("max" if is_greatest else "min", (), (self._parts[0].type,)))
        descending = (is_greatest,) * len(self._parts)
        return self._value(node, Reduction("first", (), tuple(p.type for p in self._parts), (), descending))

    def _measured(self, node: core.CallFunction, name: str, measure: core.Expression) -> core.Expression | None:
        span = node.span
        match name:
            case "sum_of" if isinstance(measure.type, t.Bit | t.Signed) and native_type(measure.type):
                return self._variable(node, Reduction("sum", (), (measure.type,), (measure,)))
            case "count" | "any" | "all":
                yes, no = (core.Literal(_COUNT, value, span=span) for value in ((0, 1) if name == "all" else (1, 0)))
                counted = core.Choose(_COUNT, measure, yes, no, span=span)
                found = self._variable(node, Reduction("sum", (), (_COUNT,), (counted,)))
                zero = core.Literal(_COUNT, 0, span=span)
                operator = "==" if name == "all" else "!="
                return found if name == "count" else core.Operation(t.BOOL, operator, (found, zero), span=span)
            case "arg_min" | "arg_max" if self._parts and (by := tuple(self._leaves(measure))):
                descending = (*(name == "arg_max" for _ in by), *(False for _ in self._parts))
                return self._value(node, Reduction("first", (), tuple(p.type for p in self._parts), by, descending))
        return None

    def _variable(self, node: core.CallFunction, reduction: Reduction) -> core.Expression:
        (name,) = self._names(reduction)
        return core.Variable(reduction.types[0], name, span=node.span)

    def _value(self, node: core.CallFunction, reduction: Reduction) -> core.Expression:
        """A value of the group, put together of its parts."""
        names = iter(self._names(reduction))
        return self._rebuilt(self._group.values.type, names, node.span)

    def _names(self, reduction: Reduction) -> tuple[str, ...]:
        """The variables of a reduction, those of the same one if it was asked for before."""
        said = (reduction.function, reduction.types, reduction.by, reduction.descending)
        if said not in self._made:
            count = len(self._made)
            names = tuple(f"Reduced{count}_{i}_{self._group.name}" for i in range(len(reduction.types)))
            self._made[said] = replace(reduction, names=names)
        return self._made[said].names

    def _measure(self, function: core.Expression) -> core.Expression | None:
        """What a function gives for the group's value, over what is known before the group."""
        value = self._group.values
        if isinstance(function, core.FunctionValue):
            return core.CallFunction(function.function.result, function.function, (value,), span=function.span)
        if not isinstance(function, core.MakeClosure):
            return None
        inside = [node for node in nodes_in(function.body) if node is not function]
        if any(isinstance(node, core.ReturnValue | core.TryValue | core.AssignTo) for node in inside):
            return None
        (parameter,) = function.parameters
        bound = {node.name for node in inside if isinstance(node, core.Bind | core.As)}
        bound |= {name for node in inside if isinstance(node, core.MakeClosure) for name in node.parameters}
        named = {node.name for node in inside if isinstance(node, core.Variable)}
        if not named - bound - {parameter} <= self._known:
            return None

        def change(node: Any) -> Any:
            return value if isinstance(node, core.Variable) and node.name == parameter else simple(node)

        return transform(function.body, change)

    # Values as their native parts, in the order of the values

    def _leaves(self, value: core.Expression) -> Iterator[core.Expression]:
        """The native parts of a value, in whose order its type is ordered; nothing where there are others in it."""
        found: list[core.Expression] = []
        if self._collect(value, found):
            yield from found

    def _collect(self, value: core.Expression, found: list[core.Expression]) -> bool:
        type_ = t.content(value.type)
        if native_type(type_) is not None:
            found.append(value)
            return not isinstance(type_, t.Float | t.Double)
        parts = self._part_types(type_)
        return parts is not None and all(
            self._collect(simple(core.FieldOf(part, value, i, span=value.span)), found) for i, part in enumerate(parts)
        )

    def _part_types(self, type_: t.Type) -> tuple[t.Type, ...] | None:
        """The types of the fields of a struct with one constructor, or of a tuple's items."""
        if isinstance(type_, t.Tuple):
            return type_.items
        if isinstance(type_, t.Named) and len(made := self._checked.types[type_.name].constructors) == 1:
            return self._checked.fields(type_, made[0][0])
        return None

    def _rebuilt(self, type_: t.Type, names: Iterator[str], span: Span) -> core.Expression:
        inside = t.content(type_)
        if native_type(inside) is not None:
            return core.Variable(type_, next(names), span=span)
        items = tuple(self._rebuilt(part, names, span) for part in self._part_types(inside) or ())
        if isinstance(inside, t.Tuple):
            return core.MakeTuple(type_, items, span=span)
        assert isinstance(inside, t.Named)
        return core.MakeStruct(type_, self._checked.types[inside.name].constructors[0][0], items, span=span)


def simple(node: Any) -> Any:
    """An expression without taking apart what it puts together."""
    if isinstance(node, core.FieldOf) and isinstance(node.of, core.MakeTuple | core.MakeStruct):
        return node.of.items[node.index]
    return node
