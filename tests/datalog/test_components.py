"""Components: the statements that instances stand for. Catches: names resolved in the wrong scope, lost statements."""

from textwrap import dedent

import pytest

import deltic
from deltic.datalog import parse
from deltic.datalog.syntax.program import ComponentDeclaration
from deltic.errors import ProgramError
from tests.datalog.printer import print_item

GRAPH = """
.comp Graph<T> {
  .decl edge(x: T, y: T)
  .decl path(x: T, y: T) overridable
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
}
"""

# A program, and what it stands for without its components.
PAIRS = {
    "an instance has the statements under its name": (
        GRAPH + ".init g = Graph<number>\n.input g.edge",
        """
        .decl g.edge(x: number, y: number)
        .decl g.path(x: number, y: number) overridable
        g.path(x, y) :- g.edge(x, y).
        g.path(x, z) :- g.path(x, y), g.edge(y, z).
        .input g.edge
        """,
    ),
    "a component may follow its instance": (
        ".init a = A\n.comp A { .decl r(x: number) r(1). }",
        ".decl a.r(x: number)\na.r(1).",
    ),
    "inner names hide outer ones, and others are those outside": (
        """
        .decl r, s(x: number)
        .comp A { .decl r(x: number) r(x) :- s(x). s(2). }
        .init a = A
        """,
        """
        .decl r(x: number)
        .decl s(x: number)
        .decl a.r(x: number)
        a.r(x) :- s(x).
        s(2).
        """,
    ),
    "bases come first, and overridden rules go": (
        GRAPH + ".comp Direct<S> : Graph<S> { .override path path(y, x) :- edge(x, y). }\n.init d = Direct<symbol>",
        """
        .decl d.edge(x: symbol, y: symbol)
        .decl d.path(x: symbol, y: symbol) overridable
        d.path(y, x) :- d.edge(x, y).
        """,
    ),
    "an override reaches bases of bases": (
        """
        .comp A { .decl r(x: number) overridable r(1). }
        .comp B : A { r(2). }
        .comp C : B { .override r r(3). }
        .init c = C
        """,
        ".decl c.r(x: number) overridable\nc.r(3).",
    ),
    "types are of the instance, also as arguments": (
        """
        .type T <: symbol
        .comp A<X> { .type T <: X .decl r(x: T) r(as("a", T)). .init b = B<T> }
        .comp B<T> { .decl s(x: T) }
        .init a = A<T>
        """,
        """
        .type T <: symbol
        .type a.T <: T
        .decl a.r(x: a.T)
        a.r(as("a", a.T)).
        .decl a.b.s(x: a.T)
        """,
    ),
    "a parameter may be a component, for an instance or a base": (
        """
        .comp One { .decl r(x: number) r(1). }
        .comp Two { .decl r(x: number) r(2). }
        .comp Has<C> { .init c = C .decl s(x: number) s(x) :- c.r(x), !inner.c.r(x). }
        .comp Is<C> : C { s(x) :- r(x). }
        .decl s(x: number)
        .init has = Has<One>
        .init is = Is<Two>
        """,
        """
        .decl s(x: number)
        .decl has.c.r(x: number)
        has.c.r(1).
        .decl has.s(x: number)
        has.s(x) :- has.c.r(x), !inner.c.r(x).
        .decl is.r(x: number)
        is.r(2).
        s(x) :- is.r(x).
        """,
    ),
    "a component inside of another sees what stands around it in the same instance": (
        """
        .comp Outer {
          .decl r(x: number)
          .comp Inner { .decl t(x: number) t(x) :- r(x), count : { r(_) } > 1. }
          .init i = Inner
        }
        .init o = Outer
        """,
        """
        .decl o.r(x: number)
        .decl o.i.t(x: number)
        o.i.t(x) :- o.r(x), count : { o.r(_) } > 1.
        """,
    ),
    "what an instance does not declare is of the place where it is": (
        """
        .decl s(x: number)
        .comp Feeds { r(x) :- s(x). }
        .comp Outer { .decl r(x: number) .init f = Feeds }
        .init o = Outer
        """,
        """
        .decl s(x: number)
        .decl o.r(x: number)
        o.r(x) :- s(x).
        """,
    ),
    "directives and pragmas follow": (
        '.comp A { .decl r(x: number) .output r(filename="r.csv") .pragma "hidden" "r" }\n.init a = A',
        '.decl a.r(x: number)\n.output a.r(filename="r.csv")\n.pragma "hidden" "a.r"',
    ),
    "without an instance nothing is there": (GRAPH, ""),
    "a parameter is not seen by the components that it stands for": (
        """
        .comp Local { .decl p(x: number) p(1). }
        .comp Other : Local { p(2). }
        .comp Inner<Local> { .init l = Local }
        .comp Outer<Local> : Local { .init i = Inner<Local> }
        .init o = Outer<Other>
        """,
        """
        .decl o.p(x: number)
        o.p(1).
        o.p(2).
        .decl o.i.l.p(x: number)
        o.i.l.p(1).
        o.i.l.p(2).
        """,
    ),
    "branches are called as types are": (
        """
        .type S = A {x: number} | Z {}
        .comp Shapes<T> { .type S = A {x: T} | B {} .decl s(x: S) s($A(1)). s($Z). t(x) :- s($A(x)). }
        .comp Around { .init i = Shapes<number> .decl t(x: number) i.s($i.B). }
        .init o = Around
        o.i.s($o.i.A(2)).
        """,
        """
        .type S = A {x: number} | Z {}
        .type o.i.S = o.i.A {x: number} | o.i.B {}
        .decl o.i.s(x: o.i.S)
        o.i.s($o.i.A(1)).
        o.i.s($Z).
        o.t(x) :- o.i.s($o.i.A(x)).
        .decl o.t(x: number)
        o.i.s($o.i.B).
        o.i.s($o.i.A(2)).
        """,
    ),
    "bases with commas or colons": (
        ".comp A { .decl a(x: number) } .comp B { .decl b(x: number) } .comp D { } .comp C : A : B, D { }\n.init c = C",
        ".decl c.a(x: number)\n.decl c.b(x: number)",
    ),
    "a parameter may stand for a component inside": (
        """
        .decl r(x: number)
        .comp Two { r(9). }
        .comp Case<Chosen> {
          .comp One { r(1). }
          .comp Two { r(2). }
          .init chosen = Chosen
        }
        .comp Around<Which> { .init case = Case<Which> }
        .init a = Case<One>
        .init b = Around<Two>
        """,
        """
        .decl r(x: number)
        r(1).
        r(2).
        """,
    ),
    "a component in another sees the parameters of that": (
        """
        .comp Outer<T> { .comp Inner { .decl n(x: T) }  .init i = Inner }
        .init o = Outer<number>
        """,
        ".decl o.i.n(x: number)",
    ),
}


