"""The preprocessor: what a text stands for, and where its parts are told to be. Catches: macros replaced where they
are not called, branches read that do not hold, places in the text that macros made."""

import os
from textwrap import dedent

import pytest

import deltic
from deltic.datalog import parse
from deltic.errors import DataError, ProgramError
from tests.datalog.printer import print_item

# A text, and the statements for which it stands.
PAIRS = {
    "objects": ('#define N 7\np(N). p(NN). p("N"). // N', ["p(7).", "p(NN).", 'p("N").']),
    "functions": ("#define ADD(x, y) x + y\np(ADD(1, ADD(2, f(3, 4)))).", ["p(1 + 2 + f(3, 4))."]),
    "no call without parentheses": ("#define F(x) x\np(F).", ["p(F)."]),
    "a call over lines": ("#define F(x, y) r(y, x)\nF(1,\n  2).", ["r(2, 1)."]),
    "no arguments": ("#define F() r(1).\nF()", ["r(1)."]),
    "text and pasting": ('#define S(x) #x\n#define C(x, y) x##y\np(S(a "b"), C(v, 1)).', ['p("a \\"b\\"", v1).']),
    "an argument is replaced before it comes, but not for # and ##": (
        "#define N 7\n#define S(x) #x\n#define I(x) x\n#define C(x) x##1\np(S(N), I(N), C(N)).",
        ['p("N", 7, N1).'],
    ),
    "the rest": ("#define ALL(r, ...) r(__VA_ARGS__).\nALL(p, 1, 2) ALL(q)", ["p(1, 2).", "q()."]),
    "no macro in itself": ("#define f(x) f(x + 1)\np(f(2)).", ["p(f(2 + 1))."]),
    "through each other": ("#define a b\n#define b a\np(a, b).", ["p(a, b)."]),
    "defined anew, and forgotten": (
        "#define N 1\np(N).\n#define N 2\np(N).\n#undef N\np(N).",
        ["p(1).", "p(2).", "p(N)."],
    ),
    "several lines": ("#define RULES(r) \\\n  r(1). \\\n  r(2).\nRULES(p)", ["p(1).", "p(2)."]),
    "words stay apart": ("#define A 1\n#define DECL .decl\nDECL A1(x: number)", [".decl A1(x: number)"]),
    "ifdef": ("#define A\n#ifdef A\np(1).\n#else\np(2).\n#endif\n#ifndef A\np(3).\n#endif", ["p(1)."]),
    "elif": ("#if 0\np(0).\n#elif 1\np(1).\n#elif 1\np(2).\n#else\np(3).\n#endif", ["p(1)."]),
    "inside what is not read": (
        "#if 0\n#if 1\np(0).\n#else\np(1).\n#endif\n#unknown\n#error no\n#endif\np(2).",
        ["p(2)."],
    ),
    "comments hide directives": ("/*\n#define N 1\n*/ p(N).", ["p(N)."]),
    "what a compiler is told": ('#pragma x\n# 12 "other.dl"\n#line 3\n#\np(1).', ["p(1)."]),
    "line": ("p(\n__LINE__).", ["p(2)."]),
    "a dot in a name": (
        ".comp C { .decl once(x: number) }\n.init i = C\ni.once(1).",
        [".decl i.once(x: number)", "i.once(1)."],
    ),
}

CONDITIONS = {
    "defined(A) && !defined B": True,
    "B": False,
    "A == 3 && A * 2 > 5 || 1 / 0": True,
    "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9": True,
    "-7 / 2 == -3 && -7 % 2 == -1": True,
    "1 << 3 == 8 && ~0 == -1 && (6 & 3 | 8) == 10 && 6 ^ 3": True,
    "!A == 0": True,
    "2 - 1 - 1": False,
    "0x10 == 16 && 3u == 3": True,
}


def _statements(text, file="<test>", **options):
    return [print_item(item) for item in parse(text, file, **options).items if not hasattr(item, "bases")]


@pytest.mark.parametrize(("text", "statements"), PAIRS.values(), ids=PAIRS)
def test_what_a_text_stands_for(text, statements):
    assert _statements(text) == statements


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS.items())
def test_conditions(condition, holds):
    if "1 / 0" in condition:
        with pytest.raises(ProgramError, match="has no value"):
            _statements(f"#define A 3\n#if {condition}\n#endif")
    else:
        found = _statements(f"#define A 3\n#if {condition}\np(1).\n#else\np(0).\n#endif")
        assert found == [f"p({int(holds)})."]


def test_macros_from_outside():
    assert _statements("p(N).", macros={"N": "1 + 1"}) == ["p(1 + 1)."]


