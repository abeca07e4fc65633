"""Edits of source text: catches an edit that leaves a file Python cannot parse, or touches other lines."""

import ast
from textwrap import dedent

import pytest

from deltic.demo.scenario import add_import, remove_function, remove_import
from deltic.errors import DelticError

TEXT = dedent('''\
    """A module."""
    from __future__ import annotations
    import a, b.c as d
    from e import (
        f,
        g,
    )

    @decorated
    def h():
        return 1


    class C:
        def only(self):
            pass
    ''').encode()


def difference(old: bytes, new: bytes) -> tuple[list[bytes], list[bytes]]:
    """The lines that only one of the texts has."""
    before, after = old.splitlines(), new.splitlines()
    return [x for x in before if x not in after], [x for x in after if x not in before]


def test_removing_a_function_removes_its_decorators_and_nothing_else():
    assert difference(TEXT, remove_function(TEXT, "h")) == ([b"@decorated", b"def h():", b"    return 1"], [])


def test_removing_the_only_method_leaves_a_class_that_parses():
    new = remove_function(TEXT, "C.only")
    assert difference(TEXT, new) == ([b"    def only(self):", b"        pass"], [b"    pass"])
    ast.parse(new)


def test_an_import_is_added_after_the_docstring_and_the_future():
    lines = add_import(TEXT, "json").splitlines()
    assert lines[2] == b"import json"
    assert b"\n".join(lines[:2] + lines[3:]) + b"\n" == TEXT


def test_an_import_is_added_to_a_file_without_statements():
    assert add_import(b"# nothing\n", "json") == b"# nothing\nimport json\n"


def test_removing_one_of_several_imports_keeps_the_others():
    assert difference(TEXT, remove_import(TEXT, "a")) == ([b"import a, b.c as d"], [b"import b.c as d"])


def test_removing_a_from_import_removes_all_its_lines():
    assert difference(TEXT, remove_import(TEXT, "e")) == ([b"from e import (", b"    f,", b"    g,", b")"], [])


def test_adding_and_removing_an_import_restores_the_text():
    assert remove_import(add_import(TEXT, "json"), "json") == TEXT


@pytest.mark.parametrize("edit", [lambda: remove_function(TEXT, "C.h"), lambda: remove_import(TEXT, "os")])
def test_what_is_not_there_cannot_be_removed(edit):
    with pytest.raises(DelticError, match="there is no"):
        edit()
