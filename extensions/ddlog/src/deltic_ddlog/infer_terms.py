"""Types of literals, names, values that are put together, and operators."""

from __future__ import annotations

from deltic.datalog.syntax.expressions import SyntaxNode
from deltic.errors import did_you_mean
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog import types as t
from deltic_ddlog.declarations import ConstructorEntry
from deltic_ddlog.infer_calls import call, function_value, text_of
from deltic_ddlog.infer_patterns import PatternOf, find_constructor, place_arguments
from deltic_ddlog.inference import Inference, InferredExpression, infers
from deltic_ddlog.runtime import single
from deltic_ddlog.types import content
from deltic_ddlog.unification import Kind, TypeUnknown, is_number, resolve, shown, unify

_INTERN, _DEFAULT = "internment::Intern", "ddlog_std::default"
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_LOGIC = frozenset(("and", "or", "=>"))
_BITWISE = frozenset("&|^")


@infers(s.BoolLiteral)
def _bool(inference: Inference, node: s.BoolLiteral) -> InferredExpression:
    return inference.made(core.LiteralValue, node.span, t.BOOL, node.value)


@infers(s.StringExpression)
def _string(inference: Inference, node: s.StringExpression) -> InferredExpression:
    return inference.made(core.LiteralValue, node.span, t.STRING, node.value)


@infers(s.IntLiteral)
def _int(inference: Inference, node: s.IntLiteral) -> InferredExpression:
    return _integer(inference, node, node.value)


def _integer(inference: Inference, node: s.IntLiteral, value: int) -> InferredExpression:
    """An integer: of its own type, or of the one that is expected."""
    type_: t.DdlogType
    if node.width:
        type_ = t.Signed(node.width) if node.signed else t.Bit(node.width)
    else:
        type_ = inference.number(TypeUnknown("number"))

    return _number(inference, node, type_, value)


def _number(inference: Inference, node: SyntaxNode, type_: t.DdlogType, value: float) -> InferredExpression:
    """A number of a type that may be found later."""

    def build() -> core.TypedExpression:
        known = inference.known(type_)
        if isinstance(known, t.Float | t.Double):
            number = single(float(value)) if isinstance(known, t.Float) else float(value)
            return core.LiteralValue(known, number, span=node.span)
        low, high = t.bounds(known)
        if not low <= value <= high:
            inference.report(node.span, f"{value} does not fit into `{known}`")
        return core.LiteralValue(known, value, span=node.span)

    return InferredExpression(type_, build)


@infers(s.FloatExpression)
def _float(inference: Inference, node: s.FloatExpression) -> InferredExpression:
    """`double`, unless `float` is expected."""
    unknown = TypeUnknown("number")
    if node.width:
        unify(unknown, t.Float() if node.width == 32 else t.Double())

    def decided() -> bool:
        return isinstance(resolve(unknown), t.Float | t.Double)

    def fail() -> None:
        inference.report(node.span, f"this is a `double`, and `{shown(unknown)}` is expected here")

    inference.wait(decided, fail, lambda: isinstance(resolve(unknown), TypeUnknown) and unify(unknown, t.Double()))
    return _number(inference, node, unknown, node.value)


@infers(s.Interpolation)
def _interpolation(inference: Inference, node: s.Interpolation) -> InferredExpression:
    parts = [text_of(inference, part) for part in node.parts]
    return inference.made(core.Operation, node.span, t.STRING, "text", parts)


@infers(s.InternedString)
def _interned(inference: Inference, node: s.InternedString) -> InferredExpression:
    """References stand for what they refer to."""
    text = inference.infer(node.text)
    return InferredExpression(t.Named(_INTERN, (t.STRING,)), text.build)


@infers(s.VecLiteral)
def _vec(inference: Inference, node: s.VecLiteral) -> InferredExpression:
    element = inference.unknown()
    items = [inference.expect(item, element) for item in node.items]
    return inference.made(core.MakeVec, node.span, t.Named("ddlog_std::Vec", (element,)), items)


@infers(s.MapLiteral)
def _map(inference: Inference, node: s.MapLiteral) -> InferredExpression:
    key, value = inference.unknown(), inference.unknown()
    items = [(inference.expect(k, key), inference.expect(v, value)) for k, v in node.items]
    return inference.made(core.MakeMap, node.span, t.Named("ddlog_std::Map", (key, value)), items)