def test_files_are_sought_beside_the_one_that_includes_them(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.dl").write_text('.once\n#include "b.dl"\np(1).\n')
    (tmp_path / "lib" / "b.dl").write_text("#pragma once\n#define TWO 2\n")
    text = '.include "lib/a.dl"\n#include <lib/a.dl>\n#define FILE "lib/b.dl"\n#include FILE\np(TWO).'
    assert _statements(text, str(tmp_path / "main.dl")) == ["p(1).", "p(2)."]


def test_files_are_sought_in_directories_too_and_tell_where_they_are_included(tmp_path):
    for name, text in {"one/a.dl": '.include "b.dl"', "two/a.dl": "p(0).", "two/b.dl": "\n p(__INCL__)."}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    pragma = f'.pragma "include-dir" "{tmp_path / "one"}{os.pathsep}{tmp_path / "two"}"'
    text = f'p(__INCL__).\n  .include "a.dl"\n{pragma}'
    assert _statements(text, "main.dl") == ['p("").', f'p("main.dl:2:3;{tmp_path / "one" / "a.dl"}:1:1").']
    with pytest.raises(ProgramError, match=r"it is sought in \., /here"):
        parse('.include "missing.dl"\n.pragma "include-dir" "/here"', "main.dl")


def test_the_width_of_numbers_is_a_macro():
    text = "#if RAM_DOMAIN_SIZE == 32\np(1).\n#else\np(2).\n#endif"
    assert _statements(text) == ["p(2)."]
    assert _statements(text, macros={"RAM_DOMAIN_SIZE": "32"}) == ["p(1)."]
    assert "p(1)." in _statements(f'{text}\n.pragma "word-size" "32"')


def test_places_are_those_of_the_files(tmp_path):
    (tmp_path / "rules.dl").write_text("\nq(x) :-  p(x, y).\n")
    text = dedent("""\
        #define TWICE(x) q(x, 1 + "a"). q(x, 2.5).
        .decl p(x: number)
        .include "rules.dl"
        .decl q(x: number, y: number)
        TWICE(3)
        """)
    with pytest.raises(ProgramError) as caught:
        deltic.Pipeline().datalog(text, str(tmp_path / "main.dl"))
    places = [(f.file.rpartition("/")[2], f.line, f.column, f.length) for f in caught.value.diagnostics]
    assert places == [("rules.dl", 2, 1, 4), ("rules.dl", 2, 10, 7), ("main.dl", 5, 1, 8), ("main.dl", 5, 1, 8)]


def test_what_macros_make_has_types_of_its_own():
    pipeline = deltic.Pipeline()
    pipeline.datalog(
        '#define ROW r(1 + 1, 1.5 + 1, strlen("a" + "b"), to_string(2u + 3)).\n'
        ".decl r(a: number, b: float, c: number, d: symbol)\nROW"
    )
    assert pipeline["r"].to_arrow().to_pylist() == [{"a": 2, "b": 2.5, "c": 2, "d": "5"}]


def test_a_state_keeps_what_files_said(tmp_path):
    rules = tmp_path / "rules.dl"
    rules.write_text("q(x) :- p(x), x > N.\n")
    state = tmp_path / "state"
    text = '.decl p, q(x: number)\n.input p\n.include "rules.dl"'
    with deltic.Pipeline(state=state) as pipeline:
        pipeline.datalog(text, str(tmp_path / "main.dl"), macros={"N": "1"})
        with pipeline.transaction() as transaction:
            transaction.insert("p", [(1,), (2,)])
    rules.unlink()
    with deltic.Pipeline(state=state) as pipeline:
        assert pipeline["q"].to_arrow().to_pylist() == [{"x": 2}]


def test_a_program_of_other_macros_is_another_program(tmp_path):
    file = tmp_path / "main.dl"
    file.write_text(".decl q(x: number)\nq(N).")
    pipeline = deltic.Pipeline()
    pipeline.redefine(file, {"N": "1"})
    assert pipeline.redefine(file, {"N": "2"}).replaced == ("q",)
    with pytest.raises(deltic.CatalogError, match="SQL has no macros"):
        pipeline.redefine("SELECT 1", {"N": "2"})


def test_what_cannot_be_read_is_told(tmp_path):
    (tmp_path / "latin.dl").write_bytes(b"// \xe4")
    (tmp_path / "self.dl").write_text('.include "self.dl"')
    (tmp_path / "rules.dl").write_text("")
    text = dedent("""\
        .include "rulez.dl"
        .include "latin.dl"
        .include "self.dl"
        .include rules
        .include""")
    with pytest.raises(ProgramError) as caught:
        parse(text, str(tmp_path / "main.dl"))
    own = [finding for finding in caught.value.diagnostics if finding.file.endswith("main.dl")]
    parts = [(finding.line, finding.message.replace(f"{tmp_path}/", ""), finding.hint) for finding in own]
    assert parts == [
        (1, "the file rulez.dl cannot be read: No such file or directory", "did you mean `rules.dl`?"),
        (2, "the file latin.dl is not UTF-8 text", ""),
        (4, "`.include` names a file in quotes", 'as in `.include "rules.dl"`'),
        (5, "`.include` names a file in quotes", 'as in `.include "rules.dl"`'),
    ]
    assert "files include each other without end" in str(caught.value)
    assert not isinstance(caught.value, DataError)
