"""The facts of a file: catches a construct of Python that is misread, and files that would end the run."""

import pytest

from tests.demo.small import facts, raw_facts


def test_relative_imports_are_made_absolute():
    text = """
        from . import a
        from .b import c as d
        from ..e import f
    """
    found = facts(text, "p/q/m.py", "p.q.m")
    assert found["imports_name"] == {
        ("p.q.m", "p.q", "a", "load"),
        ("p.q.m", "p.q.b", "c", "load"),
        ("p.q.m", "p.e", "f", "load"),
    }
    assert ("p.q.m", "d", "p.q.b", "c") in found["binds_name"]


def test_one_dot_in_a_package_is_the_package_itself():
    assert facts("from .a import b", "p/__init__.py", "p")["imports_name"] == {("p", "p.a", "b", "load")}


def test_more_dots_than_packages_end_at_the_root():
    assert facts("from ....a import b")["imports_name"] == {("m", "a", "b", "load")}


def test_import_binds_the_top_name_or_the_alias():
    found = facts("import a.b\nimport c.d as e")
    assert found["imports_module"] == {("m", "a.b", "load"), ("m", "c.d", "load")}
    assert found["binds_module"] == {("m", "a", "a"), ("m", "e", "c.d")}


def test_when_an_import_runs():
    text = """
        import a
        if TYPE_CHECKING:
            import b
        else:
            import c
        def f():
            import d
        class C:
            import e
        if __name__ == "__main__":
            import g
    """
    found = facts(text)
    assert found["imports_module"] == {
        ("m", "a", "load"),
        ("m", "b", "typing"),
        ("m", "c", "load"),
        ("m", "d", "call"),
        ("m", "e", "load"),
        ("m", "g", "main"),
    }
    assert found["entry"] == {("m",)}


def test_star_imports_and_all():
    found = facts("from a import *\n__all__ = ['x', 'not a name']\n__all__ += ('y',)")
    assert found["imports_star"] == {("m", "a")}
    assert found["lists"] == {("m",)}
    assert found["listed"] == {("m", "x"), ("m", "y")}


def test_definitions_are_keyed_by_qualified_name_and_placed_by_line():
    text = """\
        class C:
            @property
            def f(self):
                def g(): pass
        async def h(): pass
    """
    found = facts(text)
    assert found["class"] == {("m:C", "m")}
    assert found["function"] == {("m:C.f", "m"), ("m:C.f.g", "m"), ("m:h", "m")}
    assert found["defined_at"] == {("m:C", 1), ("m:C.f", 2), ("m:C.f.g", 4), ("m:h", 5)}
    assert found["defines"] == {
        ("m", "C", "m:C"),
        ("m:C", "f", "m:C.f"),
        ("m:C.f", "g", "m:C.f.g"),
        ("m", "h", "m:h"),
    }


def test_calls_are_placed_below_their_caller_so_that_moving_it_does_not_change_them():
    text = "def f():\n    g()\n"
    assert facts(text)["called_at"] == facts("\n\n" + text)["called_at"] == {("m:f", "g", 1)}


def test_a_line_inserted_above_changes_only_where_things_are_defined():
    text = "import a\ndef f(x):\n    return a.b(x).c\nclass C(a.D):\n    def g(self): return self.g()\n"
    changed = raw_facts(text) ^ raw_facts("\n" + text)
    assert {relation for relation, _ in changed} == {"defined_at"}


