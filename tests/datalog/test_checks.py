"""What a checked program says of itself. Catches: wrong types, tables taken for views, lost directives and strata."""

import pytest

from deltic.catalog.components import components
from deltic.datalog import check, parse
from deltic.errors import ProgramError
from deltic.values.types import Column, Schema, Type

PERSON = ".decl person(name: symbol, age: number)\n"


def _check(*texts):
    return check([parse(text, f"{number}.dl") for number, text in enumerate(texts)])


def test_tables_and_views():
    checked = _check(
        ".decl a(x: number)\n.decl b(x: number)\n.decl c(x: number)\n.decl d(x: number)\n"
        ".input b\n.input c\nc(x) :- a(x).\nd(1)."
    )
    kinds = {name: (relation.is_table, relation.is_derived) for name, relation in checked.relations.items()}
    assert kinds == {"a": (True, False), "b": (True, False), "c": (True, True), "d": (False, True)}


def test_schemas_follow_types_to_their_base():
    checked = _check(
        ".type Id <: number\n.type Key = Id\n.type Any = Key | Id\n.decl r(a: Any, b: unsigned, c: float, d: symbol)"
    )
    types = (Type.INT64, Type.UINT64, Type.FLOAT64, Type.STRING)
    columns = tuple(Column(name, type_) for name, type_ in zip("abcd", types, strict=True))
    assert checked.relations["r"].schema == Schema(columns)


def test_types_may_be_declared_after_their_use():
    assert _check(".decl r(x: T)\n.type T = U\n.type U <: float").relations["r"].schema.types == {"x": Type.FLOAT64}


def test_literals_have_the_type_of_their_place():
    checked = _check(".decl r(u: unsigned, f: float)\n.decl s(f: float)\nr(1, 2) :- s(x), x < 3, y = 4, y != 5u.")
    (rule,) = checked.rules
    assert [rule.type_of(argument) for argument in rule.head.arguments] == [Type.UINT64, Type.FLOAT64]
    assert rule.variables == {"x": Type.FLOAT64, "y": Type.UINT64}


def test_directives_keep_their_options_as_text():
    checked = _check(
        '.decl r(x: number)\n.input r(IO=file, filename="a\\tb", delimiter=",", headers=true, columns="0")\n'
        ".output r, r(rfc4180=false)\n.printsize r()"
    )
    assert [(d.kind, d.relation, dict(d.options)) for d in checked.directives] == [
        ("input", "r", {"IO": "file", "filename": "a\tb", "delimiter": ",", "headers": "true", "columns": "0"}),
        ("output", "r", {"rfc4180": "false"}),
        ("output", "r", {"rfc4180": "false"}),
        ("printsize", "r", {}),
    ]


def test_what_changes_nothing_is_accepted():
    text = (
        ".decl a, b(x: number) btree no_inline\n.decl c(x: number) brie no_magic // a comment\n"
        '.pragma "verbose"\n.pragma "jobs" "4"\n'
        "c(x) :- a(x), b(x). .plan 0:(2,1), 1:(1,2)\nc(x) :- b(x). .strict\n/* a\n comment */"
    )
    assert list(_check(text).relations) == ["a", "b", "c"]


def test_several_heads_and_alternatives_become_rules():
    checked = _check(PERSON + ".decl a(x: symbol)\n.decl b(x: symbol)\na(x), b(x) :- person(x, 1) ; person(x, 2).")
    assert [rule.head.relation for rule in checked.rules] == ["a", "a", "b", "b"]
    assert all(len(rule.body) == 1 for rule in checked.rules)


def test_programs_share_one_namespace():
    checked = _check(PERSON, ".decl old(name: symbol)\nold(x) :- person(x, y), y > 99.")
    assert list(checked.relations) == ["person", "old"]


def test_findings_name_the_program_that_they_are_in():
    with pytest.raises(ProgramError) as caught:
        _check(PERSON, PERSON + "person(x, 1).", ".decl a(x: nmber)")
    places = [(finding.file, finding.line) for finding in caught.value.diagnostics]
    assert places == [("1.dl", 1), ("1.dl", 2), ("2.dl", 1)]
    assert "0.dl:1:7" in caught.value.diagnostics[0].hint


def test_strata_come_after_what_they_depend_on():
    checked = _check(
        ".decl a(x: number)\n.decl b(x: number)\n.decl c(x: number)\n.decl d(x: number)\n"
        "a(x) :- b(x), !d(x). b(x) :- a(x). b(x) :- c(x). d(x) :- c(x)."
    )
    assert checked.strata == (("c",), ("d",), ("a", "b"))


def test_negation_of_a_lower_stratum_is_no_recursion():
    assert _check(PERSON + ".decl a(x: symbol)\na(x) :- person(x, _), !person(x, 1).").strata[-1] == ("a",)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({}, []),
        ({"a": []}, [("a",)]),
        ({"a": ["a"]}, [("a",)]),
        ({"a": ["b"], "b": ["a"]}, [("a", "b")]),
        ({"a": ["b", "elsewhere"], "b": []}, [("b",), ("a",)]),
        ({"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": []}, [("d",), ("b", "c"), ("a",)]),
    ],
)
def test_components(graph, expected):
    assert components(graph) == expected


def test_line_ends_and_marks_of_other_systems():
    (declaration, clause) = parse('\ufeff.decl p(x: symbol)\r\n// note\r\np("a").\r\n').items
    assert (declaration.span.column, clause.span.line, clause.span.column) == (7, 3, 1)


def test_no_more_than_twenty_syntax_errors():
    with pytest.raises(ProgramError) as caught:
        parse("p(.\n" * 50)
    assert len(caught.value.diagnostics) == 20


def test_deep_nesting_is_a_finding():
    with pytest.raises(ProgramError, match="nested more than 100 levels deep"):
        parse(f".decl p(x: number)\np({'(1 + ' * 101}1{')' * 101}).")
    assert len(parse(f".decl p(x: number)\np({'(1 + ' * 99}1{')' * 99}).").items) == 2
    assert len(parse(f".decl p(x: number)\np({'+'.join(['1'] * 5000)}).").items) == 2
