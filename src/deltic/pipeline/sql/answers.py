"""Answers to questions of SQL: rows in an order, lists of relations and columns, plans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
from sqlglot import exp

from deltic.catalog import Catalog, External
from deltic.catalog.lateness import ColumnStorage
from deltic.circuit.edges import ZSetType
from deltic.duck import of_thread
from deltic.engine.batches import TableBatch
from deltic.engine.storage.interner import sort_key
from deltic.pipeline.rows.rows import Rows
from deltic.sql.scalars.functions.written import SqlFunction
from deltic.sql.statements.ordering import KEY, Key
from deltic.sql.statements.statements import Show
from deltic.sql.types import collated_as, simple_string, written
from deltic.values.types import Column, Schema
from deltic.values.types.arrow import type_of_arrow


class TextAnswer(Rows):
    """What EXPLAIN and SHOW CREATE tell: one row of one column, which prints as the text that it is."""

    def __init__(self, column: str, text: str) -> None:
        super().__init__(TableBatch(pa.table({column: [text]})))
        self.text = text

    def __repr__(self) -> str:
        return self.text


def arranged(rows: pa.Table, order: Mapping[int, Key], names: Sequence[str]) -> pa.Table:
    """Return the rows in the order of these columns, under these names, without columns for the order alone."""
    if order and len(rows):
        by = ", ".join(
            f"k{n} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
            for n, key in order.items()
        )
        named = {**{f"k{n}": _comparable(rows.column(n)) for n in order}, "position": np.arange(len(rows))}
        connection = of_thread()
        connection.register("unordered", pa.table(named))
        try:
            positions = connection.execute(f"SELECT position FROM unordered ORDER BY {by}").fetchnumpy()["position"]
        finally:
            connection.unregister("unordered")
        rows = rows.take(positions)
    shown = [number for number, name in enumerate(names) if not name.startswith(KEY)]
    return rows.select(shown).rename_columns([names[number] for number in shown])


def _comparable(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the column; arrays or structs as ranks: NULL within them is last for DuckDB, first for Spark."""
    type_ = type_of_arrow(column.type)
    if not type_.is_composite:
        return column
    keys = [None if value is None else sort_key(value, type_) for value in column.to_pylist()]
    ranks = {key: rank for rank, key in enumerate(sorted(key for key in {*keys} if key is not None))}
    return pa.array(map(ranks.get, keys), pa.int64())


def relations_table(catalog: Catalog, kind: Literal["table", "view"]) -> pa.Table:
    """Return the views that can be read, with the tables where the kind is of tables: what Spark's SHOW has of them."""
    names = [*(catalog.table_schemas if kind == "table" else ()), *catalog.view_schemas]
    no_one = pa.array([False] * len(names), pa.bool_())
    return _table({"namespace": ["default"] * len(names), f"{kind}Name": names}).append_column("isTemporary", no_one)


def names_table(schema: Schema) -> pa.Table:
    """Return the names of columns, as SHOW COLUMNS has them."""
    return _table({"col_name": list(schema.names)})


def schema_table(type_: ZSetType, names: Sequence[str]) -> pa.Table:
    """Return the columns of a relation under these names: name, type, and a comment, which none has."""
    types = [type_name(type_, column) for column in type_.schema]
    return _table({"col_name": list(names), "data_type": types, "comment": [None] * len(types)})


def type_name(type_: ZSetType, column: Column) -> str:
    """Return the type of a column of a relation, with its collation."""
    return simple_string(column.type, collated_as(column.type, dict(type_.collations).get(column.name)))


def column_table(type_: ZSetType, name: str) -> pa.Table:
    """Return the description of one column, a row for each fact."""
    facts = {"col_name": name, "data_type": type_name(type_, type_.schema.column(name)), "comment": "NULL"}
    return _table({"info_name": list(facts), "info_value": list(facts.values())})


def fitting(table: pa.Table, column: str, pattern: str) -> pa.Table:
    """Return the rows whose column fits one of the patterns between `|`, in which `*` stands for any text."""
    parts = "|".join(".*".join(map(re.escape, part.strip().split("*"))) for part in pattern.split("|"))
    is_fitting = re.compile(parts, re.IGNORECASE).fullmatch
    return table.filter(pa.array([bool(is_fitting(name)) for name in table.column(column).to_pylist()], pa.bool_()))


def listed_table(statement: Show, catalog: Catalog, functions: Iterable[SqlFunction]) -> pa.Table:
    """Return what SHOW lists, of which the names fit the pattern."""
    column = "namespace"
    match statement.what:
        case "functions":
            table, column = functions_table(functions), "function"
        case "schemas":
            table = pa.table({"namespace": ["default"]})
        case "catalogs":
            table, column = pa.table({"catalog": ["spark_catalog"]}), "catalog"
        case "namespace":
            table = pa.table({"catalog": ["spark_catalog"], "namespace": ["default"]})
        case "views":
            table, column = relations_table(catalog, "view"), "viewName"
        case _:
            table, column = relations_table(catalog, "table"), "tableName"
    return fitting(table, column, statement.pattern)


