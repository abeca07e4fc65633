"""What may be changed where: variables that `var` declares, `mut` parameters, and what `match` takes out of these.

Parameters, variables of rules and of loops, what a closure finds around it, what is behind a reference, and what a loop
goes over while it does, cannot be changed; conditions and operands change nothing that is declared outside of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from deltic.datalog.syntax.expressions import SyntaxNode, nodes_in, parts_of
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic
from deltic_ddlog import core
from deltic_ddlog.types import REFERENCES, Named

Reason = tuple[str, str]
"""Why something cannot be changed, and what to do instead."""
Fixed = Mapping[str, Reason]
"""The variables that cannot be changed."""

_LOOP = ("is a variable of a loop", "copy it: `var copy = ...`")
_OVER = ("is what the loop goes over", "change a copy of it")
_OUTSIDE = ("is of outside of this closure", "give it to the closure as a `mut` parameter")
_CONDITION = ("is changed inside of a condition", "change it before the `if`")
_OPERAND = ("is changed inside of an operand", "change it before this expression")
_PARAMETER = ("is a parameter without `mut`", "declare it `mut`, or copy it: `var copy = ...`")
_MATCHED = ("is a part of what cannot be changed", "copy it: `var copy = ...`")
_REFERENCE = ("is behind a reference", "make a new value, and a reference to that one")
_RULE = ("is a variable of a rule", "copy it: `var copy = ...`")


def check_changes(expression: core.TypedExpression, parameters: Mapping[str, bool]) -> Iterator[Diagnostic]:
    """Findings for each change of what cannot be changed. `parameters` marks those that are `mut`."""
    nodes = list(nodes_in(expression))
    if not any(map(_may_change, nodes)):
        return iter(())
    fixed = {name: _PARAMETER for name, mutable in parameters.items() if not mutable}
    bound = {node.name for node in nodes if isinstance(node, core.Bind | core.As)}
    inner = {name for node in nodes if isinstance(node, core.MakeClosure) for name in node.parameters}
    named = {node.name for node in nodes if isinstance(node, core.VariableValue)}
    return _changes(expression, {**dict.fromkeys(named - bound - inner - set(parameters), _RULE), **fixed})


def _may_change(node: SyntaxNode) -> bool:
    """Return whether it is itself a change, apart from its parts."""
    match node:
        case core.CallFunction(function=core.FunctionInstance(mutable=mutable)) | core.CallClosure(mutable=mutable):
            return any(mutable)
    return isinstance(node, core.AssignedPlace)


def _changes(node: core.TypedExpression | core.Pattern, fixed: Fixed) -> Iterator[Diagnostic]:
    match node:
        case core.AssignedPlace(place=place):
            yield from _change(place, fixed, node.span)
        case core.CallFunction() | core.CallClosure():
            yield from _each(parts_of(node), fixed)
            mutable = node.function.mutable if isinstance(node, core.CallFunction) else node.mutable
            for argument, is_changed in zip(node.arguments, mutable, strict=True):
                if is_changed and core.is_place(argument):
                    yield from _change(argument, fixed, argument.span)
        case core.ForEach(pattern=pattern, items=items, body=body):
            yield from _changes(items, fixed)
            over = {name: _OVER for name in _named(items) if core.is_place(items)}
            yield from _changes(body, {**fixed, **over, **{name: _LOOP for name, _ in core.bound_by(pattern)}})
        case core.MatchOn(subject=subject, cases=cases):
            yield from _changes(subject, fixed)
            is_fixed = not core.is_place(subject) or _root(subject) in fixed
            for pattern, value in cases:
                parts = {name: _MATCHED for name, _ in core.bound_by(pattern)} if is_fixed else {}
                yield from _changes(value, {**fixed, **parts})
        case core.Choose(condition=condition, then=then, otherwise=otherwise):
            yield from _changes(condition, {**fixed, **_declared_outside(condition, _CONDITION)})
            yield from _each((then, otherwise), fixed)
        case core.Operation(operands=operands):
            for operand in operands:
                yield from _changes(operand, {**fixed, **_declared_outside(operand, _OPERAND)})
        case core.MakeClosure(parameters=parameters, mutable=mutable, body=body):
            given = dict(zip(parameters, mutable, strict=True))
            own = {name: _PARAMETER for name, is_mut in given.items() if not is_mut}
            outside = {name: why for name, why in _declared_outside(body, _OUTSIDE).items() if name not in given}
            yield from _changes(body, {**fixed, **outside, **own})
        case _:
            yield from _each(parts_of(node), fixed)


def _each(nodes: Iterable[object], fixed: Fixed) -> Iterator[Diagnostic]:
    for node in nodes:
        assert isinstance(node, core.TypedExpression | core.Pattern)
        yield from _changes(node, fixed)


def _change(place: core.TypedExpression, fixed: Fixed, span: Span) -> Iterator[Diagnostic]:
    """Findings for a change of a place."""
    target, why = span.text, fixed.get(_root(place))
    part = place
    while isinstance(part, core.FieldOf | core.SharedField):
        part = part.of
        if isinstance(part.type, Named) and part.type.name in REFERENCES:
            why = _REFERENCE
    if why:
        yield span.error(f"`{target}` cannot be changed: it {why[0]}", why[1])


def _root(place: core.TypedExpression) -> str:
    """Return the variable that a place is, or is in."""
    while isinstance(place, core.FieldOf | core.SharedField):
        place = place.of
    return place.name if isinstance(place, core.VariableValue) else ""


def _named(expression: core.TypedExpression) -> set[str]:
    return {node.name for node in nodes_in(expression) if isinstance(node, core.VariableValue)}


def _declared_outside(expression: core.TypedExpression, why: Reason) -> dict[str, Reason]:
    """Return the variables that are named in an expression, and not declared in it."""
    bound = {node.name for node in nodes_in(expression) if isinstance(node, core.Bind | core.As)}
    return dict.fromkeys(_named(expression) - bound, why)
