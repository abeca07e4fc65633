"""What decides and repeats as Python writes it: blocks, assignments, `if`, `match`, `for`, `return`, `?`."""

from __future__ import annotations

from deltic_ddlog import core
from deltic_ddlog.emitter import Emitter, emits, name_of
from deltic_ddlog.types import UNIT, DdlogType, Named, Tuple, content
from deltic_ddlog.values import SORTED


@emits(core.AssignTo)
def _assign_to(emitter: Emitter, node: core.AssignTo) -> str:
    value = emitter.value(node.value)
    if not emitter.has_left():
        emitter.target(node.target, value)
    return "()"


@emits(core.InSequence)
def _in_sequence(emitter: Emitter, node: core.InSequence) -> str:
    for item in node.items[:-1]:
        emitter.discard(item)
    return emitter.value(node.items[-1])


@emits(core.Choose)
def _choose(emitter: Emitter, node: core.Choose) -> str:
    """A choice between two, or a chain of them."""
    condition = emitter.value(node.condition)
    is_unit = emitter.type(node.type) == UNIT
    then = emitter.captured(node.then)
    branches, rest = [(f"if {condition}:", then)], node.otherwise
    while isinstance(rest, core.Choose):
        before, condition = emitter.captured(rest.condition)
        if before:
            break
        branches.append((f"elif {condition}:", emitter.captured(rest.then)))
        rest = rest.otherwise
    otherwise = emitter.captured(rest)
    if not (is_unit or then[0] or otherwise[0] or len(branches) > 1):
        return f"({then[1]} if {branches[0][0][3:-1]} else {otherwise[1]})"
    result = "" if is_unit else emitter.temporary()
    for header, found in branches:
        emitter.branch(header, result, found)
    if not _is_nothing(rest):
        emitter.branch("else:", result, otherwise)
    return result or "()"


def _is_nothing(node: core.TypedExpression) -> bool:
    return isinstance(node, core.MakeTuple) and not node.items


@emits(core.MatchOn)
def _match_on(emitter: Emitter, node: core.MatchOn) -> str:
    """The cases cover all values, so that the last one need not be tested."""
    subject = emitter.kept(emitter.value(node.subject))
    result = "" if emitter.type(node.type) == UNIT else emitter.temporary()
    word = "if"
    for pattern, value in node.cases:
        conditions, bindings = emitter.tests(pattern, subject)
        if core.is_place(node.subject):
            emitter.remember_parts(node.subject, pattern)
        conditions = conditions if pattern is not node.cases[-1][0] else []
        header = f"{word} {' and '.join(conditions)}:" if conditions else "else:" if word == "elif" else "if True:"
        lines, found = emitter.captured(value)
        bound = [f"{name_of(name)} = {path}" for name, path in bindings if name_of(name) != path]
        emitter.branch(header, result, ([*bound, *lines], found))
        word = "elif"
        if not conditions:
            break
    return result or "()"


@emits(core.ForEach)
def _for_each(emitter: Emitter, node: core.ForEach) -> str:
    items = _in_order(emitter, emitter.type(node.items.type), emitter.value(node.items))
    name = name_of(node.pattern.name) if isinstance(node.pattern, core.Bind) else emitter.temporary()
    with emitter.block(f"for {name} in {items}:"):
        conditions, bindings = emitter.tests(node.pattern, name)
        if conditions:
            with emitter.block(f"if not ({' and '.join(conditions)}):"):
                emitter.line("continue")
        emitter.bind(bindings)
        emitter.discard(node.body)
    return "()"


def _in_order(emitter: Emitter, type_: DdlogType, items: str) -> str:
    """The items of a collection as loops go over them: a set or a map of interned values has them in Python's order."""
    type_ = content(type_)
    if not isinstance(type_, Named) or type_.name not in SORTED:
        return items
    order = emitter.compiler.order(Tuple(type_.arguments) if len(type_.arguments) > 1 else type_.arguments[0])
    return f"sorted({items}, key={order})" if order else items


@emits(core.BreakLoop)
def _break_loop(emitter: Emitter, node: core.BreakLoop) -> str:
    emitter.line("break")
    return "()"


@emits(core.ContinueLoop)
def _continue_loop(emitter: Emitter, node: core.ContinueLoop) -> str:
    emitter.line("continue")
    return "()"


@emits(core.ReturnValue)
def _return_value(emitter: Emitter, node: core.ReturnValue) -> str:
    emitter.give(emitter.value(node.value))
    return "()"


@emits(core.TryValue)
def _try_value(emitter: Emitter, node: core.TryValue) -> str:
    value = emitter.kept(emitter.value(node.of))
    with emitter.block(f"if {value}[0] is not {emitter.compiler.constructor(node.found)}:"):
        emitter.give(emitter.compiler.constructor(node.failed, empty=True) if node.failed else value)
    return f"{value}[1]"