@pytest.mark.parametrize(("program", "meaning"), PAIRS.values(), ids=PAIRS)
def test_instances_stand_for_statements(program, meaning):
    found = [print_item(item) for item in parse(program).items if not isinstance(item, ComponentDeclaration)]
    assert found == [line for line in dedent(meaning).splitlines() if line]


def _rows(relation):
    return sorted(tuple(row.values()) for row in relation.to_arrow().to_pylist())


def test_later_programs_have_instances_of_earlier_components(tmp_path):
    with deltic.Pipeline(state=tmp_path) as pipeline:
        pipeline.datalog(GRAPH)
        pipeline.datalog(".init g = Graph<number>\n.input g.edge")
        with pipeline.transaction() as transaction:
            transaction.insert("g.edge", [(1, 2), (2, 3)])
    with deltic.Pipeline(state=tmp_path) as pipeline:
        pipeline.datalog(".init h = Graph<number>\nh.edge(y, x) :- g.edge(x, y).")
        assert _rows(pipeline["h.path"]) == [(2, 1), (3, 1), (3, 2)]
        assert _rows(pipeline.sql("SELECT y FROM `g.path` WHERE x = 1")) == [(2,), (3,)]


def test_a_component_given_anew_is_that_of_later_instances():
    pipeline = deltic.Pipeline()
    pipeline.datalog(".comp A { .decl r(x: number) r(1). }\n.init a = A")
    pipeline.replace(".comp A { .decl r(x: number) r(2). }")
    pipeline.datalog(".init b = A")
    assert [_rows(pipeline["a.r"]), _rows(pipeline["b.r"])] == [[(1,)], [(2,)]]


def test_what_is_wrong_in_a_component_is_told_once():
    with pytest.raises(ProgramError) as caught:
        deltic.Pipeline().datalog(".comp A { .decl r(x: Nothing) }\n.init a = A\n.init b = A")
    assert [finding.message for finding in caught.value.diagnostics] == ["there is no type `Nothing`"]
