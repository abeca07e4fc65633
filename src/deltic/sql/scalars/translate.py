"""Translates scalar expressions of SQL to expressions of circuits, with Spark's types and explicit coercions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial, reduce
from string import hexdigits

from sqlglot import exp

from deltic.errors import ProgramError, UnsupportedError
from deltic.sql.collations import PLAIN
from deltic.sql.names import field_name
from deltic.sql.remedies import of_function
from deltic.sql.scalars import comparing, conditions, functions, literals, operators
from deltic.sql.scalars.clocks import clock_cast
from deltic.sql.scalars.coercion import as_signed, can_coerce, coerced, converted
from deltic.sql.scalars.folding import folded
from deltic.sql.scalars.functions.bodies import Sign, filled, parsed, places, signature_of
from deltic.sql.scalars.functions.definitions import DEFINED, FunctionDefinition, definition_of
from deltic.sql.scalars.functions.lookup import Unknown
from deltic.sql.scalars.functions.rules import NullLiteral, is_bare
from deltic.sql.scalars.intervals import interval_cast, is_calendar_interval, moved_by_calendar
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.parts import Parts
from deltic.sql.scalars.typed import NULL, Typed, applied, attempted, constant
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


def typed(node: exp.Expression, resolve: Resolve, source: SourceText) -> Typed:
    """Return a scalar expression, as sqlglot's Spark dialect parses it, as an expression of circuits with its type.

    `resolve` gives the value of a column. There are no aggregates, window functions and subqueries in the expression.
    Raises ProgramError at the place of what is not supported, or of operands whose types do not fit together.
    """
    return _Translation(resolve, source).whole(node)


def arguments(function: functions.written.SqlFunction, given: Mapping[str, Typed]) -> dict[str, Typed]:
    """Return the values of the parameters of a function, those that are not given by default."""
    found = {}
    for parameter in function.parameters:
        value = given.get(parameter.name.lower())
        if value is None:
            assert parameter.default is not None
            value = _Translation(partial(_no_column, function), function.source).whole(parameter.default)
        if not can_coerce(value, parameter.type):
            message = (
                f"{parameter.name} of {function.name} is {written(parameter.type)}, not {written(value.type.type)}"
            )
            raise Mismatch(message)
        found[parameter.name.lower()] = coerced(value, parameter.type)
    return found


def _called(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return the value of a function of SQL itself, or of Python; Mismatch where it does not take these arguments."""
    return comparing.called(name, arguments, _without_collation)


def _without_collation(name: str, arguments: Sequence[Typed]) -> Typed:
    if name in _OF_TEXTS and any(_is_no_text(argument) for argument in arguments):
        raise Mismatch(f"{name} takes texts alone; cast the others to STRING")
    try:
        return _of_these(name, arguments)
    except NullLiteral as missing:
        sample = constant(missing.sample, Type.STRING)
        for place, argument in enumerate(arguments):
            if is_bare(argument):
                with suppress(Mismatch):
                    present = _without_collation(name, [*arguments[:place], sample, *arguments[place + 1 :]])
                    return coerced(NULL, present.type.type)
        raise


_OF_TEXTS = frozenset(
    (
        *("collate", "collation", "from_csv", "from_json", "get_json_object", "json_array_length", "json_object_keys"),
        *("mask", "parse_url", "schema_of_csv", "schema_of_json", "soundex", "str_to_map", "try_parse_url"),
    )
)
"""Functions for which Spark casts nothing to a text."""


def _is_no_text(argument: Typed) -> bool:
    type_ = argument.type.type
    return not argument.is_null and not type_.is_composite and type_ is not Type.STRING


def _of_these(name: str, arguments: Sequence[Typed]) -> Typed:
    definition = definition_of(name, arguments)
    if definition is None:
        return functions.called(name, arguments)
    signature = signature_of(arguments)
    if signature is None:
        return _defined(definition, arguments)
    return folded(filled(_translated(definition, signature), arguments))


@lru_cache(maxsize=4096)
def _translated(definition: FunctionDefinition, signature: tuple[Sign, ...]) -> Typed:
    """A definition over places for arguments."""
    return _defined(definition, places(signature))


def _defined(definition: FunctionDefinition, arguments: Sequence[Typed]) -> Typed:
    """Return the value of the expression that defines a function."""
    defaults = [_built_in(parameter.default, {}) for parameter in definition.parameters[len(arguments) :]]
    return folded(_built_in(definition.body, definition.brought([*arguments, *defaults])))


def _built_in(text: str, values: Mapping[str, Typed]) -> Typed:
    node, source = parsed(text)
    return _Translation(_only_parameters, source, values).whole(node)


def _only_parameters(reference: exp.Column) -> Typed:
    raise LookupError(f"{reference.name} is no parameter")


def result(function: functions.written.SqlFunction, values: Mapping[str, Typed]) -> Typed:
    """Return the value of a body without subqueries for these values of the parameters."""
    resolve = partial(_parameter, function, values)
    return returned(function, _Translation(resolve, function.source, values).whole(function.body))


