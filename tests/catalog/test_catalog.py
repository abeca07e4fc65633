"""The catalog: what goes together, what does not, and what a change of definitions means.

Catches a definition that is accepted although what it reads is not there, or is something else; a circuit that differs
from the one that a front end lowered; a difference that calls a definition new although only its text is.
"""

from __future__ import annotations

import pytest

from deltic.catalog import (
    Catalog,
    CatalogDifference,
    CatalogTable,
    CatalogView,
    FrontEndDefinitions,
    ViewDefinitions,
    schema_of,
)
from deltic.circuit.reading.parser import parse_circuit
from deltic.datalog import check, define, lower, parse
from deltic.errors import CatalogError
from deltic.values.types import Schema, Type

EDGE = Schema.of(x=Type.INT64, y=Type.INT64)
TABLES = (CatalogTable("edge", EDGE),)
COPY = """%0 = source {read} : {kind}{{x: int64, y: int64}}
%1 = sink {name} (%0) : {kind}{{x: int64, y: int64}}"""


def view(name, read="edge", kind="set", hidden=False):
    circuit = parse_circuit(COPY.format(name=name, read=read, kind=kind))
    return ViewDefinitions((CatalogView(name, circuit.type_of(circuit.sinks[name]), hidden),), circuit)


def catalog(*definitions, tables=TABLES, datalog="", order=()):
    python = FrontEndDefinitions("Python", tables, definitions, order)
    others = {t.name: t.type for t in tables} | {v.name: v.type for v in python.views}
    return Catalog((python, define(check([parse(datalog)], others))))


def test_definitions_are_put_together_in_the_order_in_which_they_read_each_other():
    made = catalog(view("c", "b"), view("b", "a"), view("a"))
    assert [d.names for d in made.definitions] == [("a",), ("b",), ("c",)]
    assert str(made.circuit) == "\n".join(
        [
            "%0 = source edge : set{x: int64, y: int64}",
            *(f"%{i} = sink {name} (%0) : set{{x: int64, y: int64}}" for i, name in enumerate("cba", 1)),
        ]
    )
    assert made.readers(["a"]) == ("c", "b")
    assert made.readers(["edge"]) == ("c", "b", "a")


def test_a_datalog_program_is_the_circuit_that_it_was_lowered_to():
    text = """
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        .decl far(x: number)
        .input path
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), edge(y, z).
        far(x) :- edge(x, _), !path(x, 9).
    """
    checked = check([parse(text)])
    assert str(Catalog((define(checked),)).circuit) == str(lower(checked))
    assert Catalog((define(checked),)).recursions == [("path",)]


def test_hidden_views_that_nobody_reads_are_not_computed():
    read, unread = view("read", hidden=True), view("unread", hidden=True)
    made = catalog(read, unread, view("above", "read"), view("beside", "edge"))
    assert list(made.circuit.sinks) == ["above", "beside"]
    datalog = ".decl a(x: number) a(x) :- edge(x, _), x > 1. " + '.pragma "hidden" "a"'
    unread_rule = catalog(datalog=datalog).circuit
    assert str(unread_rule) == "%0 = source edge : set{x: int64, y: int64}"


def test_the_difference_of_two_catalogs():
    old = catalog(view("a"), view("b", "a"), view("c"))
    new = catalog(
        view("a", "other"), view("b", "a"), view("d"), tables=(CatalogTable("edge", EDGE), CatalogTable("other", EDGE))
    )
    found = CatalogDifference.between(old, new)
    assert found == CatalogDifference(("other", "d"), ("a",), ("c",), ("edge", "b"), ("b",))
    assert str(found) == "added other, d; replaced a; dropped c; kept edge, b"
    assert not CatalogDifference.between(old, old)


def test_other_words_for_the_same_rules_are_no_difference():
    one = catalog(datalog=".decl r(a: number) r(x) :- edge(x, _).")
    other = catalog(datalog="\n.decl r(a: number) // a comment\nr(y) :- edge(y, _).")
    changed = catalog(datalog=".decl r(a: number) r(y) :- edge(_, y).")
    assert CatalogDifference.between(one, one) == CatalogDifference(kept=("edge", "r"))
    assert CatalogDifference.between(one, changed).replaced == ("r",)
    assert CatalogDifference.between(one, other).replaced in ((), ("r",))


