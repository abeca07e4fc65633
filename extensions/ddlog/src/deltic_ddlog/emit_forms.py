"""Each form of expressions as Python writes it."""

from __future__ import annotations

from collections.abc import Sequence

from deltic_ddlog import core
from deltic_ddlog.arithmetic import ORDERED, cast, operation, text
from deltic_ddlog.closures import ClosureCode
from deltic_ddlog.emitter import Emitter, emits, name_of
from deltic_ddlog.types import UNIT, DdlogType, Named, Tuple, content
from deltic_ddlog.values import SORTED

emits(core.VariableValue)(lambda emitter, node: name_of(node.name))
emits(core.MakeTuple)(lambda emitter, node: _tuple(emitter.values(node.items)))
emits(core.MakeVec)(lambda emitter, node: f"Vec({_tuple(emitter.values(node.items))})")
emits(core.ToText)(lambda emitter, node: text(emitter.type(node.of.type), emitter.value(node.of)))
emits(core.CastTo)(
    lambda emitter, node: cast(emitter.type(node.of.type), emitter.type(node.type), emitter.value(node.of))
)
emits(core.FunctionValue)(lambda emitter, node: emitter.compiler.function_value(ClosureCode(node, emitter.given)))


# Values


@emits(core.LiteralValue)
def _literal(emitter: Emitter, node: core.LiteralValue) -> str:
    return f"({node.value!r})" if isinstance(node.value, int | float) and node.value < 0 else repr(node.value)


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


@emits(core.MakeStruct)
def _make_struct(emitter: Emitter, node: core.MakeStruct) -> str:
    if not node.items:
        return emitter.compiler.constructor(node.constructor, empty=True)
    items = emitter.values(node.items)
    return f"Struct({emitter.compiler.constructor(node.constructor)}, {_tuple(items)})"


@emits(core.MakeMap)
def _make_map(emitter: Emitter, node: core.MakeMap) -> str:
    flat = emitter.values([part for pair in node.items for part in pair])
    pairs = [_tuple(flat[i : i + 2]) for i in range(0, len(flat), 2)]
    return f"Map.of({_tuple(pairs)})"


@emits(core.FieldOf)
def _field_of(emitter: Emitter, node: core.FieldOf) -> str:
    owner = emitter.value(node.of)
    return f"{owner}[{emitter.offset(node, owner)}]"


@emits(core.SharedField)
def _shared_field(emitter: Emitter, node: core.SharedField) -> str:
    owner = emitter.kept(emitter.value(node.of))
    return f"{owner}[{emitter.offset(node, owner)}]"


@emits(core.Operation)
def _operation(emitter: Emitter, node: core.Operation) -> str:
    if node.operator in ("and", "or", "=>"):
        return _logic(emitter, node)
    values = emitter.values(node.operands)
    if node.operator == "text":
        return f"''.join({_tuple(values)})"
    types = [emitter.type(operand.type) for operand in node.operands]
    if node.operator in ORDERED and (order := emitter.compiler.order(types[0])):
        values = [f"{order}({value})" for value in values]
    return operation(node.operator, emitter.type(node.type), types, values)


def _logic(emitter: Emitter, node: core.Operation) -> str:
    """The right side is computed where the left one does not decide."""
    left = emitter.value(node.operands[0])
    inside, right = emitter.captured(node.operands[1])
    if node.operator == "=>":
        left = f"(not {left})"
    word = "and" if node.operator == "and" else "or"
    if not inside:
        return f"({left} {word} {right})"
    result = emitter.temporary()
    emitter.line(f"{result} = {left}")
    emitter.branch(f"if {result}:" if word == "and" else f"if not {result}:", result, (inside, right))
    return result


@emits(core.BitsOf)
def _bits_of(emitter: Emitter, node: core.BitsOf) -> str:
    shifted = f"{emitter.value(node.of)} >> {node.low}" if node.low else emitter.value(node.of)
    return f"({shifted} & {(1 << node.high - node.low + 1) - 1})"


# Calls and closures


@emits(core.CallFunction)
def _call_function(emitter: Emitter, node: core.CallFunction) -> str:
    name = emitter.compiler.function(core.at(node.function, emitter.given), node.span)
    return _called(emitter, name, node.arguments, node.function.mutable)


@emits(core.CallClosure)
def _call_closure(emitter: Emitter, node: core.CallClosure) -> str:
    callee, *_ = emitter.values([node.closure])
    return _called(emitter, emitter.kept(callee), node.arguments, node.mutable)


def _called(emitter: Emitter, name: str, arguments: Sequence[core.TypedExpression], mutable: Sequence[bool]) -> str:
    """A call; the new values of `mut` arguments go back where they came from."""
    values = emitter.values(arguments)
    called = f"{name}({', '.join(values)})"
    changed = [argument for argument, is_mut in zip(arguments, mutable, strict=True) if is_mut]
    if not changed:
        return called
    result = emitter.temporary()
    new = [name_of(a.name) if isinstance(a, core.VariableValue) else emitter.temporary() for a in changed]
    emitter.line(f"{', '.join([result, *new])} = {called}")
    for argument, value in zip(changed, new, strict=True):
        if core.is_place(argument):
            emitter.store(argument, value)
    return result


@emits(core.MakeClosure)
def _make_closure(emitter: Emitter, node: core.MakeClosure) -> str:
    """What is around is read as it is now: by default values of parameters."""
    code = ClosureCode(node, emitter.given)
    name, made = emitter.compiler.closures.learn(code), emitter.temporary()
    own = [name_of(parameter) for parameter in node.parameters]
    captured = [f"{outer}={outer}" for outer in (name_of(variable.name) for variable in code.captured)]
    outer_back = emitter.given_back
    emitter.given_back = [p for p, mutable in zip(own, node.mutable, strict=True) if mutable]
    with emitter.block(f"def {name}({', '.join([*own, *captured])}):"):
        emitter.give(emitter.value(node.body))
    emitter.given_back = outer_back
    emitter.line(f"{made} = {name}")
    return made


# What decides and repeats


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


@emits(core.LeaveLoop)
def _leave_loop(emitter: Emitter, node: core.LeaveLoop) -> str:
    emitter.line(node.word)
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