def functions_table(functions: Iterable[SqlFunction]) -> pa.Table:
    """Return the functions that SQL has made: name, parameters, what they return."""
    result = sorted(functions, key=lambda function: function.name.lower())
    return _table(
        {
            "function": [function.name for function in result],
            "parameters": [function.signature for function in result],
            "returns": [_returned(function) for function in result],
        }
    )


def function_table(function: SqlFunction, extended: bool) -> pa.Table:
    """Return the description of a function, a line for each fact, as Spark prints it."""
    parts = [
        f"Function: {function.name}",
        f"Type: {'TABLE' if function.is_table else 'SCALAR'}",
        f"Input: {function.signature or '()'}",
        f"Returns: {_returned(function)}",
    ]
    more = [f"Place: {function.place}", f"Text: {function.text}"]
    return _table({"function_desc": parts + more * extended})


def _returned(function: SqlFunction) -> str:
    if function.columns:
        return f"TABLE ({', '.join(f'{column.name} {written(column.type)}' for column in function.columns)})"
    if function.is_table:
        return "TABLE"
    return "the type of its body" if function.returns is None else written(function.returns)


def details_table(catalog: Catalog, name: str) -> pa.Table:
    """Return the description of a relation besides its columns, a row for each fact, in the form of `schema_table`."""
    relation = catalog.views.get(name) or catalog.tables[name]
    schema, key = catalog.relations[name].schema, catalog.tables[name].key if name in catalog.tables else ()
    facts = {
        "Catalog": "spark_catalog",
        "Database": "default",
        "Table": name,
        "Type": "VIEW" if name in catalog.views else "MANAGED",
        "Primary Key": ", ".join(key),
        "Not Null": ", ".join(column.name for column in schema if not column.nullable),
        "Rows": "a set: no row occurs twice" if catalog.relations[name].is_set else "a bag: a row may occur twice",
        "Defined By": catalog.front(name),
        "Place": relation.place,
        "Lateness": _lateness(catalog, name),
        "Reads": ", ".join(next((d.reads for d in catalog.definitions if name in d.names), ())),
        "Read By": ", ".join(catalog.readers([name])),
        "Text": relation.text,
    }
    rows = {"": "", "# Detailed Table Information": "", **{fact: value for fact, value in facts.items() if value}}
    return _table({"col_name": list(rows), "data_type": list(rows.values()), "comment": [""] * len(rows)})


def statement_of(catalog: Catalog, name: str) -> str:
    """Return the statement that makes a relation: as it was written, or one that makes such a table."""
    relation = catalog.views.get(name) or catalog.tables[name]
    if relation.text:
        return relation.text
    table = catalog.tables[name]
    storing = {one.column: one for one in table.storing}
    columns = [_declared(column, storing.get(column.name, ColumnStorage(column.name))) for column in table.schema]
    key, late = ", ".join(table.key), table.lateness
    if late is not None:
        is_time = not late.shown(table.schema).isdecimal()
        length = f"{'INTERVAL ' * is_time}{late.shown(table.schema).upper()}"
        columns[table.schema.index(late.column)] += f" LATENESS {length}"
    made = f"CREATE TABLE {name} ({', '.join([*columns, *([f'PRIMARY KEY ({key})'] * bool(key))])})"
    return made if table.source is None else f"{made} {_using(table.source)}"


def _declared(column: Column, storing: ColumnStorage) -> str:
    """Return a column as CREATE TABLE has it."""
    bound = f"{'CHAR' if storing.fixed else 'VARCHAR'}({storing.limit})"
    type_ = written(column.type) if storing.limit is None else bound
    if storing.collation:
        type_ = storing.collation if column.type.is_composite else f"{type_} COLLATE {storing.collation}"
    default = f" DEFAULT {storing.default}" if storing.default else ""
    return f"{column.name} {type_}{'' if column.nullable else ' NOT NULL'}{default}"


def _using(source: External) -> str:
    options = ", ".join(f"{name} {exp.Literal.string(value).sql('spark')}" for name, value in source.options)
    return f"USING {source.kind}{f' OPTIONS ({options})' if options else ''}"


def _lateness(catalog: Catalog, name: str) -> str:
    """Return how late rows of a table may come, "" where they may without end."""
    table = None if name in catalog.views else catalog.tables[name]
    return "" if table is None or table.lateness is None else table.lateness.sentence(table.schema)


def _table(columns: Mapping[str, Sequence[str | None]]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
