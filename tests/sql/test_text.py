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


def test_a_node_without_a_place_is_in_the_file():
    source = SourceText(TEXT, "q.sql")
    assert span_of(exp.Null()) is None
    assert str(source.error(exp.Null(), "no")) == "q.sql: no"
    assert source.written(exp.Null()) == "NULL"