def test_what_a_catalog_looks_like(golden):
    datalog = """
        .decl odd(x: number, y: number)
        .decl even(x: number, y: number)
        odd(x, y) :- edge(x, y).
        odd(x, z) :- even(x, y), edge(y, z).
        even(x, z) :- odd(x, y), edge(y, z).
    """
    tables = (
        CatalogTable("edge", EDGE),
        CatalogTable("person", Schema.of(id=Type.INT64, name=Type.STRING.or_null), ("id",)),
        CatalogTable("sale", Schema.of(price=Type.decimal(10, 2)), is_bag=True),
    )
    golden("catalog/catalog.txt", str(catalog(view("copy", "odd", hidden=True), tables=tables, datalog=datalog)))


ERRORS = {
    "name": lambda: CatalogTable("two words", EDGE),
    "weight column": lambda: CatalogTable("edge", schema_of("edge", {"__weight__": int})),
    "key without column": lambda: CatalogTable("edge", EDGE, ("xx",)),
    "key nullable": lambda: CatalogTable("p", Schema.of(id=Type.INT64.or_null), ("id",)),
    "key twice": lambda: CatalogTable("edge", EDGE, ("x", "x")),
    "key of a bag": lambda: CatalogTable("edge", EDGE, ("x",), is_bag=True),
    "name taken": lambda: catalog(view("edge", "other"), tables=(*TABLES, CatalogTable("other", EDGE))),
    "two views": lambda: catalog(view("a"), view("a", "edge", "zset")),
    "unknown source": lambda: catalog(view("a", "edeg")),
    "other columns": lambda: catalog(view("a"), tables=(CatalogTable("edge", Schema.of(x=Type.INT64, y=Type.STRING)),)),
    "bag read as set": lambda: catalog(view("a"), tables=(CatalogTable("edge", EDGE, is_bag=True),)),
    "reads itself": lambda: catalog(view("a", "a")),
    "cycle of two": lambda: catalog(view("a", "b"), view("b", "a")),
    "cycle of two front ends": lambda: catalog(
        view("a", "b"), datalog=".decl b(x: number, y: number) b(x, y) :- a(x, y)."
    ),
    "drop what is read": lambda: catalog(view("a"), view("b", "a"), view("c", "b")).check_unread(["a", "edge"]),
    "type misspelt": lambda: schema_of("t", {"a": "int46"}),
    "type of another language": lambda: schema_of("t", {"a": "VARCHAR?"}),
    "two types": lambda: schema_of("t", {"a": "int64, b: int64"}),
    "decimal without digits": lambda: schema_of("t", {"a": "decimal"}),
    "no type": lambda: schema_of("t", {"a": 5}),
    "no mapping": lambda: schema_of("t", "a int"),
    "column without a name": lambda: schema_of("t", {"": int}),
}


def test_what_does_not_go_together_is_refused(golden):
    parts = []
    for name, make in ERRORS.items():
        with pytest.raises(CatalogError) as caught:
            make()
        parts.append(f"{name}:\n  {caught.value}")
    golden("catalog/errors.txt", "\n".join(parts))


def test_relations_may_be_dropped_with_their_readers():
    made = catalog(view("a"), view("b", "a"))
    made.check_unread(["b"])
    made.check_unread(["a", "b", "edge"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": int, "b": "string?", "c": Type.DATE.or_null}, "{a: int64, b: string?, c: date?}"),
        ({"a": Type.decimal(5, 1), "b": bytes, "c": "uint8"}, "{a: decimal(5, 1), b: binary, c: uint8}"),
        (
            {"a": "decimal(10, 2)?", "b": "map(string, array(date?))"},
            "{a: decimal(10, 2)?, b: map(string, array(date?))}",
        ),
        (EDGE, "{x: int64, y: int64}"),
    ],
)
def test_columns_are_given_in_many_ways(given, expected):
    assert str(schema_of("t", given)) == expected


def test_columns_may_be_those_of_arrow():
    import pyarrow as pa

    fields = [pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.string())]
    assert str(schema_of("t", pa.schema(fields))) == "{a: int32, b: string?}"
    assert str(schema_of("t", {"a": pa.date32()})) == "{a: date}"
