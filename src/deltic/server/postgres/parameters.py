"""Inferring the types of parameters from their places in a statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp

from deltic.server.postgres import types as pg
from deltic.server.postgres.dialect import ClientStatement, readable
from deltic.values.types import Schema

_T = exp.DataType.Type
_OF_CASTS = {
    _T.BOOLEAN: pg.BOOL,
    _T.SMALLINT: pg.INT2,
    _T.INT: pg.INT4,
    _T.BIGINT: pg.INT8,
    _T.UINT: pg.OID,
    _T.FLOAT: pg.FLOAT4,
    _T.DOUBLE: pg.FLOAT8,
    _T.DECIMAL: pg.NUMERIC,
    _T.VARBINARY: pg.BYTEA,
    _T.DATE: pg.DATE,
    _T.TIMESTAMP: pg.TIMESTAMP,
    _T.TIMESTAMPTZ: pg.TIMESTAMPTZ,
}


def parameter_types(statement: ClientStatement, given: Sequence[int], schemas: Mapping[str, Schema]) -> list[int]:
    """Return the oid of each parameter's type: the one that the client gives, or the one of what it is compared with.

    `schemas` are those of tables and views. Where nothing says more, it is text.
    """
    count = max(statement.parameters, default=0)
    types = [*given[:count], *[0] * (count - len(given))]
    if any(oid in (0, pg.UNKNOWN) for oid in types):
        found = dict(_found(statement, schemas))
        types = [found.get(n, pg.TEXT) if oid in (0, pg.UNKNOWN) else oid for n, oid in enumerate(types, 1)]
    return types


def _found(statement: ClientStatement, schemas: Mapping[str, Schema]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of parameters with types that their places give them; the first place counts least."""
    try:
        tree = sqlglot.parse_one(readable(statement), read="postgres")
    except sqlglot.errors.SqlglotError:
        return
    lowered = {name.lower(): schema for name, schema in schemas.items()}
    columns = _columns(tree, lowered)
    for parameter in tree.find_all(exp.Parameter):
        if (number := parameter.name).isdecimal() and (oid := _oid(parameter, columns, lowered)):
            yield int(number), oid


def _columns(tree: exp.Expr, schemas: Mapping[str, Schema]) -> dict[str, int]:
    """Return the types of the columns that a statement may name, by their names."""
    read = [schemas[table.name.lower()] for table in tree.find_all(exp.Table) if table.name.lower() in schemas]
    return {column.name.lower(): pg.oid_of(column.type) for schema in read for column in schema}


def _oid(parameter: exp.Expr, columns: Mapping[str, int], schemas: Mapping[str, Schema]) -> int:
    parent = parameter.parent
    while isinstance(parent, exp.Paren | exp.Neg):
        parameter, parent = parent, parent.parent
    match parent:
        case exp.Cast():
            return _of_cast(parent.to)
        case exp.Limit() | exp.Offset() | exp.Fetch():
            return pg.INT8
        case exp.Tuple() if isinstance(parent.parent, exp.Values):
            return _inserted(parent, parameter, schemas)
        case exp.Binary() | exp.Between() | exp.In() | exp.Array() | exp.Coalesce() | exp.Case() | exp.If():
            others = [other for other in parent.iter_expressions() if other is not parameter]
            return next((oid for other in others if (oid := _known(other, columns))), 0)
        case exp.Where() | exp.Not() | exp.Having():
            return pg.BOOL
    return 0


def _of_cast(type_: exp.DataType) -> int:
    if type_.this is _T.ARRAY and type_.expressions:
        element = next((t for t in pg.BY_NAME.values() if t.oid == _of_cast(type_.expressions[0])), None)
        return element.array if element is not None else 0
    return _OF_CASTS.get(type_.this, pg.TEXT)


def _known(node: exp.Expr, columns: Mapping[str, int]) -> int:
    """Return the type of what a parameter stands beside."""
    match node:
        case exp.Column():
            return columns.get(node.name.lower(), 0)
        case exp.Cast():
            return _of_cast(node.to)
        case exp.Literal() if not node.is_string:
            return pg.INT4 if node.is_int else pg.NUMERIC
        case exp.Paren() | exp.Binary() | exp.Neg() if not isinstance(node, exp.Predicate):
            return next((oid for part in node.iter_expressions() if (oid := _known(part, columns))), 0)
    return 0


def _inserted(row: exp.Tuple, parameter: exp.Expr, schemas: Mapping[str, Schema]) -> int:
    """Return the type of the column into which a value of VALUES goes."""
    insert = row.find_ancestor(exp.Insert)
    target = insert.this if insert is not None else None
    named = [part.name for part in target.expressions] if isinstance(target, exp.Schema) else []
    table = target.this if isinstance(target, exp.Schema) else target
    if not isinstance(table, exp.Table) or table.name.lower() not in schemas:
        return 0
    schema = schemas[table.name.lower()]
    names = named or list(schema.names)
    position = next((n for n, value in enumerate(row.expressions) if value is parameter), len(names))
    types = {column.name.lower(): column.type for column in schema}
    type_ = types.get(names[position].lower()) if position < len(names) else None
    return pg.oid_of(type_) if type_ is not None else 0