@pytest.mark.parametrize(
    ("text", "relation", "row"),
    [
        ("import a\ndef f(): a.b()", "calls_name", ("m:f", "m", "a.b")),
        ("def f():\n  import a\n  a.b()", "calls_name", ("m:f", "m:f", "a.b")),
        ("def f(a): a.b()", "sends", ("m:f", "b")),
        ("import a\ndef f(a): a.b()", "sends", ("m:f", "b")),
        ("import a\ndef f():\n  global a\n  a = 1\n  a.b()", "calls_name", ("m:f", "m", "a.b")),
        ("import a\nclass C:\n  a = 1\n  def f(self): a.b()", "calls_name", ("m:C.f", "m", "a.b")),
        ("class C:\n  def f(self): self.g()", "calls_self", ("m:C.f", "m:C", "g")),
        ("class C:\n  @classmethod\n  def f(cls): cls.g()", "calls_self", ("m:C.f", "m:C", "g")),
        ("class C:\n  @staticmethod\n  def f(x): x.g()", "sends", ("m:C.f", "g")),
        ("class C:\n  def f(self):\n    def h(): self.g()", "calls_self", ("m:C.f.h", "m:C", "g")),
        ("class C:\n  def f(self): super().g()", "calls_super", ("m:C.f", "m:C", "g")),
        ("class C:\n  def f(self): self.a.b()", "sends", ("m:C.f", "b")),
        ("def f(): return g", "mentions", ("m:f", "m", "g")),
        ("def f(): h()[0].g()", "sends", ("m:f", "g")),
        ("def f(): return [g for g in x if g.h]", "sends", ("m:f", "h")),
        ("def f(): return lambda g: g.h", "sends", ("m:f", "h")),
        ("def f(x):\n  match x:\n    case {'a': y, **z}: y.h", "sends", ("m:f", "h")),
        ("def f():\n  with x as (y, *z): z.h", "sends", ("m:f", "h")),
        ("def f():\n  try: pass\n  except E as e: e.h", "sends", ("m:f", "h")),
        ("def f(): print((y := 1).h, y.i)", "sends", ("m:f", "i")),
        ("@a.b\ndef f(): pass", "mentions", ("m", "m", "f")),
        ("class C(a.B): pass", "base", ("m:C", "m", "a.B")),
        ("f = a.b", "alias", ("m", "f", "m", "a.b")),
        ("import a.b.c\na.b.c()", "dotted", ("m", "a.b.c", "a.b", "c")),
        ("class C:\n  x = 1\n  def y(self): pass", "has_own", ("m:C", "x")),
    ],
)
def test_what_a_mention_is_taken_for(text, relation, row):
    assert row in facts(text)[relation]


def test_built_ins_and_variables_are_no_mentions():
    found = facts("def f(x):\n    y = len(x)\n    print(y)\n")
    assert not found.keys() & {"calls_name", "mentions", "sends"}


def test_a_built_in_decorator_keeps_nothing_alive():
    assert "mentions" not in facts("class C:\n  @property\n  def f(self): pass")


def test_tests_are_entry_points():
    text = "def test_a(): pass\ndef helper(): pass\nclass TestB:\n  def test_c(self): pass"
    entries = {("test_m",), ("test_m:test_a",), ("test_m:TestB.test_c",)}
    assert facts(text, "test_m.py", "test_m")["entry"] == entries
    assert facts(text, "test_m/__init__.py", "test_m")["entry"] == entries
    assert facts(text, "tests/testm.py", "testm")["entry"] >= {("testm:test_a",)}
    assert "entry" not in facts(text)
    assert "entry" not in facts(text, "testm.py", "testm")


def test_a_class_body_runs_with_what_is_around_it():
    found = facts("import a\nclass C(a.B):\n    x = a.f()\n    class D:\n        y = a.z\n    def g(self): a.h()")
    assert found["calls_name"] == {("m", "m", "a.f"), ("m:C.g", "m", "a.h")}
    assert found["mentions"] == {("m", "m", "a.z")}
    assert found["called_at"] == {("m", "a.f", 3), ("m:C.g", "a.h", 0)}


def test_a_main_module_is_an_entry_point():
    assert facts("", "p/__main__.py", "p.__main__")["entry"] == {("p.__main__",)}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"print 'two'\n", 1),
        (b"x = 1\ny = (\n", 2),
        (b"x = '\xff'\n", None),
        (b"# -*- coding: no-such-code -*-\n", None),
        (b"x = 1\0\n", None),
        (b"x = " + b"(" * 5000 + b")" * 5000, None),
        (b"x = " + b"-" * 100_000 + b"1", None),
    ],
)
def test_a_file_that_python_cannot_parse_is_a_fact(text, line):
    found = raw_facts(text, "p/m.py", "p.m")
    assert {relation for relation, _ in found} == {"module", "submodule", "broken"}
    ((_, (module, found_line, reason)),) = (fact for fact in found if fact[0] == "broken")
    assert module == "p.m"
    assert reason
    assert line is None or found_line == line


def test_an_encoding_other_than_utf_8_is_read_as_python_reads_it():
    text = "# coding: latin-1\ndef caf\xe9(): pass\n".encode("latin-1")
    assert ("function", ("m:caf\xe9", "m")) in raw_facts(text)


def test_a_file_known_by_its_path_is_in_no_package():
    assert not {row for relation, row in raw_facts("", "a/setup.py", "a/setup.py") if relation == "submodule"}
