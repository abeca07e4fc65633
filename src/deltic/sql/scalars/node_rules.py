"""Scalar expressions of SQL, node by node: leaves, operators, casts, conditions, functions with their own syntax."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from string import hexdigits

from sqlglot import exp

from deltic.errors import ProgramError, UnsupportedError
from deltic.sql.collations import PLAIN
from deltic.sql.names import field_name
from deltic.sql.remedies import of_function
from deltic.sql.scalars import comparing, conditions, functions, literals, operators
from deltic.sql.scalars.coercion import as_signed, can_coerce, coerced, converted
from deltic.sql.scalars.functions.lookup import Unknown
from deltic.sql.scalars.intervals import clock_cast, interval_cast, is_calendar_interval, moved_by_calendar
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.parts import Parts
from deltic.sql.scalars.typed import NULL, Typed, applied, attempted, constant, folded
from deltic.sql.text import BUILT_IN, SourceText
from deltic.sql.types import modifier_of, type_of, written
from deltic.values.types import Type

Resolve = Callable[[exp.Column], Typed]

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_BITWISE = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift)
_TRIED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.SafeAdd: exp.Add,
    exp.SafeSubtract: exp.Sub,
    exp.SafeMultiply: exp.Mul,
    exp.SafeDivide: exp.Div,
}


class NodeTranslation(ABC):
    """Translates expressions whose nodes have classes of their own; calls by name are left to `called` and `call`."""

    def __init__(self, resolve: Resolve, source: SourceText, elements: Mapping[str, Typed] | None = None) -> None:
        self.resolve, self.source, self.elements = resolve, source, elements or {}
        self.parts = Parts()

    @abstractmethod
    def call(self, name: str, arguments: Sequence[Typed]) -> Typed:
        """Return the value of a function of SQL itself, or of Python, for these arguments."""

    @abstractmethod
    def called(self, node: exp.Expression) -> Typed:
        """Return the value of a call by name."""

    @abstractmethod
    def exists(self, node: exp.Expression) -> Typed:
        """Return the value of EXISTS over an array."""

    def whole(self, node: exp.Expression) -> Typed:
        """Return the value of a node with all of its parts."""
        return self.parts.whole(self.of(node))

    def of(self, node: exp.Expression) -> Typed:
        """Return the value of a node; a large one by a name, see `parts`."""
        return self.parts.named(self._made(node))

    def _made(self, node: exp.Expression) -> Typed:
        rule = _RULES.get(type(node))
        if rule is None:
            raise self.unsupported(node)
        try:
            return rule(self, node)
        except (Mismatch, UnsupportedError) as mismatch:
            hint = mismatch.hint if isinstance(mismatch, Mismatch) else ""
            if self.source.file == BUILT_IN:
                raise Mismatch(hint) from None
            parts = [self.of(operand) for operand in _operands(node)]
            raise self.mismatch(node, parts, hint) from None
        except Unknown as unknown:
            raise self.source.error(node, unknown.message, unknown.hint) from None

    def all(self, nodes: Sequence[exp.Expression]) -> list[Typed]:
        """Return the values of several nodes."""
        return [self.of(node) for node in nodes]

    def unsupported(self, node: exp.Expression) -> ProgramError:
        written = self.source.written(node)
        name = written.partition("(")[0].strip().lower()
        if isinstance(node, exp.AggFunc):
            return self.source.error(node, f"the aggregate {name} cannot stand here", "compute it in a subquery")
        is_named = isinstance(node, exp.Func) and name.isidentifier()
        message = f"the function {name}" if is_named else written
        return self.source.error(node, f"{message} is not supported here", of_function(name))

    def mismatch(self, node: exp.Expression, parts: Sequence[Typed], hint: str) -> ProgramError:
        types = ", ".join("NULL" if part.is_null else written(part.type.type) for part in parts)
        return self.source.error(node, f"{self.source.written(node)} is not defined for {types}", hint)

    # Leaves

    def column(self, node: exp.Expression) -> Typed:
        assert isinstance(node, exp.Column)
        first, *fields = node.parts
        element = self.elements.get(first.name.lower())
        if element is None:
            return self.resolve(node)
        return reduce(lambda value, part: functions.collections.field(value, part.name), fields, element)

    def element(self, node: exp.Expression) -> Typed:
        """Return a parameter of the function whose body this is."""
        return self.column(exp.column(node.copy()))

    def literal(self, node: exp.Expression) -> Typed:
        assert isinstance(node, exp.Literal)
        return constant(node.this, Type.STRING) if node.is_string else literals.number(node, self.source)

    def raw(self, node: exp.Expression) -> Typed:
        return constant(node.this, Type.STRING)

    def bytes(self, node: exp.Expression) -> Typed:
        """X'1F': bytes by their hexadecimal digits."""
        if not all(letter in hexdigits for letter in node.this):
            raise self.source.error(node, f"{node.this!r} is not hexadecimal", "bytes are written as X'1F'")
        return self.call("unhex", [constant(node.this, Type.STRING)])

    def adjacent(self, node: exp.Expression) -> Typed:
        """Strings side by side are one; two quotes with nothing in between stand for one."""
        if not all(isinstance(part, exp.Literal) and part.is_string for part in node.expressions):
            raise self.unsupported(node)
        return constant(literals.adjacent([part.name for part in node.expressions], node, self.source), Type.STRING)

    def boolean(self, node: exp.Expression) -> Typed:
        return constant(bool(node.this), Type.BOOLEAN)

    def null(self, node: exp.Expression) -> Typed:
        return NULL

    def interval(self, node: exp.Expression) -> Typed:
        assert isinstance(node, exp.Interval)
        return literals.interval(node, self.source)

    def of_variant(self, node: exp.Expression) -> Typed | None:
        """Return a call or a cast that reads a variant where it is made; None for another."""
        try:
            if not isinstance(node, exp.Cast):
                return functions.records.read_variant(node, self.of)
            value = functions.records.variant(node.this, self.of)
            is_safe = isinstance(node, exp.TryCast) and bool(node.args.get("safe"))
            return value and functions.records.cast_variant(value, type_of(node.args["to"], self.source), is_safe)
        except Mismatch as mismatch:
            raise self.source.error(node, f"{self.source.written(node)} reads no variant", mismatch.hint) from None

    def array(self, node: exp.Expression) -> Typed:
        return self.call("array", self.all(node.expressions))

    def struct(self, node: exp.Expression) -> Typed:
        """Return a struct whose fields have names, are columns, or are called col1, col2, …; so are values in
        parentheses.
        """
        if node.name.lower() == "named_struct":
            return self.call("named_struct", self.all(node.expressions))
        values = self.all([part.this if isinstance(part, exp.Alias) else part for part in node.expressions])
        names = [field_name(part) or f"col{i}" for i, part in enumerate(node.expressions, 1)]
        return comparing.called("struct", values, lambda _, values: functions.collections.struct(names, values))

    def by_class(self, node: exp.Expression) -> Typed:
        name, arguments = _SYNTAX[type(node)]
        given = [node.args.get(argument) for argument in arguments]
        return self.call(name, self.all([argument for argument in given if argument is not None]))

    def refused(self, node: exp.Expression) -> Typed:
        return self.call(_NOW[type(node)], [])

    def trim(self, node: exp.Expression) -> Typed:
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.text("position").upper(), "btrim")
        text, letters = self.of(node.this), node.args.get("expression")
        if letters is None:
            return self.call("trim" if name == "btrim" else name, [text])
        own = self.of(letters)
        return self.call(name, [text, own] if name == "btrim" else [own, text])

    def collated(self, node: exp.Expression) -> Typed:
        """`x COLLATE UNICODE_CI`: the text itself, which is compared in another way."""
        return self.call("collate", [self.of(node.this), constant(node.expression.name, Type.STRING)])

    def extract(self, node: exp.Expression) -> Typed:
        return functions.times.extract(node.this.name, self.of(node.expression))

    def like(self, node: exp.Expression) -> Typed:
        escape = "\\"
        inner = node
        if isinstance(node, exp.Escape):
            inner, escape = node.this, node.expression.name
        name = "ilike" if isinstance(inner, exp.ILike) else "like"
        patterns = inner.expression
        is_listed = isinstance(patterns, exp.Any | exp.All)
        given = (patterns.this.expressions or [patterns.this]) if is_listed else [patterns]
        text, *listed = self.all([inner.this, *given])
        like = partial(functions.texts.like, escape=escape)
        found = [comparing.called(name, [text, pattern], lambda name, of: like(name, *of)) for pattern in listed]
        if inner.args.get("negate"):  # of each pattern: NOT LIKE ANY asks for one that the text is not like
            found = [operators.logic(exp.Not, [one]) for one in found]
        combine = exp.Or if isinstance(patterns, exp.Any) else exp.And
        return operators.logic(combine, found)

    def item(self, node: exp.Expression) -> Typed:
        values = self.of(node.this)
        index = node.expressions[0]
        if node.args.get("offset") == 1:
            return self.call("try_element_at" if node.args.get("safe") else "element_at", [values, self.of(index)])
        return comparing.called("get", [values, self.of(index)], lambda _, of: functions.collections.item(*of))

    def field(self, node: exp.Expression) -> Typed:
        return functions.collections.field(self.of(node.this), node.expression.name)

    # Operators

    def paren(self, node: exp.Expression) -> Typed:
        return self.of(node.this)

    def arithmetic(self, node: exp.Expression) -> Typed:
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(node, exp.Add) and is_calendar_interval(left):
            left, right = right, left
        if isinstance(node, exp.Add | exp.Sub) and is_calendar_interval(right):
            return moved_by_calendar(type(node), self.of(left), right.name.lower(), self.all(right.expressions))
        return operators.arithmetic(type(node), self.of(node.this), self.of(node.expression))

    def tried(self, node: exp.Expression) -> Typed:
        return operators.arithmetic(_TRIED[type(node)], self.of(node.this), self.of(node.expression), attempted)

    def negation(self, node: exp.Expression) -> Typed:
        if literals.is_number(node.this):
            return literals.number(node.this, self.source, "-")
        return operators.negated(self.of(node.this))

    def comparison(self, node: exp.Expression) -> Typed:
        sides = node.this, node.expression
        if all(isinstance(side, exp.Tuple) for side in sides):
            return self._compared_rows(node, *sides)
        return operators.comparison(type(node), *self.all(sides))

    def _compared_rows(self, node: exp.Expression, left: exp.Expression, right: exp.Expression) -> Typed:
        """Rows in parentheses, compared like structs with any field names."""
        if isinstance(node, exp.EQ | exp.NEQ):
            same = self._same_rows(left, right)
            return operators.logic(exp.Not, [same]) if isinstance(node, exp.NEQ) else same
        names = [f"col{i}" for i in range(1, len(left.expressions) + 1)]
        rows = [functions.collections.struct(names, self.all(self._as_long(left, side))) for side in (left, right)]
        return operators.comparison(type(node), *rows)

    def _as_long(self, left: exp.Expression, right: exp.Expression) -> list[exp.Expression]:
        """Return the values of a row, which must be as long as the other."""
        if len(left.expressions) != len(right.expressions):
            counts = f"{len(left.expressions)} values are compared with {len(right.expressions)}"
            raise self.source.error(left, counts)
        values: list[exp.Expression] = right.expressions
        return values

    def _same_rows(self, left: exp.Expression, right: exp.Expression) -> Typed:
        """Return whether rows in parentheses agree in all values; NULL is the same as NULL in them."""
        pairs = zip(self.all(left.expressions), self.all(self._as_long(left, right)), strict=True)
        same = [operators.comparison(exp.NullSafeEQ, a, b) for a, b in pairs]
        return operators.logic(exp.And, same)

    def logic(self, node: exp.Expression) -> Typed:
        return operators.logic(type(node), self.all(_operands(node)))

    def bitwise(self, node: exp.Expression) -> Typed:
        return folded(operators.bitwise(type(node), self.of(node.this), self.of(node.expression)))

    def complement(self, node: exp.Expression) -> Typed:
        operand = self.of(node.this)
        if operand.is_null:
            return coerced(operand, Type.INT32)
        if not operand.type.type.is_integer:
            raise Mismatch("only integers have bits")
        return folded(applied(exp.BitwiseNot, operand))

    # Casts

    def cast(self, node: exp.Expression) -> Typed:
        if literals.is_number(node):
            return literals.number(node, self.source)
        if (read := self.of_variant(node)) is not None:
            return read
        target, operand = type_of(node.args["to"], self.source), self.of(node.this)
        is_safe = isinstance(node, exp.TryCast) and bool(node.args.get("safe"))
        for own in (clock_cast, interval_cast):
            if (result := own(node.args["to"], operand, target, is_safe)) is not None:
                return result
        if not can_coerce(operand, target):
            found = written(as_signed(operand.type.type))
            raise self.source.error(node, f"a {found} cannot be cast to {written(target)}")
        of_text = PLAIN if operand.type.type is Type.STRING is target else None
        modifier = modifier_of(node.args["to"], self.source) or of_text
        return replace((converted if is_safe else coerced)(operand, target), is_number=False, modifier=modifier)

    # Conditions

    def case(self, node: exp.Expression) -> Typed:
        tests, results = ([part.args[name] for part in node.args["ifs"]] for name in ("this", "true"))
        default = self.of(node.args["default"]) if node.args.get("default") else None
        if node.this is None:
            if null := next((test for test in tests if isinstance(test.unnest(), exp.Null)), None):
                raise self.source.error(null, "WHEN takes a condition, and NULL has no type", "leave it out")
            return conditions.chosen(self.all(tests), self.all(results), default)
        value, *candidates = self.all([node.this, *tests])
        return conditions.matched(value, candidates, self.all(results), default)

    def if_(self, node: exp.Expression) -> Typed:
        default = self.of(node.args["false"]) if node.args.get("false") else None
        return conditions.chosen([self.of(node.this)], [self.of(node.args["true"])], default)

    def coalesce(self, node: exp.Expression) -> Typed:
        return conditions.coalesced(self.all(_operands(node)))

    def among(self, node: exp.Expression) -> Typed:
        if not node.expressions:
            raise self.source.error(node, "IN has a list of values or a query, and here it is empty", "write FALSE")
        if isinstance(node.this, exp.Tuple) and all(isinstance(row, exp.Tuple) for row in node.expressions):
            rows = [self._same_rows(node.this, row) for row in node.expressions]
            return operators.logic(exp.Or, rows)
        value, *candidates = self.all([node.this, *node.expressions])
        return conditions.among(value, candidates)

    def between(self, node: exp.Expression) -> Typed:
        return conditions.between(*self.all([node.this, node.args["low"], node.args["high"]]))

    def is_(self, node: exp.Expression) -> Typed:
        if isinstance(node.expression, exp.Null):
            return conditions.is_null(functions.records.variant(node.this, self.of) or self.of(node.this))
        if isinstance(node.expression, exp.Boolean):
            return conditions.is_boolean(self.of(node.this), bool(node.expression.this))
        raise self.unsupported(node)


_NOW: dict[type[exp.Expression], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
}
# What has a syntax of its own, by its name as a function.
_SYNTAX: dict[type[exp.Expression], tuple[str, tuple[str, ...]]] = {
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.StrPosition: ("locate", ("substr", "this", "position")),
    exp.Overlay: ("overlay", ("this", "expression", "from_", "for_")),
    exp.RegexpLike: ("rlike", ("this", "expression")),
}


def _operands(node: exp.Expression) -> list[exp.Expression]:
    """Return the operands of a node. A name among them is a parameter of a function; after a dot, the name of a
    field.
    """
    others = (exp.DataType, exp.Var, exp.Lambda, *((exp.Identifier,) if isinstance(node, exp.Dot) else ()))
    return [child for child in node.iter_expressions() if not isinstance(child, others) or child is node.this]


_RULES: dict[type[exp.Expression], Callable[[NodeTranslation, exp.Expression], Typed]] = {
    exp.Column: NodeTranslation.column,
    exp.Identifier: NodeTranslation.element,
    exp.Exists: lambda translation, node: translation.exists(node),
    exp.Literal: NodeTranslation.literal,
    exp.Boolean: NodeTranslation.boolean,
    exp.Null: NodeTranslation.null,
    exp.Interval: NodeTranslation.interval,
    exp.RawString: NodeTranslation.raw,
    exp.HexString: NodeTranslation.bytes,
    exp.Concat: NodeTranslation.adjacent,
    exp.Paren: NodeTranslation.paren,
    exp.Neg: NodeTranslation.negation,
    exp.BitwiseNot: NodeTranslation.complement,
    exp.DPipe: lambda translation, node: translation.call("concat", translation.all(_operands(node))),
    exp.Cast: NodeTranslation.cast,
    exp.TryCast: NodeTranslation.cast,
    exp.Case: NodeTranslation.case,
    exp.If: NodeTranslation.if_,
    exp.Coalesce: NodeTranslation.coalesce,
    exp.In: NodeTranslation.among,
    exp.Between: NodeTranslation.between,
    exp.Is: NodeTranslation.is_,
    exp.Anonymous: lambda translation, node: translation.called(node),
    exp.Array: NodeTranslation.array,
    exp.Tuple: NodeTranslation.struct,
    exp.Trim: NodeTranslation.trim,
    exp.Extract: NodeTranslation.extract,
    exp.Collate: NodeTranslation.collated,
    exp.Bracket: NodeTranslation.item,
    exp.Dot: NodeTranslation.field,
    **dict.fromkeys((exp.Like, exp.ILike, exp.Escape), NodeTranslation.like),
    **dict.fromkeys(_SYNTAX, NodeTranslation.by_class),
    **dict.fromkeys(_NOW, NodeTranslation.refused),
    **dict.fromkeys(_ARITHMETIC, NodeTranslation.arithmetic),
    **dict.fromkeys(_TRIED, NodeTranslation.tried),
    **dict.fromkeys(_COMPARISONS, NodeTranslation.comparison),
    **dict.fromkeys(_BITWISE, NodeTranslation.bitwise),
    **dict.fromkeys((exp.And, exp.Or, exp.Not), NodeTranslation.logic),
}