def returned(function: functions.written.SqlFunction, value: Typed) -> Typed:
    """Return the value of a body as the function returns it."""
    if function.returns is None:
        return value
    if not can_coerce(value, function.returns):
        message = f"{function.name} returns {written(function.returns)}, and its body is {written(value.type.type)}"
        raise function.source.error(function.body, message)
    return coerced(value, function.returns)


def _no_column(function: functions.written.SqlFunction, reference: exp.Column) -> Typed:
    raise function.source.error(
        reference, "a DEFAULT must be a constant", "give the argument where the function is called"
    )


def _parameter(function: functions.written.SqlFunction, values: Mapping[str, Typed], reference: exp.Column) -> Typed:
    """Return the value of a parameter after the name of the function."""
    found = values.get(reference.name.lower())
    if found is None or reference.table.lower() != function.name.lower():
        hint = f"the parameters are {function.signature}" if values else "the function has no parameters"
        raise function.source.error(reference, f"there is no parameter {function.source.written(reference)}", hint)
    return found


class _Translation:
    def __init__(self, resolve: Resolve, source: SourceText, elements: Mapping[str, Typed] | None = None) -> None:
        self.resolve, self.source, self.elements = resolve, source, elements or {}
        self.parts = Parts()

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
        return _called("unhex", [constant(node.this, Type.STRING)])

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

    # Functions

    def called(self, node: exp.Expression) -> Typed:
        if (read := self._of_variant(node)) is not None:
            return read
        if node.name.lower() in ("struct", "named_struct") and node.expressions:
            return self._struct(node)
        if (own := functions.written.function_called(node.name)) is not None:
            return self._written(own, node)
        name, arguments = node.name.lower(), self._in_order(node.name.lower(), node)
        if self.source.file == BUILT_IN and "spark_" in name:
            return functions.rules.primitive(name, self.all(arguments))
        if name == "arrays_zip":
            names = [part.name if isinstance(part, exp.Column) else str(i) for i, part in enumerate(arguments)]
            return functions.collections.arrays_zip(names, self.all(arguments))
        if name in _OF_UNITS and len(arguments) == 3 and isinstance(arguments[0], exp.Column):
            return functions.times.of_unit(name, arguments[0].name, *self.all(arguments[1:]))
        if any(isinstance(argument, exp.Lambda) for argument in arguments):
            return self._taking(name, arguments)
        return _called(name, self.all(arguments))

    def _of_variant(self, node: exp.Expression) -> Typed | None:
        """Return a call or a cast that reads a variant where it is made; None for another."""
        try:
            if not isinstance(node, exp.Cast):
                return functions.variants.read(node, self.of)
            value = functions.variants.variant(node.this, self.of)
            is_safe = isinstance(node, exp.TryCast) and bool(node.args.get("safe"))
            return value and functions.variants.cast(value, type_of(node.args["to"], self.source), is_safe)
        except Mismatch as mismatch:
            raise self.source.error(node, f"{self.source.written(node)} reads no variant", mismatch.hint) from None

    def _in_order(self, name: str, node: exp.Expression) -> list[exp.Expression]:
        """Return the arguments of a call; those with names, `upperChar => 'Q'`, at their places."""
        given: list[exp.Expression] = node.expressions
        if not any(isinstance(argument, exp.Kwarg) for argument in given):
            return given
        named = {a.name.lower(): a.expression for a in given if isinstance(a, exp.Kwarg)}
        plain = [a for a in given if not isinstance(a, exp.Kwarg)]
        places = [parameter.name.lower() for parameter in DEFINED[name][0].parameters] if name in _NAMED else []
        if not places or not set(named) <= {*places[len(plain) :]} or len(named) + len(plain) < len(given):
            hint = f"its arguments are {', '.join(places)}" if places else "leave the names out"
            raise self.source.error(node, f"{name} takes no arguments of these names", hint)
        defaults = [parameter.default or "NULL" for parameter in DEFINED[name][0].parameters]
        left = zip(places[len(plain) :], defaults[len(plain) :], strict=True)
        return plain + [named.get(place) or parsed(default)[0].copy() for place, default in left]

    def _written(self, function: functions.written.SqlFunction, node: exp.Expression) -> Typed:
        """Return a call of a function that SQL has made, whose body is an expression: the body for these arguments."""
        if function.is_table:
            raise Unknown(f"{function.name} returns a table", f"write it in FROM: {function.name}(…)")
        if function.needs_rows:
            raise Unknown(f"{function.name} has a subquery, and cannot stand here", "compute it in SELECT or WHERE")
        try:
            given = function.given(node.expressions)
            values = arguments(function, {name: self.of(part) for name, part in given.items()})
        except Mismatch as mismatch:
            raise self.source.error(node, mismatch.hint) from None
        return result(function, values)

    def _taking(self, name: str, arguments: Sequence[exp.Expression]) -> Typed:
        """Return a call of a function that takes functions."""
        if name not in functions.lambdas.TAKERS:
            raise Unknown(f"{name} takes no function such as x -> x + 1", "")
        own = [self.function(part) if isinstance(part, exp.Lambda) else self.of(part) for part in arguments]
        return functions.called(name, own)

    def function(self, node: exp.Lambda) -> functions.lambdas.Lambda:
        """Return a function; its body sees its parameters and the names around it."""
        names = tuple(part.name.lower() for part in node.expressions)
        if len(set(names)) < len(names):
            raise self.source.error(node, "two parameters have one name")

        def body(elements: Mapping[str, Typed]) -> Typed:
            return _Translation(self.resolve, self.source, {**self.elements, **elements}).whole(node.this)

        return functions.lambdas.Lambda(names, body)

    def exists(self, node: exp.Expression) -> Typed:
        if not isinstance(node.expression, exp.Lambda):
            raise self.unsupported(node)
        return self._taking("exists", [node.this, node.expression])

    def array(self, node: exp.Expression) -> Typed:
        return _called("array", self.all(node.expressions))

    def _struct(self, node: exp.Expression) -> Typed:
        """Return a struct whose fields have names, are columns, or are called col1, col2, …; so are values in
        parentheses.
        """
        if node.name.lower() == "named_struct":
            return _called("named_struct", self.all(node.expressions))
        values = self.all([part.this if isinstance(part, exp.Alias) else part for part in node.expressions])
        names = [field_name(part) or f"col{i}" for i, part in enumerate(node.expressions, 1)]
        return comparing.called("struct", values, lambda _, values: functions.collections.struct(names, values))

    def by_class(self, node: exp.Expression) -> Typed:
        name, arguments = _SYNTAX[type(node)]
        given = [node.args.get(argument) for argument in arguments]
        return _called(name, self.all([argument for argument in given if argument is not None]))

    def refused(self, node: exp.Expression) -> Typed:
        return _called(_NOW[type(node)], [])

    def trim(self, node: exp.Expression) -> Typed:
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.text("position").upper(), "btrim")
        text, letters = self.of(node.this), node.args.get("expression")
        if letters is None:
            return _called("trim" if name == "btrim" else name, [text])
        own = self.of(letters)
        return _called(name, [text, own] if name == "btrim" else [own, text])

    def collated(self, node: exp.Expression) -> Typed:
        """`x COLLATE UNICODE_CI`: the text itself, which is compared in another way."""
        return _called("collate", [self.of(node.this), constant(node.expression.name, Type.STRING)])

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
            return _called("try_element_at" if node.args.get("safe") else "element_at", [values, self.of(index)])
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

    def joined(self, node: exp.Expression) -> Typed:
        parts = self.all(_operands(node))
        return _called("concat", parts)

    # Casts

    def cast(self, node: exp.Expression) -> Typed:
        if literals.is_number(node):
            return literals.number(node, self.source)
        if (read := self._of_variant(node)) is not None:
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
            return conditions.is_null(functions.variants.variant(node.this, self.of) or self.of(node.this))
        if isinstance(node.expression, exp.Boolean):
            return conditions.is_boolean(self.of(node.this), bool(node.expression.this))
        raise self.unsupported(node)


