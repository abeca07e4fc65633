"""Groups of which a rule asks for nothing but what the engine keeps as it changes: counts, sums, least and greatest.

Where each use of a group is a call of one of the libraries' functions that have an aggregate of the engine, the calls
become variables, and the group a `Reduce`. Any other use has the values of the whole group, as `GroupBy` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from deltic.datalog.syntax.expressions import SyntaxNode, nodes_in, transform
from deltic.datalog.syntax.source import Span
from deltic_ddlog import core
from deltic_ddlog import types as t
from deltic_ddlog.check import ResolvedModules
from deltic_ddlog.checked import AssignmentStep, Clause, ConditionStep, GroupBy, Head, MatchStep
from deltic_ddlog.lowering.code import Environment, VariableBinding
from deltic_ddlog.lowering.columns import native_type
from deltic_ddlog.order import is_interned

Function = Literal["count", "sum", "min", "max", "first"]

_COUNT = t.Bit(64)
_EXTREMES = {"min": False, "group_min": False, "first": False, "group_first": False, "max": True, "group_max": True}
_KEYS, _COUNTS = frozenset(("key", "group_key")), frozenset(("count_distinct", "group_count_distinct", "size"))
_MEASURED = frozenset(("sum_of", "count", "any", "all", "arg_min", "arg_max"))


@dataclass(frozen=True)
class Reduction:
    """What is kept of a group, in the variables `names`.

    `count`: how many rows there are. `sum`: that of `by` over the rows, each once. `min` and `max`: of the one native
    value. `first`: the native parts of the value of the row that is first by `by`, or last where it `is_last`, and then
    by the columns `rows`.
    """

    function: Function
    names: tuple[str, ...]
    types: tuple[t.DdlogType, ...]
    by: tuple[core.TypedExpression, ...] = ()
    is_last: bool = False
    rows: tuple[str, ...] = ()


class Reduce(SyntaxNode):
    """`GroupBy` with reductions instead of the group."""

    values: core.TypedExpression
    parts: tuple[core.TypedExpression, ...]
    visible: tuple[str, ...]
    reductions: tuple[Reduction, ...]


Step = Clause | Reduce


def reduced(
    checked: ResolvedModules, group: GroupBy, behind: Sequence[Clause], head: Head, known: Environment
) -> tuple[Step, Sequence[Clause], Head]:
    """Return a group, what follows it and the head, with reductions for it where the engine has them."""
    clauses, changed = _without_aliases(group.name, behind, head)
    making = _Making(checked, group, known)
    if not making.covers((*clauses, changed)):
        return group, behind, head
    clauses, changed = [making.changed(each) for each in clauses], making.changed(changed)
    return making.clause(), clauses, changed


def row_of(known: Environment, visible: Sequence[str]) -> list[tuple[str, VariableBinding]]:
    """Return the variables that identify the rows of a group, and order them."""
    seen, result = {c.name for name in visible for c in known[name].columns}, list[tuple[str, VariableBinding]]()
    for name, binding in known.items():
        names = {c.name for c in binding.columns}
        if not names <= seen:
            result.append((name, binding))
            seen |= names
    return result


def with_rows(body: Sequence[Clause]) -> Sequence[Clause]:
    """Return a body whose group of the records of one relation, if it begins with that, has all fields in its rows.

    Other groups have rows of variables: there records are counted that differ in nothing but what `_` stands for.
    """
    place = next((i for i, clause in enumerate(body) if not isinstance(clause, ConditionStep) and i), len(body))
    if place == len(body) or not isinstance(body[place], GroupBy) or not isinstance(first := body[0], MatchStep):
        return body
    return (replace(first, pattern=_naming(first.pattern, "Row")), *body[1:])


def _naming(pattern: core.Pattern, name: str) -> core.Pattern:
    """Return a pattern with variables for all that it does not name: the parts of a struct, or the value."""
    match pattern:
        case core.Bind() | core.As() | core.Equal():
            return pattern
        case core.Anything():
            return core.Bind(pattern.type, name, span=pattern.span)
        case core.StructPattern(constructor=constructor, parts=parts) if constructor is not None and name == "Row":
            named = (_naming(part, f"{name}{i}") for i, part in enumerate(parts))
            return replace(pattern, parts=tuple(named))
        case _:
            return core.As(pattern.type, name, pattern, span=pattern.span)


def _without_aliases(name: str, clauses: Sequence[Clause], head: Head) -> tuple[Sequence[Clause], Head]:
    """Return the clauses and the head without other names for a group."""
    for place, clause in enumerate(clauses):
        match clause:
            case AssignmentStep(pattern=core.Bind(name=alias), expression=core.VariableValue(name=result)) if (
                result == name
            ):

                def renamed(node: Any, alias: str = alias) -> Any:
                    is_alias = isinstance(node, core.VariableValue) and node.name == alias
                    return replace(node, name=name) if is_alias else node

                others = [transform(each, renamed) for each in (*clauses[:place], *clauses[place + 1 :])]
                return _without_aliases(name, others, transform(head, renamed))
    return clauses, head


class _Making:
    """The reductions of one group under construction; `known` are the variables bound before it."""

    def __init__(self, checked: ResolvedModules, group: GroupBy, known: Environment) -> None:
        self._checked, self._group, self._known = checked, group, known
        self._parts = tuple(self._leaves(group.values))
        self._made: dict[tuple[object, ...], Reduction] = {}

    def covers(self, users: Sequence[Any]) -> bool:
        """Return whether reductions cover every use of the group in these clauses."""
        for user in users:
            nodes = list(nodes_in(user))
            mentions = sum(isinstance(node, core.VariableValue) and node.name == self._group.name for node in nodes)
            if mentions != sum(self._result(node) is not None for node in nodes):
                return False
        return True

    def changed(self, user: Any) -> Any:
        """Return a clause or a head with variables for its uses of the group."""
        return transform(user, lambda node: self._result(node) or node)

    def clause(self) -> Reduce:
        """Return the group's clause, once all calls are known."""
        group = self._group
        return Reduce(group.values, self._parts, group.visible, tuple(self._made.values()), span=group.span)

    def _result(self, node: Any) -> core.TypedExpression | None:
        """Return the replacement of a call over the group; None if it is no such call, or needs the whole group."""
        if not isinstance(node, core.CallFunction) or not node.arguments:
            return None
        first, *others = node.arguments
        if not isinstance(first, core.VariableValue) or first.name != self._group.name:
            return None
        module, _, name = node.function.name.rpartition("::")
        if module == "ddlog_std" and not others:
            return self._plain(node, name)
        if module == "group" and name in _MEASURED and len(others) == 1:
            measure = self._measure(others[0])
            return None if measure is None else self._measured(node, name, measure)
        return None

    def _plain(self, node: core.CallFunction, name: str) -> core.TypedExpression | None:
        if name in _KEYS:
            return self._group.key
        if name in _COUNTS:
            return self._variable(node, Reduction("count", (), (_COUNT,)))
        if name == "group_sum":
            return self._measured(node, "sum_of", self._group.values)
        if not self._parts or name not in _EXTREMES:
            return None
        is_last, types = _EXTREMES[name], tuple(part.type for part in self._parts)
        if name in ("first", "group_first"):
            return self._first(node, (), is_last)
        if len(types) > 1:
            return self._value(node, Reduction("first", (), types, self._parts, is_last))
        return self._value(node, Reduction("max" if is_last else "min", (), types))

    def _first(
        self, node: core.CallFunction, by: tuple[core.TypedExpression, ...], is_last: bool
    ) -> core.TypedExpression | None:
        """Return the value of a row, where the engine can order the rows as far as values depend on it."""
        named = {each.name for part in self._parts for each in nodes_in(part) if isinstance(each, core.VariableValue)}
        rows = list[str]()
        for name, binding in row_of(self._known, self._group.visible):
            if not named - set(self._group.visible):
                break
            named.discard(name)
            if not self._is_ordered(binding):
                return None
            rows += (each.name for each in binding.columns)
        types = tuple(part.type for part in self._parts)
        return self._value(node, Reduction("first", (), types, by, is_last, tuple(rows)))

    def _is_ordered(self, binding: VariableBinding) -> bool:
        """Return whether the engine's order of columns is that of the values that they have."""
        parts = (binding.type,) if binding.is_one else self._part_types(t.content(binding.type))
        return parts is not None and all(
            native_type(p) is not None and not is_interned(p) and not isinstance(t.content(p), t.Float | t.Double)
            for p in parts
        )

    def _measured(
        self, node: core.CallFunction, name: str, measure: core.TypedExpression
    ) -> core.TypedExpression | None:
        span = node.span
        match name:
            case "sum_of" if isinstance(measure.type, t.Bit | t.Signed) and native_type(measure.type):
                return self._variable(node, Reduction("sum", (), (measure.type,), (measure,)))
            case "count" | "any" | "all":
                yes, no = (
                    core.LiteralValue(_COUNT, value, span=span) for value in ((0, 1) if name == "all" else (1, 0))
                )
                counted = core.Choose(_COUNT, measure, yes, no, span=span)
                result = self._variable(node, Reduction("sum", (), (_COUNT,), (counted,)))
                zero = core.LiteralValue(_COUNT, 0, span=span)
                operator = "==" if name == "all" else "!="
                return result if name == "count" else core.Operation(t.BOOL, operator, (result, zero), span=span)
            case "arg_min" | "arg_max" if self._parts and (by := tuple(self._leaves(measure))):
                return self._first(node, by, name == "arg_max")
        return None

    def _variable(self, node: core.CallFunction, reduction: Reduction) -> core.TypedExpression:
        (name,) = self._names(reduction)
        return core.VariableValue(reduction.types[0], name, span=node.span)

    def _value(self, node: core.CallFunction, reduction: Reduction) -> core.TypedExpression:
        """Return a value of the group, put together of its parts."""
        names = iter(self._names(reduction))
        return self._rebuilt(self._group.values.type, names, node.span)

    def _names(self, reduction: Reduction) -> tuple[str, ...]:
        """Return the variables of a reduction, those of the same one if it was asked for before."""
        said = (reduction.function, reduction.types, reduction.by, reduction.is_last, reduction.rows)
        if said not in self._made:
            count = len(self._made)
            names = tuple(f"Reduced{count}_{i}_{self._group.name}" for i in range(len(reduction.types)))
            self._made[said] = replace(reduction, names=names)
        return self._made[said].names

    def _measure(self, function: core.TypedExpression) -> core.TypedExpression | None:
        """Return what a function gives for the group's value, over what is known before the group."""
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
        named = {node.name for node in inside if isinstance(node, core.VariableValue)}
        if not named - bound - {parameter} <= self._known.keys():
            return None

        def change(node: Any) -> Any:
            return value if isinstance(node, core.VariableValue) and node.name == parameter else simple(node)

        return transform(function.body, change)

    # Values as their native parts, in the order of the values

    def _leaves(self, value: core.TypedExpression) -> Iterator[core.TypedExpression]:
        """Yield the native parts of a value, in whose order its type is ordered; nothing where it has others."""
        result: list[core.TypedExpression] = []
        if self._collect(value, result):
            yield from result

    def _collect(self, value: core.TypedExpression, found: list[core.TypedExpression]) -> bool:
        type_ = t.content(value.type)
        if native_type(type_) is not None:
            found.append(value)
            return not isinstance(type_, t.Float | t.Double)
        parts = self._part_types(type_)
        return parts is not None and all(
            self._collect(simple(core.FieldOf(part, value, i, span=value.span)), found) for i, part in enumerate(parts)
        )

    def _part_types(self, type_: t.DdlogType) -> tuple[t.DdlogType, ...] | None:
        """Return the types of the fields of a struct with one constructor, or of a tuple's items."""
        if isinstance(type_, t.Tuple):
            return type_.items
        if isinstance(type_, t.Named) and len(made := self._checked.types[type_.name].constructors) == 1:
            return self._checked.fields(type_, made[0][0])
        return None

    def _rebuilt(self, type_: t.DdlogType, names: Iterator[str], span: Span) -> core.TypedExpression:
        inside = t.content(type_)
        if native_type(inside) is not None:
            return core.VariableValue(type_, next(names), span=span)
        items = tuple(self._rebuilt(part, names, span) for part in self._part_types(inside) or ())
        if isinstance(inside, t.Tuple):
            return core.MakeTuple(type_, items, span=span)
        assert isinstance(inside, t.Named)
        return core.MakeStruct(type_, self._checked.types[inside.name].constructors[0][0], items, span=span)


def simple(node: Any) -> Any:
    """Return the expression, with fields of newly made structs and tuples replaced by their values."""
    if isinstance(node, core.FieldOf) and isinstance(node.of, core.MakeTuple | core.MakeStruct):
        return node.of.items[node.index]
    return node
