"""Translates scalar expressions of SQL to expressions of circuits, with Spark's types and explicit coercions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial

from sqlglot import exp

from deltic.sql.scalars import comparing, functions
from deltic.sql.scalars.coercion import can_coerce, coerced
from deltic.sql.scalars.functions.bodies import Sign, filled, parsed, places, signature_of
from deltic.sql.scalars.functions.definitions import DEFINED, FunctionDefinition, definition_of
from deltic.sql.scalars.functions.lookup import Unknown
from deltic.sql.scalars.functions.rules import NullLiteral, is_bare
from deltic.sql.scalars.node_rules import NodeTranslation, Resolve
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import NULL, Typed, constant, folded
from deltic.sql.text import BUILT_IN, SourceText
from deltic.sql.types import written
from deltic.values.types import Type

_NAMED = ("mask",)
"""Functions whose arguments may have names, as in Spark."""
_OF_UNITS = ("dateadd", "date_add", "timestampadd", "datediff", "timediff", "date_diff", "timestampdiff")


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


class _Translation(NodeTranslation):
    def call(self, name: str, arguments: Sequence[Typed]) -> Typed:
        return _called(name, arguments)

    def called(self, node: exp.Expression) -> Typed:
        if (read := self.of_variant(node)) is not None:
            return read
        if node.name.lower() in ("struct", "named_struct") and node.expressions:
            return self.struct(node)
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