_NAMED = ("mask",)
"""Functions whose arguments may have names, as in Spark."""
_OF_UNITS = ("dateadd", "date_add", "timestampadd", "datediff", "timediff", "date_diff", "timestampdiff")
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


_RULES: dict[type[exp.Expression], Callable[[_Translation, exp.Expression], Typed]] = {
    exp.Column: _Translation.column,
    exp.Identifier: _Translation.element,
    exp.Exists: _Translation.exists,
    exp.Literal: _Translation.literal,
    exp.Boolean: _Translation.boolean,
    exp.Null: _Translation.null,
    exp.Interval: _Translation.interval,
    exp.RawString: _Translation.raw,
    exp.HexString: _Translation.bytes,
    exp.Concat: _Translation.adjacent,
    exp.Paren: _Translation.paren,
    exp.Neg: _Translation.negation,
    exp.BitwiseNot: _Translation.complement,
    exp.DPipe: _Translation.joined,
    exp.Cast: _Translation.cast,
    exp.TryCast: _Translation.cast,
    exp.Case: _Translation.case,
    exp.If: _Translation.if_,
    exp.Coalesce: _Translation.coalesce,
    exp.In: _Translation.among,
    exp.Between: _Translation.between,
    exp.Is: _Translation.is_,
    exp.Anonymous: _Translation.called,
    exp.Array: _Translation.array,
    exp.Tuple: _Translation._struct,
    exp.Trim: _Translation.trim,
    exp.Extract: _Translation.extract,
    exp.Collate: _Translation.collated,
    exp.Bracket: _Translation.item,
    exp.Dot: _Translation.field,
    **dict.fromkeys((exp.Like, exp.ILike, exp.Escape), _Translation.like),
    **dict.fromkeys(_SYNTAX, _Translation.by_class),
    **dict.fromkeys(_NOW, _Translation.refused),
    **dict.fromkeys(_ARITHMETIC, _Translation.arithmetic),
    **dict.fromkeys(_TRIED, _Translation.tried),
    **dict.fromkeys(_COMPARISONS, _Translation.comparison),
    **dict.fromkeys(_BITWISE, _Translation.bitwise),
    **dict.fromkeys((exp.And, exp.Or, exp.Not), _Translation.logic),
}
