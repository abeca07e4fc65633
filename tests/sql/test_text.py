"""Messages about SQL show the place: line, column, and what the carets underline."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from deltic.sql.text import SourceText, span_of

TEXT = "SELECT a,\n  b + frob(c)\nFROM t"


def test_a_node_is_underlined_in_its_line():
    query = sqlglot.parse_one(TEXT, read="spark")
    error = SourceText(TEXT, "q.sql").error(query.find(exp.Add), "no", "yes")
    assert str(error) == "q.sql:2:3: no\n 2 |   b + frob(c)\n   |   ^^^^^^^^^^^\n  hint: yes"


def test_a_function_is_written_with_its_name_and_parentheses():
    text = "SELECT max_by(b, ((c))) FROM t"
    query = sqlglot.parse_one(text, read="spark")
    assert SourceText(text).written(query.find(exp.ArgMax)) == "max_by(b, ((c)))"


def test_what_spans_lines_is_underlined_in_the_first():
    query = sqlglot.parse_one(TEXT, read="spark")
    assert SourceText(TEXT).diagnostic(query, "no").render().splitlines()[-1].count("^") == 2


def test_a_node_without_a_place_has_that_of_what_is_around_it_or_the_first_of_the_text():
    source, alone = SourceText(TEXT, "q.sql"), exp.Null()
    assert span_of(alone) is None
    assert str(source.error(alone, "no")) == "q.sql:1:1: no\n 1 | SELECT a,\n   | ^^^^^^"
    around = sqlglot.parse_one(TEXT, read="spark").find(exp.Add)
    around.this.replace(alone)
    assert str(source.error(alone, "no")).startswith("q.sql:2:7: no")
    assert source.written(exp.Null()) == "NULL"


def test_a_node_is_written_with_the_parentheses_that_begin_it():
    text = "SELECT (a + 1) + b, CAST(a AS INT) + b, zip(zip(a, NULL), f(1), NULL), flatten(NULL) FROM t"
    query = sqlglot.parse_one(text, read="spark")
    assert [SourceText(text).written(e) for e in query.expressions] == [
        "(a + 1) + b",
        "CAST(a AS INT) + b",
        "zip(zip(a, NULL), f(1), NULL)",
        "flatten(NULL)",
    ]
