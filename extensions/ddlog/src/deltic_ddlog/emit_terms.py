"""Values as Python writes them: constants, variables, structures, operators, conversions."""

from __future__ import annotations

from collections.abc import Sequence

from deltic_ddlog import core
from deltic_ddlog.arithmetic import ORDERED, cast, operation, text
from deltic_ddlog.emitter import Emitter, emits, name_of


@emits(core.LiteralValue)
def _literal(emitter: Emitter, node: core.LiteralValue) -> str:
    return f"({node.value!r})" if isinstance(node.value, int | float) and node.value < 0 else repr(node.value)


@emits(core.VariableValue)
def _variable(emitter: Emitter, node: core.VariableValue) -> str:
    return name_of(node.name)


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


@emits(core.MakeTuple)
def _make_tuple(emitter: Emitter, node: core.MakeTuple) -> str:
    return _tuple(emitter.values(node.items))


@emits(core.MakeStruct)
def _make_struct(emitter: Emitter, node: core.MakeStruct) -> str:
    if not node.items:
        return emitter.compiler.constructor(node.constructor, empty=True)
    items = emitter.values(node.items)
    return f"Struct({emitter.compiler.constructor(node.constructor)}, {_tuple(items)})"


@emits(core.MakeVec)
def _make_vec(emitter: Emitter, node: core.MakeVec) -> str:
    return f"Vec({_tuple(emitter.values(node.items))})"


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


@emits(core.ToText)
def _to_text(emitter: Emitter, node: core.ToText) -> str:
    return text(emitter.type(node.of.type), emitter.value(node.of))


@emits(core.BitsOf)
def _bits_of(emitter: Emitter, node: core.BitsOf) -> str:
    shifted = f"{emitter.value(node.of)} >> {node.low}" if node.low else emitter.value(node.of)
    return f"({shifted} & {(1 << node.high - node.low + 1) - 1})"


@emits(core.CastTo)
def _cast_to(emitter: Emitter, node: core.CastTo) -> str:
    return cast(emitter.type(node.of.type), emitter.type(node.type), emitter.value(node.of))