@infers(s.TupleExpression)
def _tuple(inference: Inference, node: s.TupleExpression) -> InferredExpression:
    items = inference.all(node.items)
    return inference.made(core.MakeTuple, node.span, t.Tuple(tuple(item.type for item in items)), items)


@infers(s.Construct)
def _construct(inference: Inference, node: s.Construct) -> InferredExpression:
    entry = find_constructor(inference, node)
    if entry is None:
        inference.all([argument.value for argument in node.arguments])
        return inference.broken(node.span)
    return construct(inference, node, node.constructor, entry, node.arguments)


def construct(
    inference: Inference, node: SyntaxNode, name: str, entry: ConstructorEntry, arguments: tuple[s.Argument, ...]
) -> InferredExpression:
    """A constructor applied to arguments for all of its fields."""
    own = inference.unknown_type(entry.type)
    types = inference.declarations.fields(own, entry)
    placed = place_arguments(inference, node, name, entry, arguments, complete=True)
    items = {place: inference.expect(value, types[place]) for place, value in placed.items()}
    fields = [items[place] for place in sorted(items)]
    return inference.made(core.MakeStruct, node.span, own, entry.constructor, fields)


@infers(s.NameExpression)
def _name(inference: Inference, node: s.NameExpression) -> InferredExpression:
    local = inference.local(node.name)
    if local is None:
        return function_value(inference, node)
    return inference.made(core.VariableValue, node.span, local.type, local.name)


@infers(s.WildcardPattern)
def _wildcard(inference: Inference, node: s.WildcardPattern) -> InferredExpression:
    inference.report(node.span, "`_` has no value", "it stands in patterns alone")
    return inference.broken(node.span)


@infers(s.VariableDeclaration)
def _declaration(inference: Inference, node: s.VariableDeclaration) -> InferredExpression:
    hint = f"write `var {node.name} = ...`, or say its type: `var {node.name}: T`"
    inference.report(node.span, f"the variable `{node.name}` has no value", hint)
    return inference.broken(node.span)


def _declared(inference: Inference, node: s.VariableDeclaration, type_: t.DdlogType) -> InferredExpression:
    """`var x: T` without a value: the one that the type has by default."""
    target = PatternOf(inference, "place", mutable=True).of(node, type_)
    default = call(inference, node.span, "default", inference.declarations.functions.entries[_DEFAULT], [], [])
    inference.require(node.span, default.type, type_)
    return inference.made(core.AssignTo, node.span, t.UNIT, target, default)


@infers(s.At)
def _at(inference: Inference, node: s.At) -> InferredExpression:
    inference.report(node.span, "`@` stands in patterns alone")
    return inference.broken(node.span)


@infers(s.Reference)
def _reference(inference: Inference, node: s.Reference) -> InferredExpression:
    """`&x` as a value is the reference to it."""
    of = inference.infer(node.of)
    return InferredExpression(t.Named("ddlog_std::Ref", (of.type,)), of.build)


@infers(s.Ascription)
def _ascription(inference: Inference, node: s.Ascription) -> InferredExpression:
    type_ = inference.type(node.type)
    if isinstance(node.of, s.VariableDeclaration):
        return _declared(inference, node.of, type_)
    return InferredExpression(type_, inference.expect(node.of, type_).build)


@infers(s.Unary)
def _unary(inference: Inference, node: s.Unary) -> InferredExpression:
    if node.operator == "not":
        operand = inference.expect(node.operand, t.BOOL)
        return inference.made(core.Operation, node.span, t.BOOL, "not", [operand])
    if node.operator == "-" and isinstance(node.operand, s.IntLiteral):
        return _integer(inference, node.operand, -node.operand.value)
    operand = inference.infer(node.operand)
    _want(inference, node.operand, operand.type, "integer" if node.operator == "~" else "number")
    return inference.made(core.Operation, node.span, operand.type, node.operator, [operand])


