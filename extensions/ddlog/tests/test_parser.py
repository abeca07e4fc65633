"""The parser of DDlog: characters that mean one thing here and another there, and texts that are no programs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from contextlib import suppress

import pytest

from deltic.datalog.syntax.source import ProgramText
from deltic.errors import ProgramError
from deltic_ddlog import syntax as s
from deltic_ddlog.check import check
from deltic_ddlog.parser import parse

SPAN = ProgramText("", " ").place(0, 1)
X, Y, Z = (s.NameExpression(name, span=SPAN) for name in "xyz")


def binary(operator: str, left: s.ParsedExpression, right: s.ParsedExpression) -> s.ParsedExpression:
    """Return an operator between two operands."""
    return s.Binary(operator, left, right, span=SPAN)


def number(value: int, width: int | None = None, signed: bool = False) -> s.ParsedExpression:
    """Return a whole number."""
    return s.IntLiteral(value, width, signed, span=SPAN)


def text(value: str) -> s.ParsedExpression:
    """Return a string without expressions."""
    return s.StringExpression(value, span=SPAN)


def expression(written: str) -> s.ParsedExpression:
    """Return the syntax tree of an expression."""
    item = parse(f"function f(): () {{ {written} }}").items[0]
    assert isinstance(item, s.FunctionDeclaration)
    assert item.body is not None
    return item.body


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("x + y * z", binary("+", X, binary("*", Y, Z))),
        ("x - y - z", binary("-", binary("-", X, Y), Z)),
        ("x >> y >= z", binary(">=", binary(">>", X, Y), Z)),
        ("x & y == z", binary("&", X, binary("==", Y, Z))),
        ("x or y and z", binary("or", X, binary("and", Y, Z))),
        ("x => y", binary("=>", X, Y)),
        ("x ++ y << z", binary("++", X, binary("<<", Y, Z))),
        ("not x and y", binary("and", s.Unary("not", X, span=SPAN), Y)),
        ("32'd5", number(5, 32)),
        ("48'hff", number(255, 48)),
        ("'b101", number(5)),
        ("8'sd7", number(7, 8, signed=True)),
        ("0xff", number(255)),
        ("x.0.1", s.TupleField(s.TupleField(X, 0, span=SPAN), 1, span=SPAN)),
        ("x[7:0]", s.Slice(X, 7, 0, span=SPAN)),
        ("x.f(y)", s.CallExpression(s.NameExpression("f", span=SPAN), (X, Y), dotted=True, span=SPAN)),
        ("x?.f", s.FieldAccess(s.Try(X, span=SPAN), "f", span=SPAN)),
        ("x as bit<8> < y", binary("<", s.CastExpression(X, s.WidthType("bit", 8, span=SPAN), span=SPAN), Y)),
        ("x as u8 < y", binary("<", s.CastExpression(X, s.TypeReference("u8", span=SPAN), span=SPAN), Y)),
        (r'"a\tb" [|\n|]', text("a\tb\\n")),
        ('"a\\\n   \\b"', text("ab")),
        (r'"\u{41}\""', text('A"')),
        ('"$x $${y}"', s.Interpolation((text("$x $"), Y), span=SPAN)),
        ('"${"${x}"}"', s.Interpolation((s.Interpolation((X,), span=SPAN),), span=SPAN)),
        ("$[|${x}${y}|]", s.Interpolation((X, Y), span=SPAN)),
        ("[|${x}|]", text("${x}")),
        ("[x, y]", s.VecLiteral((X, Y), span=SPAN)),
        ("[x -> y]", s.MapLiteral(((X, Y),), span=SPAN)),
        ("{x; y}", s.Sequence((X, Y), span=SPAN)),
        ("{x;}", s.Sequence((X, s.TupleExpression((), span=SPAN)), span=SPAN)),
        ("if (x) y else z + x", binary("+", s.If(X, Y, Z, span=SPAN), X)),
    ],
)
def test_expressions_are_read_by_the_precedence_of_the_reference(written: str, expected: s.ParsedExpression) -> None:
    assert expression(written) == expected


def test_comments_nest_and_a_dot_ends_a_rule_before_a_declaration() -> None:
    module = parse("/* a /* b */ c */ R(x) :- S(x), x.f == 1.\ninput relation S(x: u8) // end")
    assert [type(item) for item in module.items] == [s.RuleItem, s.RelationDeclaration]


def test_a_tick_differentiates_a_relation_or_begins_a_type_variable_or_a_number() -> None:
    module = parse("R(x) :- S'(x), T-1(x), x == 'd5.\nfunction f(x: 'A): 'A { x }")
    rule, function = module.items
    assert isinstance(rule, s.RuleItem)
    assert isinstance(function, s.FunctionDeclaration)
    atoms = [clause.atom for clause in rule.body if isinstance(clause, s.LiteralClause)]
    assert [(atom.relation, atom.differentiated, atom.delay) for atom in atoms] == [("S", True, 0), ("T", False, 1)]
    assert function.result == s.TypeVariableName("A", span=SPAN)


def test_loops_are_rules() -> None:
    loops = parse("for (p in P(.a = 1) if q(p)) { if (r(p)) T(p) else U(p); var v = p.b in W(v) }").items
    rules = parse(
        "T(p) :- p in P(.a = 1), q(p), r(p). U(p) :- p in P(.a = 1), q(p), not r(p)."
        "W(v) :- p in P(.a = 1), q(p), var v = p.b."
    ).items
    assert loops == rules


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("constructor-with-parentheses", "R(x) :- S(x), x == Some(1)."),
        ("no-dot", "R(x) :- S(x)\ninput relation S(x: u8)"),
        ("small-relation", "input relation r(x: u8)"),
        ("no-body", "function f(x: u8): u8"),
        ("open-string", 'R("a) :- S(x).'),
        ("open-expression", 'R("${x") :- S(x).'),
        ("open-comment", "/* R(x) :- S(x)."),
        ("several", "R(x) :- S(x.\nfunction f( { }\ninput relation T(x: bit)\n"),
        ("nested", "function f(): u8 { " + "(" * 200 + "1" + ")" * 200 + " }"),
        ("long", "function f(): u8 { " + " + ".join(["1"] * 2000) + " }"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(
    golden: Callable[[str, str], None], name: str, program: str
) -> None:
    with pytest.raises(ProgramError) as error:
        parse(program, "program.dl")
    lines = str(error.value).split("\n")
    golden(f"parse-{name}.txt", "\n".join(line[:120] for line in lines))


WHOLE = """
import print
typedef T = A{x: u8, y: string} | B
input relation R(a: u8, b: string) primary key (r) r.a
output relation O(a: u8, s: string)
function f(x: u8, v: mut Vec<u8>): Option<u8> {
    var y = x + 1;
    for (z in v) { if (z > y) { y = z } else { continue } };
    v.push(y);
    match (v.len()) { 0 -> return None, _ -> () };
    Some{v.nth(0)?}
}
O(a, "${b} x ${a + 1}") :- R(a, b), not R(a + 1, "x"), var t = A{a, b}, A{.x = var c} = t, (a, c) == (c, a).
O(k, s) :- r in R(_, s), var k = r.a.group_by(s).max(), (var i, _) = (1, 2): (u8, u8).
index I(a: u8) on R(a, _)
for (r in R(.b = "q") if r.a > 1) { match (r.b) { "x" -> O(r.a, r.b), q -> O(0, q) } }
"""


def test_texts_that_are_nearly_programs_are_checked_or_refused() -> None:
    """Tokens that go, come twice, or change places: whatever it is, it is a program or told by findings."""
    check(WHOLE)
    words = re.findall(r"\w+|[^\w\s]", WHOLE)
    chosen = random.Random(7)
    for _ in range(60):
        changed = list(words)
        for _ in range(chosen.randint(1, 3)):
            place, other = chosen.randrange(len(changed)), chosen.randrange(len(changed))
            match chosen.randrange(3):
                case 0:
                    del changed[place]
                case 1:
                    changed.insert(place, changed[other])
                case _:
                    changed[place], changed[other] = changed[other], changed[place]
        with suppress(ProgramError):
            check(" ".join(changed))
