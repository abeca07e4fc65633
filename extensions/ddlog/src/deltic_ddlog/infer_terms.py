"""Types of literals, names, values that are put together, and operators."""

from __future__ import annotations

from deltic.datalog.syntax.expressions import SyntaxNode
from deltic.errors import did_you_mean
from deltic_ddlog import core
from deltic_ddlog import syntax as s
from deltic_ddlog import types as t
from deltic_ddlog.declarations import ConstructorEntry
from deltic_ddlog.infer_calls import CallInference
from deltic_ddlog.infer_patterns import PatternOf, find_constructor, place_arguments
from deltic_ddlog.inference import InferredExpression
from deltic_ddlog.runtime import single
from deltic_ddlog.types import content
from deltic_ddlog.unification import Kind, TypeUnknown, is_number, resolve, shown, unify

_INTERN, _DEFAULT = "internment::Intern", "ddlog_std::default"
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_LOGIC = frozenset(("and", "or", "=>"))
_BITWISE = frozenset("&|^")


class TermInference(CallInference):
    """Infers literals, names, values that are put together, and operators."""

    def visit_BoolLiteral(self, node: s.BoolLiteral) -> InferredExpression:
        return self.made(core.LiteralValue, node.span, t.BOOL, node.value)

    def visit_StringExpression(self, node: s.StringExpression) -> InferredExpression:
        return self.made(core.LiteralValue, node.span, t.STRING, node.value)

    def visit_IntLiteral(self, node: s.IntLiteral) -> InferredExpression:
        return self._integer(node, node.value)

    def _integer(self, node: s.IntLiteral, value: int) -> InferredExpression:
        """Return an integer: of its own type, or of the one that is expected."""
        type_: t.DdlogType
        if node.width:
            type_ = t.Signed(node.width) if node.signed else t.Bit(node.width)
        else:
            type_ = self.number(TypeUnknown("number"))

        return self._number(node, type_, value)

    def _number(self, node: SyntaxNode, type_: t.DdlogType, value: float) -> InferredExpression:
        """Return a number of a type that may be found later."""

        def build() -> core.TypedExpression:
            known = self.known(type_)
            if isinstance(known, t.Float | t.Double):
                number = single(float(value)) if isinstance(known, t.Float) else float(value)
                return core.LiteralValue(known, number, span=node.span)
            low, high = t.bounds(known)
            if not low <= value <= high:
                self.report(node.span, f"{value} does not fit into `{known}`")
            return core.LiteralValue(known, value, span=node.span)

        return InferredExpression(type_, build)

    def visit_FloatExpression(self, node: s.FloatExpression) -> InferredExpression:
        """`double`, unless `float` is expected."""
        unknown = TypeUnknown("number")
        if node.width:
            unify(unknown, t.Float() if node.width == 32 else t.Double())

        def decided() -> bool:
            return isinstance(resolve(unknown), t.Float | t.Double)

        def fail() -> None:
            self.report(node.span, f"this is a `double`, and `{shown(unknown)}` is expected here")

        self.wait(decided, fail, lambda: isinstance(resolve(unknown), TypeUnknown) and unify(unknown, t.Double()))
        return self._number(node, unknown, node.value)

    def visit_Interpolation(self, node: s.Interpolation) -> InferredExpression:
        parts = [self.text_of(part) for part in node.parts]
        return self.made(core.Operation, node.span, t.STRING, "text", parts)

    def visit_InternedString(self, node: s.InternedString) -> InferredExpression:
        """References stand for what they refer to."""
        text = self.infer(node.text)
        return InferredExpression(t.Named(_INTERN, (t.STRING,)), text.build)

    def visit_VecLiteral(self, node: s.VecLiteral) -> InferredExpression:
        element = self.unknown()
        items = [self.expect(item, element) for item in node.items]
        return self.made(core.MakeVec, node.span, t.Named("ddlog_std::Vec", (element,)), items)

    def visit_MapLiteral(self, node: s.MapLiteral) -> InferredExpression:
        key, value = self.unknown(), self.unknown()
        items = [(self.expect(k, key), self.expect(v, value)) for k, v in node.items]
        return self.made(core.MakeMap, node.span, t.Named("ddlog_std::Map", (key, value)), items)

    def visit_TupleExpression(self, node: s.TupleExpression) -> InferredExpression:
        items = self.all(node.items)
        return self.made(core.MakeTuple, node.span, t.Tuple(tuple(item.type for item in items)), items)

    def visit_Construct(self, node: s.Construct) -> InferredExpression:
        entry = find_constructor(self, node)
        if entry is None:
            self.all([argument.value for argument in node.arguments])
            return self.broken(node.span)
        return self.construct(node, node.constructor, entry, node.arguments)

    def construct(
        self, node: SyntaxNode, name: str, entry: ConstructorEntry, arguments: tuple[s.Argument, ...]
    ) -> InferredExpression:
        """Return a constructor applied to arguments for all of its fields."""
        own = self.unknown_type(entry.type)
        types = self.declarations.fields(own, entry)
        placed = place_arguments(self, node, name, entry, arguments, complete=True)
        items = {place: self.expect(value, types[place]) for place, value in placed.items()}
        fields = [items[place] for place in sorted(items)]
        return self.made(core.MakeStruct, node.span, own, entry.constructor, fields)

    def visit_NameExpression(self, node: s.NameExpression) -> InferredExpression:
        local = self.local(node.name)
        if local is None:
            return self.function_value(node)
        return self.made(core.VariableValue, node.span, local.type, local.name)

    def visit_WildcardPattern(self, node: s.WildcardPattern) -> InferredExpression:
        self.report(node.span, "`_` has no value", "it stands in patterns alone")
        return self.broken(node.span)

    def visit_VariableDeclaration(self, node: s.VariableDeclaration) -> InferredExpression:
        hint = f"write `var {node.name} = ...`, or say its type: `var {node.name}: T`"
        self.report(node.span, f"the variable `{node.name}` has no value", hint)
        return self.broken(node.span)

    def _declared(self, node: s.VariableDeclaration, type_: t.DdlogType) -> InferredExpression:
        """`var x: T` without a value: the one that the type has by default."""
        target = PatternOf(self, "place", mutable=True).of(node, type_)
        default = self.call(node.span, "default", self.declarations.functions.entries[_DEFAULT], [], [])
        self.require(node.span, default.type, type_)
        return self.made(core.AssignTo, node.span, t.UNIT, target, default)

    def visit_At(self, node: s.At) -> InferredExpression:
        self.report(node.span, "`@` stands in patterns alone")
        return self.broken(node.span)

    def visit_Reference(self, node: s.Reference) -> InferredExpression:
        """`&x` as a value is the reference to it."""
        of = self.infer(node.of)
        return InferredExpression(t.Named("ddlog_std::Ref", (of.type,)), of.build)

    def visit_Ascription(self, node: s.Ascription) -> InferredExpression:
        type_ = self.type(node.type)
        if isinstance(node.of, s.VariableDeclaration):
            return self._declared(node.of, type_)
        return InferredExpression(type_, self.expect(node.of, type_).build)

    def visit_Unary(self, node: s.Unary) -> InferredExpression:
        if node.operator == "not":
            operand = self.expect(node.operand, t.BOOL)
            return self.made(core.Operation, node.span, t.BOOL, "not", [operand])
        if node.operator == "-" and isinstance(node.operand, s.IntLiteral):
            return self._integer(node.operand, -node.operand.value)
        operand = self.infer(node.operand)
        self._want(node.operand, operand.type, "integer" if node.operator == "~" else "number")
        return self.made(core.Operation, node.span, operand.type, node.operator, [operand])

    def _want(self, node: s.ParsedExpression, type_: t.DdlogType, kind: Kind) -> None:
        """Report an operand that is not a number of a kind."""
        unknown = self.number(TypeUnknown(kind))
        message = shown(type_)
        if not unify(type_, unknown):
            wanted = "a number" if kind == "number" else "an integer"
            self.report(node.span, f"this is of type `{message}`, and {wanted} is expected here")

    def visit_Binary(self, node: s.Binary) -> InferredExpression:
        operator = node.operator
        if operator in _LOGIC:
            left, right = self.expect(node.left, t.BOOL), self.expect(node.right, t.BOOL)
            return self.made(core.Operation, node.span, t.BOOL, operator, [left, right])
        if operator == "++":
            return self._concatenation(node)
        left = self.infer(node.left)
        if operator in ("<<", ">>"):
            self._want(node.left, left.type, "integer")
            right = self.expect(node.right, t.Bit(32))
            return self.made(core.Operation, node.span, left.type, operator, [left, right])
        right = self.expect(node.right, left.type)
        if operator in _COMPARISONS:
            return self.made(core.Operation, node.span, t.BOOL, operator, [left, right])
        self._want(node.left, left.type, "integer" if operator in _BITWISE or operator == "%" else "number")
        return self.made(core.Operation, node.span, left.type, operator, [left, right])

    def _concatenation(self, node: s.Binary) -> InferredExpression:
        """Of texts, whose right side becomes one, or of bits."""
        left = self.infer(node.left)
        result = self.unknown()
        right: list[InferredExpression] = []
        typed = self.infer(node.right)

        def attempt() -> bool:
            found, other = resolve(left.type), resolve(typed.type)
            if found == t.STRING:
                unify(result, t.STRING)
                right.append(self.text_of(node.right, typed))
                return True
            if isinstance(found, t.Bit) and isinstance(other, t.Bit):
                right.append(typed)
                self.require(node.span, t.Bit(found.width + other.width), result)
                return True
            if isinstance(found, TypeUnknown) or (isinstance(found, t.Bit) and isinstance(other, TypeUnknown)):
                return False
            hint = 'the left side of `++` is a string or a `bit<>`; write `"${...}"`'
            self.report(node.left.span, f"this is of type `{shown(found)}`", hint)
            right.append(typed)
            return True

        def fail() -> None:
            self.report(node.span, "the widths of what is put together are not known", "say them: `8'd1`")

        def guess() -> bool:
            unknown = isinstance(resolve(left.type), TypeUnknown)
            return unknown and resolve(typed.type) == t.STRING and unify(left.type, t.STRING)

        self.wait(attempt, fail, guess)
        right_side = InferredExpression(t.STRING, lambda: right[0].build())
        return self.made(core.Operation, node.span, result, "++", [left, right_side])

    def visit_Slice(self, node: s.Slice) -> InferredExpression:
        of = self.infer(node.of)
        self._want(node.of, of.type, "bits")
        if node.high < node.low:
            self.report(node.span, "the highest bit comes first", f"write `[{node.low}:{node.high}]`")
        type_ = t.Bit(max(node.high - node.low + 1, 1))

        def build() -> core.TypedExpression:
            result = self.known(of.type)
            if isinstance(result, t.Bit | t.Signed) and node.high >= result.width:
                self.report(node.span, f"`{result}` has no bit {node.high}")
            return core.BitsOf(type_, of.build(), node.high, node.low, span=node.span)

        return InferredExpression(type_, build)

    def visit_CastExpression(self, node: s.CastExpression) -> InferredExpression:
        """Between numbers; from one type of integers to another of another width in two steps."""
        type_ = self.type(node.type)
        of = self.infer(node.of)

        def decide(found: t.DdlogType) -> None:
            if not _castable(found, type_):
                message = f"`{shown(found)}` cannot be cast to `{type_}`"
                self.report(node.span, message, _remedy(found, type_))

        def guess() -> bool:
            result = resolve(of.type)
            return (
                isinstance(result, TypeUnknown) and result.kind != "any" and is_number(type_) and unify(of.type, type_)
            )

        self.when_known(node.of.span, of.type, decide, "bit<32>", guess)
        return self.made(core.CastTo, node.span, type_, of)

    def visit_FieldAccess(self, node: s.FieldAccess) -> InferredExpression:
        of = self.infer(node.of)
        result = self.unknown()
        chosen: list[InferredExpression] = []

        def attempt() -> bool:
            found = _content(of.type)
            if isinstance(found, TypeUnknown):
                return False
            chosen.append(self._field_of(node, of, found, result))
            return True

        def fail() -> None:
            message = f"the type of this is not known, so that its field `{node.name}` is not"
            self.report(node.of.span, message, "say the type: `(x: T)`")

        self.wait(attempt, fail)
        return InferredExpression(result, lambda: chosen[0].build())

    def _field_of(
        self, node: s.FieldAccess, of: InferredExpression, found: t.DdlogType, result: t.DdlogType
    ) -> InferredExpression:
        entry = self.declarations.struct(found) if isinstance(found, t.Named) else None
        if entry is None or not isinstance(found, t.Named):
            if found != t.BROKEN:
                self.report(node.span, f"`{shown(found)}` has no fields")
            return of
        having = [c for c in entry.constructors if node.name in c.constructor.fields]
        if not having:
            hint = did_you_mean(node.name, [f for c in entry.constructors for f in c.constructor.fields])
            self.report(node.span, f"`{shown(found)}` has no field `{node.name}`", hint)
            return of
        if len(having) < len(entry.constructors):
            message = f"not all constructors of `{shown(found)}` have a field `{node.name}`"
            self.report(node.span, message, "use `match`")
            return of
        places = [c.constructor.fields.index(node.name) for c in having]
        type_ = self.declarations.fields(found, having[0])[places[0]]
        self.require(node.span, type_, result)
        if len(set(places)) == 1:
            return self.made(core.FieldOf, node.span, type_, of, places[0])
        by_constructor = [(c.constructor, place) for c, place in zip(having, places, strict=True)]
        return self.made(core.SharedField, node.span, type_, of, by_constructor)

    def visit_TupleField(self, node: s.TupleField) -> InferredExpression:
        of = self.infer(node.of)
        result = self.unknown()

        def attempt() -> bool:
            found = _content(of.type)
            if isinstance(found, TypeUnknown):
                return False
            if found == t.BROKEN:
                return True
            if not isinstance(found, t.Tuple) or node.index >= len(found.items):
                self.report(node.span, f"`{shown(found)}` has no item {node.index}")
            else:
                self.require(node.span, found.items[node.index], result)
            return True

        def fail() -> None:
            self.report(node.of.span, "the type of this is not known", "say it: `(x: (string, bool))`")

        self.wait(attempt, fail)
        return self.made(core.FieldOf, node.span, result, of, node.index)


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
    """Return how else a number becomes one of another type."""
    if not (is_number(from_) and is_number(to)):
        return ""
    if isinstance(from_, t.Float | t.Double):
        return "by a function of `fp`: `int_from_d(x)`"
    if isinstance(from_, t.BigInt):
        return "by a signed number: `x as signed<64> as bit<64>`"
    return "in two steps: `x as signed<8> as signed<64>`"


def _content(type_: t.DdlogType) -> t.DdlogType:
    """Return the value behind references."""
    type_ = resolve(type_)
    inside = content(type_)
    return type_ if inside is type_ else _content(inside)
