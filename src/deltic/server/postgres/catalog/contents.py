"""The rows of PostgreSQL's catalog for the tables and views of a pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from deltic.catalog import Catalog
from deltic.pipeline.sql.answers import statement_of
from deltic.server.postgres.catalog.relations import Row
from deltic.server.postgres.settings import Settings
from deltic.server.postgres.types import BY_OID, ELEMENTS, TYPES, modifier_of, oid_of
from deltic.values.types import Kind, Schema

DATABASE, OWNER = 5, 10
_CATALOG, _PUBLIC, _INFORMATION = 11, 2200, 13000
_NAMESPACES = {"pg_catalog": _CATALOG, "public": _PUBLIC, "information_schema": _INFORMATION}
_HEAP, _BTREE = 2, 403
_QUERY = re.compile(r"^CREATE\b.*?\bAS\s+", re.IGNORECASE | re.DOTALL)
"""What stands before the query of a view."""

WRITTEN = {
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "bool": "boolean",
    "varchar": "character varying",
    "bpchar": "character",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "time": "time without time zone",
    "char": '"char"',
}
"""The names of types in SQL, where they are others than in pg_type."""


class Oids:
    """Object identifiers of relations, constraints and others, stable while the server runs."""

    def __init__(self) -> None:
        self._next = count(16384)
        self._given: dict[tuple[str, ...], int] = {}

    def __getitem__(self, what: tuple[str, ...]) -> int:
        if what not in self._given:
            self._given[what] = next(self._next)
        return self._given[what]


@dataclass(frozen=True)
class CatalogRelation:
    """A table or view; `written` is the query of a view of SQL, or the program of another one."""

    oid: int
    name: str
    schema: Schema
    key: Sequence[str]
    is_view: bool
    written: str

    @property
    def kind(self) -> str:
        return "v" if self.is_view else "r"

    @property
    def key_numbers(self) -> list[int]:
        return [self.schema.names.index(column) + 1 for column in self.key]


def relations_of(catalog: Catalog, oids: Oids) -> list[CatalogRelation]:
    """The tables and views that can be read."""
    tables = [
        CatalogRelation(oids["class", name], name, table.schema, table.key, False, "")
        for name, table in catalog.shown_tables.items()
    ]
    views = [
        CatalogRelation(oids["class", name], name, schema, (), True, _QUERY.sub("", statement_of(catalog, name)))
        for name, schema in catalog.view_schemas.items()
    ]
    return tables + views


def contents(relations: Sequence[CatalogRelation], oids: Oids, database: str) -> Iterator[tuple[str, Sequence[Row]]]:
    """The relations of the catalog that depend on tables and views, with their rows."""
    keyed = [relation for relation in relations if relation.key]
    yield "pg_catalog.pg_class", [*map(_class, relations), *(_index_class(each, oids) for each in keyed)]
    yield "pg_catalog.pg_attribute", [row for each in relations for row in _attributes(each)]
    yield "pg_catalog.pg_index", [_index(each, oids) for each in keyed]
    yield "pg_catalog.pg_constraint", [_constraint(each, oids) for each in keyed]
    yield "pg_catalog.pg_tables", [_table(each) for each in relations if not each.is_view]
    yield "pg_catalog.pg_views", [_view(each) for each in relations if each.is_view]
    yield "pg_catalog.pg_indexes", [_indexes(each, oids) for each in keyed]
    yield "pg_catalog.pg_stat_user_tables", [_stat(each) for each in relations if not each.is_view]
    yield "information_schema.tables", [_information_table(each, database) for each in relations]
    yield "information_schema.views", [_information_view(each, database) for each in relations if each.is_view]
    yield "information_schema.columns", [row for each in relations for row in _columns(each, database)]
    yield "information_schema.table_constraints", [_table_constraint(each, database) for each in keyed]
    usage = [row for each in keyed for row in _key_columns(each, database)]
    yield "information_schema.key_column_usage", usage
    yield "information_schema.constraint_column_usage", usage


def definitions(relations: Sequence[CatalogRelation], oids: Oids) -> list[tuple[int, str]]:
    """The results of pg_get_viewdef, pg_get_indexdef and pg_get_constraintdef."""
    views = [(each.oid, each.written) for each in relations if each.is_view]
    keyed = [each for each in relations if each.key]
    indexes = [(oids["index", each.name], _index_written(each)) for each in keyed]
    return views + indexes + [(oids["key", e.name], f"PRIMARY KEY ({', '.join(e.key)})") for e in keyed]


def fixed_contents(database: str, user: str, settings: Settings) -> Iterator[tuple[str, Sequence[Row]]]:
    """The relations of the catalog that do not depend on tables and views."""
    yield (
        "pg_catalog.pg_namespace",
        [{"oid": oid, "nspname": name, "nspowner": OWNER} for name, oid in _NAMESPACES.items()],
    )
    yield "pg_catalog.pg_type", list(_types())
    yield (
        "pg_catalog.pg_am",
        [
            {"oid": _HEAP, "amname": "heap", "amhandler": "heap_tableam_handler", "amtype": "t"},
            {"oid": _BTREE, "amname": "btree", "amhandler": "bthandler", "amtype": "i"},
        ],
    )
    role = {"oid": OWNER, "rolname": user, "rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1}
    yield "pg_catalog.pg_roles", [role]
    yield "pg_catalog.pg_user", [{"usename": user, "usesysid": OWNER}]
    yield (
        "pg_catalog.pg_database",
        [
            {
                "oid": DATABASE,
                "datname": database,
                "datdba": OWNER,
                "encoding": 6,
                "datlocprovider": "c",
                "datcollate": "C",
                "datctype": "C",
                "datallowconn": True,
                "datconnlimit": -1,
            }
        ],
    )
    yield "pg_catalog.pg_tablespace", [{"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}]
    yield (
        "pg_catalog.pg_settings",
        [{"name": name, "setting": value, "category": "", "vartype": "string"} for name, value in settings],
    )
    yield (
        "information_schema.schemata",
        [{"catalog_name": database, "schema_name": name, "schema_owner": user} for name in _NAMESPACES],
    )
    yield "information_schema.information_schema_catalog_name", [{"catalog_name": database}]
    yield "information_schema.enabled_roles", [{"role_name": user}]


def written_types() -> list[tuple[int, str]]:
    """The names of types in SQL, by their oids."""
    return [(type_.oid, WRITTEN.get(type_.name, type_.name)) for type_ in TYPES]


def _types() -> Iterator[Row]:
    for type_ in TYPES:
        common = {"typnamespace": _CATALOG, "typowner": OWNER, "typtype": "b", "typisdefined": True, "typdelim": ","}
        own = {"typlen": type_.size, "typcategory": type_.category, "typarray": type_.array, "typtypmod": -1}
        io = {"typinput": f"{type_.name}in", "typoutput": f"{type_.name}out", "typreceive": f"{type_.name}recv"}
        yield common | own | io | {"oid": type_.oid, "typname": type_.name}
        if type_.array:
            array = {
                "typlen": -1,
                "typcategory": "A",
                "typelem": type_.oid,
                "typtypmod": -1,
                "typsubscript": "array_subscript_handler",
            }
            io = {"typinput": "array_in", "typoutput": "array_out", "typreceive": "array_recv"}
            yield common | array | io | {"oid": type_.array, "typname": f"_{type_.name}"}


def _class(relation: CatalogRelation) -> Row:
    return {
        "oid": relation.oid,
        "relname": relation.name,
        "relnamespace": _PUBLIC,
        "relowner": OWNER,
        "relam": 0 if relation.is_view else _HEAP,
        "reltuples": -1.0,
        "relhasindex": bool(relation.key),
        "relpersistence": "p",
        "relkind": relation.kind,
        "relnatts": len(relation.schema),
        "relhasrules": relation.is_view,
        "relispopulated": True,
        "relreplident": "d",
    }


def _index_class(relation: CatalogRelation, oids: Oids) -> Row:
    own = {"oid": oids["index", relation.name], "relname": _key_name(relation), "relkind": "i", "relam": _BTREE}
    return {**_class(relation), **own, "relnatts": len(relation.key), "relhasindex": False}


def _attributes(relation: CatalogRelation) -> Iterator[Row]:
    for number, column in enumerate(relation.schema, 1):
        oid = oid_of(column.type)
        yield {
            "attrelid": relation.oid,
            "attname": column.name,
            "atttypid": oid,
            "attlen": BY_OID[oid].size if oid in BY_OID else -1,
            "attnum": number,
            "attndims": int(oid in ELEMENTS),
            "atttypmod": modifier_of(column.type),
            "attnotnull": not column.nullable,
            "attstorage": "p",
            "attidentity": "",
            "attgenerated": "",
            "attcompression": "",
            "attislocal": True,
            "attstattarget": -1,
        }


def _index(relation: CatalogRelation, oids: Oids) -> Row:
    columns = relation.key_numbers
    truths = dict.fromkeys(
        ("indisunique", "indisprimary", "indimmediate", "indisvalid", "indisready", "indislive"), True
    )
    return truths | {
        "indexrelid": oids["index", relation.name],
        "indrelid": relation.oid,
        "indnatts": len(columns),
        "indnkeyatts": len(columns),
        "indkey": columns,
        "indcollation": [0] * len(columns),
        "indclass": [0] * len(columns),
        "indoption": [0] * len(columns),
    }


def _constraint(relation: CatalogRelation, oids: Oids) -> Row:
    return {
        "oid": oids["key", relation.name],
        "conname": _key_name(relation),
        "connamespace": _PUBLIC,
        "contype": "p",
        "convalidated": True,
        "conrelid": relation.oid,
        "conindid": oids["index", relation.name],
        "conislocal": True,
        "connoinherit": True,
        "conkey": relation.key_numbers,
    }


def _key_name(relation: CatalogRelation) -> str:
    return f"{relation.name}_pkey"


def _index_written(relation: CatalogRelation) -> str:
    columns = ", ".join(relation.key)
    return f"CREATE UNIQUE INDEX {_key_name(relation)} ON public.{relation.name} USING btree ({columns})"


def _table(relation: CatalogRelation) -> Row:
    named = {"schemaname": "public", "tablename": relation.name, "tableowner": "deltic"}
    return named | {"hasindexes": bool(relation.key)}


def _view(relation: CatalogRelation) -> Row:
    named = {"schemaname": "public", "viewname": relation.name, "viewowner": "deltic"}
    return named | {"definition": relation.written}


def _indexes(relation: CatalogRelation, oids: Oids) -> Row:
    named = {"schemaname": "public", "tablename": relation.name, "indexname": _key_name(relation)}
    return named | {"indexdef": _index_written(relation)}


def _stat(relation: CatalogRelation) -> Row:
    return {"relid": relation.oid, "schemaname": "public", "relname": relation.name}


def _named(relation: CatalogRelation, database: str) -> dict[str, str]:
    return {"table_catalog": database, "table_schema": "public", "table_name": relation.name}


def _information_table(relation: CatalogRelation, database: str) -> Row:
    kind, insertable = ("VIEW", "NO") if relation.is_view else ("BASE TABLE", "YES")
    return _named(relation, database) | {"table_type": kind, "is_insertable_into": insertable, "is_typed": "NO"}


def _information_view(relation: CatalogRelation, database: str) -> Row:
    changed = dict.fromkeys(("is_updatable", "is_insertable_into", "is_trigger_updatable"), "NO")
    return _named(relation, database) | changed | {"view_definition": relation.written, "check_option": "NONE"}


def _columns(relation: CatalogRelation, database: str) -> Iterator[Row]:
    for number, column in enumerate(relation.schema, 1):
        oid = oid_of(column.type)
        named = "_" + ELEMENTS[oid].name if oid in ELEMENTS else BY_OID[oid].name
        precision: Mapping[str, int | None] = {}
        if column.type.kind is Kind.DECIMAL:
            digits, scale = column.type.parameters
            precision = {"numeric_precision": digits, "numeric_scale": scale, "numeric_precision_radix": 10}
        elif named in ("int2", "int4", "int8"):
            bits = BY_OID[oid].size * 8
            precision = {"numeric_precision": bits, "numeric_scale": 0, "numeric_precision_radix": 2}
        lengths = dict.fromkeys(("character_maximum_length", "character_octet_length", "datetime_precision"), None)
        yield {
            **_named(relation, database),
            **lengths,
            **dict.fromkeys(("numeric_precision", "numeric_scale", "numeric_precision_radix", "interval_precision")),
            **precision,
            "column_name": column.name,
            "ordinal_position": number,
            "is_nullable": "YES" if column.nullable else "NO",
            "data_type": "ARRAY" if oid in ELEMENTS else WRITTEN.get(named, named),
            "udt_catalog": database,
            "udt_schema": "pg_catalog",
            "udt_name": named,
            "dtd_identifier": str(number),
            "is_identity": "NO",
            "is_generated": "NEVER",
            "is_updatable": "NO" if relation.is_view else "YES",
        }


def _table_constraint(relation: CatalogRelation, database: str) -> Row:
    return {
        **_named(relation, database),
        "constraint_catalog": database,
        "constraint_schema": "public",
        "constraint_name": _key_name(relation),
        "constraint_type": "PRIMARY KEY",
        "is_deferrable": "NO",
        "initially_deferred": "NO",
        "enforced": "YES",
    }


def _key_columns(relation: CatalogRelation, database: str) -> Iterator[Row]:
    for number, column in enumerate(relation.key, 1):
        yield {
            **_named(relation, database),
            "constraint_catalog": database,
            "constraint_schema": "public",
            "constraint_name": _key_name(relation),
            "column_name": column,
            "ordinal_position": number,
        }