def _want(inference: Inference, node: s.ParsedExpression, type_: t.DdlogType, kind: Kind) -> None:
    """Report an operand that is no number of a kind."""
    unknown = inference.number(TypeUnknown(kind))
    message = shown(type_)
    if not unify(type_, unknown):
        wanted = "a number" if kind == "number" else "an integer"
        inference.report(node.span, f"this is of type `{message}`, and {wanted} is expected here")


@infers(s.Binary)
def _binary(inference: Inference, node: s.Binary) -> InferredExpression:
    operator = node.operator
    if operator in _LOGIC:
        left, right = inference.expect(node.left, t.BOOL), inference.expect(node.right, t.BOOL)
        return inference.made(core.Operation, node.span, t.BOOL, operator, [left, right])
    if operator == "++":
        return _concatenation(inference, node)
    left = inference.infer(node.left)
    if operator in ("<<", ">>"):
        _want(inference, node.left, left.type, "integer")
        right = inference.expect(node.right, t.Bit(32))
        return inference.made(core.Operation, node.span, left.type, operator, [left, right])
    right = inference.expect(node.right, left.type)
    if operator in _COMPARISONS:
        return inference.made(core.Operation, node.span, t.BOOL, operator, [left, right])
    _want(inference, node.left, left.type, "integer" if operator in _BITWISE or operator == "%" else "number")
    return inference.made(core.Operation, node.span, left.type, operator, [left, right])


def _concatenation(inference: Inference, node: s.Binary) -> InferredExpression:
    """Of texts, whose right side becomes one, or of bits."""
    left = inference.infer(node.left)
    result = inference.unknown()
    right: list[InferredExpression] = []
    typed = inference.infer(node.right)

    def attempt() -> bool:
        found, other = resolve(left.type), resolve(typed.type)
        if found == t.STRING:
            unify(result, t.STRING)
            right.append(text_of(inference, node.right, typed))
            return True
        if isinstance(found, t.Bit) and isinstance(other, t.Bit):
            right.append(typed)
            inference.require(node.span, t.Bit(found.width + other.width), result)
            return True
        if isinstance(found, TypeUnknown) or (isinstance(found, t.Bit) and isinstance(other, TypeUnknown)):
            return False
        hint = 'the left side of `++` is a string or a `bit<>`; write `"${...}"`'
        inference.report(node.left.span, f"this is of type `{shown(found)}`", hint)
        right.append(typed)
        return True

    def fail() -> None:
        inference.report(node.span, "the widths of what is put together are not known", "say them: `8'd1`")

    def guess() -> bool:
        unknown = isinstance(resolve(left.type), TypeUnknown)
        return unknown and resolve(typed.type) == t.STRING and unify(left.type, t.STRING)

    inference.wait(attempt, fail, guess)
    right_side = InferredExpression(t.STRING, lambda: right[0].build())
    return inference.made(core.Operation, node.span, result, "++", [left, right_side])


@infers(s.Slice)
def _slice(inference: Inference, node: s.Slice) -> InferredExpression:
    of = inference.infer(node.of)
    _want(inference, node.of, of.type, "bits")
    if node.high < node.low:
        inference.report(node.span, "the highest bit comes first", f"write `[{node.low}:{node.high}]`")
    type_ = t.Bit(max(node.high - node.low + 1, 1))

    def build() -> core.TypedExpression:
        result = inference.known(of.type)
        if isinstance(result, t.Bit | t.Signed) and node.high >= result.width:
            inference.report(node.span, f"`{result}` has no bit {node.high}")
        return core.BitsOf(type_, of.build(), node.high, node.low, span=node.span)

    return InferredExpression(type_, build)


@infers(s.CastExpression)
def _cast(inference: Inference, node: s.CastExpression) -> InferredExpression:
    """Between numbers; from one type of integers to another of another width in two steps."""
    type_ = inference.type(node.type)
    of = inference.infer(node.of)

    def decide(found: t.DdlogType) -> None:
        if not _castable(found, type_):
            message = f"`{shown(found)}` cannot be cast to `{type_}`"
            inference.report(node.span, message, _remedy(found, type_))

    def guess() -> bool:
        result = resolve(of.type)
        return isinstance(result, TypeUnknown) and result.kind != "any" and is_number(type_) and unify(of.type, type_)

    inference.when_known(node.of.span, of.type, decide, "bit<32>", guess)
    return inference.made(core.CastTo, node.span, type_, of)


