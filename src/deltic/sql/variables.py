"""Variables of a session: a name that is no column may mean one, and stands for its present value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import literal
from deltic.sql.text import SourceText
from deltic.sql.types import written
from deltic.values.types import Kind, Type

SCOPES = ((), ("session",), ("system", "session"))
"""What may stand before the name of a variable."""
_INTERVALS = (Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL)


@dataclass(frozen=True)
class SessionVariable:
    """A variable with its value, a constant of SQL, and the expression of its default, which stands in `source`."""

    name: str
    type: Type
    value: exp.Expression
    default: exp.Expression
    source: SourceText

    @property
    def text(self) -> str | None:
        """The value of a STRING; None for NULL and other types."""
        inner = self.value.this
        return inner.name if self.type is Type.STRING and isinstance(inner, exp.Literal) else None


Variables = Mapping[str, SessionVariable]
"""By their names in lower case."""

_KNOWN: ContextVar[Variables] = ContextVar("variables of the session", default=MappingProxyType({}))
_KEEPING: ContextVar[bool] = ContextVar("whether a definition is read", default=False)


@contextmanager
def knowing_variables(variables: Variables) -> Iterator[None]:
    """Let names mean these variables within the block."""
    before = _KNOWN.set(variables)
    try:
        yield
    finally:
        _KNOWN.reset(before)


@contextmanager
def keeping() -> Iterator[None]:
    """Refuse variables within the block, since a definition outlives them."""
    before = _KEEPING.set(True)
    try:
        yield
    finally:
        _KEEPING.reset(before)


def variable_of(reference: exp.Expr | None) -> SessionVariable | None:
    """Return the variable that a name means, if any: `x`, `session.x` or `system.session.x`."""
    if not isinstance(reference, exp.Column) or not (known := _KNOWN.get()):
        return None
    *scope, name = (part.name.lower() for part in reference.parts)
    return known.get(name) if tuple(scope) in SCOPES else None


def refuse_in_definition(variable: SessionVariable, place: exp.Expression | None, source: SourceText) -> None:
    """Raise ProgramError where a definition is read."""
    if _KEEPING.get():
        message = f"{variable.name} is a variable of this session, and a view or function outlives it"
        raise source.error(place, message, "write its value, or keep it in a table of one row")


def constant_of(value: Any, type_: Type) -> exp.Expression:
    """Return the constant of SQL for a value of a row."""
    return exp.cast(_untyped(value, type_), written(type_), dialect="spark")


def _untyped(value: Any, type_: Type) -> exp.Expression:
    if value is None:
        return exp.Null()
    if type_ in _INTERVALS:
        return literal(value, type_)
    match type_.kind:
        case Kind.BINARY:
            return exp.HexString(this=bytes(value).hex())
        case Kind.ARRAY:
            return exp.Anonymous(this="array", expressions=[constant_of(each, type_.element.type) for each in value])
        case Kind.MAP:
            types = type_.key, type_.value.type
            parts = [constant_of(each, of) for entry in value for each, of in zip(entry, types, strict=True)]
            return exp.Anonymous(this="map", expressions=parts)
        case Kind.STRUCT:
            values = value.values() if isinstance(value, Mapping) else value
            parts = []
            for field, each in zip(type_.fields, values, strict=True):
                parts += [exp.Literal.string(field.name), constant_of(each, field.type)]
            return exp.Anonymous(this="named_struct", expressions=parts)
    return exp.Literal.string(str(value))
