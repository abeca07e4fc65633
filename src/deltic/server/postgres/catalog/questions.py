"""Catalog queries: recognizing them, and translating them to DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import sqlglot
from sqlglot import exp

from deltic.server.postgres.catalog.contents import SCHEMAS, relations
from deltic.server.postgres.codec import TEXT_FORMAT, load
from deltic.server.postgres.dialect import ClientStatement, readable
from deltic.server.postgres.errors import PostgresError
from deltic.server.postgres.settings import Client
from deltic.server.postgres.types import BY_OID, TEXT

_WORDS = {
    *("col_description", "current_catalog", "format_type", "inet_server_addr", "information_schema", "obj_description"),
    *("regclass", "regnamespace", "regproc", "regtype", "to_regclass", "to_regtype", "txid_current"),
}
"""Words of which one makes a question one about the catalog, as do those that begin with pg_ and `_VALUES`."""


def is_about_catalog(statement: ClientStatement) -> bool:
    """Return whether a statement is a query of the catalog or the session."""
    if statement.words[0] not in ("SELECT", "WITH", "VALUES", "TABLE"):
        return False
    words = {token.text.lower() for token in statement.tokens if token.kind in ("word", "name")}
    if "from" in words:
        words -= _NAMED.keys()
    return any(word.startswith("pg_") or word in _WORDS or word in _VALUES or word in _NAMED for word in words)


def in_duckdb(statement: ClientStatement, client: Client) -> str:
    """Translate a catalog query to DuckDB's SQL. Raises PostgresError."""
    try:
        tree = sqlglot.parse_one(readable(statement), read="postgres")
    except sqlglot.errors.SqlglotError as error:
        message = f"the question about the catalog cannot be read: {str(error).splitlines()[0]}"
        raise PostgresError("42601", message) from None
    for table in list(tree.find_all(exp.Table)):
        _place(table)
    for dot in list(tree.find_all(exp.Dot)):
        if isinstance(dot.expression, exp.Func) and isinstance(dot.this, exp.Identifier):
            dot.replace(dot.expression)
    for cast in list(tree.find_all(exp.Cast)):
        _cast(cast)
    for node in list(tree.find_all(exp.Func, exp.Column)):
        _answer(node, client)
    return tree.sql("duckdb")


def _place(table: exp.Table) -> None:
    """Name the schema in which DuckDB has a relation."""
    name = table.name.lower()
    schema = table.db.lower() or "pg_catalog"
    if f"{schema}.{name}" in relations():
        table.set("db", exp.to_identifier(SCHEMAS[schema]))
        table.set("catalog", None)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))


_BY_NAME = ("REGCLASS", "REGNAMESPACE", "REGPROC", "REGTYPE")
_NAMES = {"REGCLASS": "name_of_class", "REGTYPE": "name_of_type"}


def _cast(node: exp.Cast) -> None:
    """Casts to and from the names of objects, which are their oids; and of the literals of arrays."""
    kind = node.to.name.upper() if isinstance(node.to, exp.ObjectIdentifier) else ""
    if node.to.this is exp.DataType.Type.ARRAY and node.this.is_string:
        node.set("this", exp.convert(load(BY_OID[TEXT].array, TEXT_FORMAT, node.name.encode())))
    if not kind:
        return
    if kind in _BY_NAME and (node.this.is_string or isinstance(node.this, exp.Parameter)):
        node.replace(exp.Anonymous(this=f"to_{kind.lower()}", expressions=[node.this]))
    elif kind in _NAMES:
        node.replace(exp.Anonymous(this=_NAMES[kind], expressions=[node.this]))
    else:
        node.set("to", exp.DataType.build("varchar", dialect="duckdb"))


_KINDS: Mapping[type[exp.Expr], str] = {
    exp.CurrentVersion: "version",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentSchema: "current_schema",
    exp.CurrentSchemas: "current_schemas",
    exp.CurrentCatalog: "current_database",
    exp.CurrentDatabase: "current_database",
}
_RENAMED = {"json_build_object": "json_object", "jsonb_build_object": "json_object"}
_NAMED = {"user": "current_user", "current_role": "current_user", "current_user": "current_user"}


def _answer(node: exp.Expr, client: Client) -> None:
    """Replace a session function by its value."""
    if isinstance(node, exp.Anonymous) and node.name.lower() in _RENAMED:
        node.set("this", _RENAMED[node.name.lower()])
    if isinstance(node, exp.Column):
        name = "" if node.table or node.this.args.get("quoted") else _NAMED.get(node.name.lower(), "")
    else:
        name = _KINDS.get(type(node), node.name.lower() if isinstance(node, exp.Anonymous) else "")
    if name not in _VALUES or not all(isinstance(part, exp.Literal | exp.Boolean) for part in node.expressions):
        return
    value = _VALUES[name](client, [part.name for part in node.expressions])
    literal = exp.convert(value)
    node.replace(exp.alias_(literal, name) if isinstance(node.parent, exp.Select) else literal)


def _set_config(client: Client, args: Sequence[str]) -> str:
    client.settings.set(args[0], args[1])
    return args[1]


_VALUES: Mapping[str, Callable[[Client, Sequence[str]], object]] = {
    "version": lambda client, _: f"PostgreSQL {client.settings['server_version']} (Deltic)",
    "current_user": lambda client, _: client.name,
    "session_user": lambda client, _: client.name,
    "current_schema": lambda client, _: "public",
    "current_schemas": lambda client, _: ["pg_catalog", "public"],
    "current_database": lambda client, _: client.database,
    "pg_backend_pid": lambda client, _: client.process,
    "current_setting": lambda client, args: client.settings[args[0]],
    "set_config": _set_config,
}