def _castable(from_: t.DdlogType, to: t.DdlogType) -> bool:
    match from_, to:
        case (t.Bit(a), t.Signed(b)) | (t.Signed(a), t.Bit(b)):
            return a == b
        case (t.BigInt(), t.Bit()):
            return False
        case (t.Float() | t.Double(), _):
            return isinstance(to, t.Float | t.Double)
        case (t.BigInt(), _) | (_, t.BigInt() | t.Float() | t.Double()):
            return is_number(from_) and is_number(to)
        case _:
            return is_number(from_) and type(from_) is type(to)


def _remedy(from_: t.DdlogType, to: t.DdlogType) -> str:
    """How else a number becomes one of another type."""
    if not (is_number(from_) and is_number(to)):
        return ""
    if isinstance(from_, t.Float | t.Double):
        return "by a function of `fp`: `int_from_d(x)`"
    if isinstance(from_, t.BigInt):
        return "by a signed number: `x as signed<64> as bit<64>`"
    return "in two steps: `x as signed<8> as signed<64>`"


@infers(s.FieldAccess)
def _field(inference: Inference, node: s.FieldAccess) -> InferredExpression:
    of = inference.infer(node.of)
    result = inference.unknown()
    chosen: list[InferredExpression] = []

    def attempt() -> bool:
        found = _content(of.type)
        if isinstance(found, TypeUnknown):
            return False
        chosen.append(_field_of(inference, node, of, found, result))
        return True

    def fail() -> None:
        message = f"the type of this is not known, so that its field `{node.name}` is not"
        inference.report(node.of.span, message, "say the type: `(x: T)`")

    inference.wait(attempt, fail)
    return InferredExpression(result, lambda: chosen[0].build())


def _content(type_: t.DdlogType) -> t.DdlogType:
    """What references lead to."""
    type_ = resolve(type_)
    inside = content(type_)
    return type_ if inside is type_ else _content(inside)


def _field_of(
    inference: Inference, node: s.FieldAccess, of: InferredExpression, found: t.DdlogType, result: t.DdlogType
) -> InferredExpression:
    entry = inference.declarations.struct(found) if isinstance(found, t.Named) else None
    if entry is None or not isinstance(found, t.Named):
        if found != t.BROKEN:
            inference.report(node.span, f"`{shown(found)}` has no fields")
        return of
    having = [c for c in entry.constructors if node.name in c.constructor.fields]
    if not having:
        hint = did_you_mean(node.name, [f for c in entry.constructors for f in c.constructor.fields])
        inference.report(node.span, f"`{shown(found)}` has no field `{node.name}`", hint)
        return of
    if len(having) < len(entry.constructors):
        message = f"not all constructors of `{shown(found)}` have a field `{node.name}`"
        inference.report(node.span, message, "use `match`")
        return of
    places = [c.constructor.fields.index(node.name) for c in having]
    type_ = inference.declarations.fields(found, having[0])[places[0]]
    inference.require(node.span, type_, result)
    if len(set(places)) == 1:
        return inference.made(core.FieldOf, node.span, type_, of, places[0])
    by_constructor = [(c.constructor, place) for c, place in zip(having, places, strict=True)]
    return inference.made(core.SharedField, node.span, type_, of, by_constructor)


@infers(s.TupleField)
def _tuple_field(inference: Inference, node: s.TupleField) -> InferredExpression:
    of = inference.infer(node.of)
    result = inference.unknown()

    def attempt() -> bool:
        found = _content(of.type)
        if isinstance(found, TypeUnknown):
            return False
        if found == t.BROKEN:
            return True
        if not isinstance(found, t.Tuple) or node.index >= len(found.items):
            inference.report(node.span, f"`{shown(found)}` has no item {node.index}")
        else:
            inference.require(node.span, found.items[node.index], result)
        return True

    def fail() -> None:
        inference.report(node.of.span, "the type of this is not known", "say it: `(x: (string, bool))`")

    inference.wait(attempt, fail)
    return inference.made(core.FieldOf, node.span, result, of, node.index)
