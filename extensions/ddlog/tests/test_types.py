"""Types of DDlog: programs that are right and would be refused, and wrong ones with what is told of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deltic.errors import EvaluationError, ProgramError
from deltic_ddlog.check import check
from deltic_ddlog.checked import AssignmentStep, GroupBy, MatchStep
from deltic_ddlog.types import Bit, Named

DECLARATIONS = """
typedef Point = Point{x: u8, y: string}
typedef Shape = Dot{at: Point} | Line{from: Point, to: Point}
input relation R(a: u8, b: string)
output relation O(a: u8)
function wide(x: u64): u64 { x }
function one(x: Vec<'A>): Option<'A> { x.nth(0) }
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mismatch", 'O(a) :- R(a, b), a == "x".'),
        ("argument", "O(a) :- R(a, _), wide(a) > 1."),
        ("unknown-variable", "O(c) :- R(a, b)."),
        ("unknown-function", "O(a) :- R(a, b), wife(1) == 1."),
        ("unknown-relation", "O(a) :- S(a)."),
        ("unknown-constructor", "O(a) :- R(a, _), Pont{a, var y} = Point{1, b}."),
        ("unknown-field", "O(p.z) :- R(a, b), var p = Point{a, b}."),
        ("guarded-field", "O(s.at.x) :- R(a, b), var s = Dot{Point{a, b}}."),
        ("unknown-type", "input relation S(x: Strin)"),
        ("missing-field", "O(p.x) :- R(a, b), var p = Point{.x = a}."),
        ("columns", "O(a) :- R(a)."),
        ("too-large", "O(256)."),
        ("negated-binding", "O(a) :- R(a, _), not R(a, c)."),
        ("after-grouping", "O(b) :- R(a, b), var c = a.group_by(b).min(), a == c."),
        ("cast", "O(a as signed<16> as u8) :- R(a, _)."),
        ("no-text", 'function f(p: Point): string { "${p}" }'),
        ("try-outside", "O(one([a])?) :- R(a, _)."),
        ("try-of-option", "function f(x: Option<u8>): Result<u8, string> { Ok{x?} }"),
        ("no-else", "function f(x: bool): u8 { if (x) 1; 2 }"),
        ("no-item", "O(t.2) :- R(a, b), var t = (a, b)."),
        ("loop-over-number", "function f(x: u8) { for (y in x) { } }"),
        ("ambiguous", "function f() { var x = to_vec; }"),
        ("condition", "O(a) :- R(a, b), b."),
        ("declared-twice", "typedef Point = Point{z: u8}\nrelation R(x: u8)"),
        ("type-arguments", "input relation S(x: Option, y: Vec<u8, u8>)"),
        ("type-variable", "input relation S(x: 'A)"),
        ("delay", "O(x) :- R-0(x, _)."),
        ("signed-width", "input relation S(x: signed<12>)"),
        ("key-of-output", "output relation S(x: u8) primary key (s) s.x"),
        ("transformer", "extern transformer T(E: relation['E]) -> (L: relation['E])\nrelation L[R]\napply T(R) -> (L)"),
        ("cast-of-float", "function f(x: double): u8 { x as u8 }"),
        ("cast-of-bigint", "function f(x: bigint): u8 { x as u8 }"),
        ("module", "import vek"),
        ("module-of-another-engine", "import debug"),
        ("break", "function f() { break }"),
        ("no-record-arguments", "relation S[string]\nO(1) :- S(x)."),
    ],
)
def test_what_is_wrong_is_told_with_its_place(golden: Callable[[str, str], None], name: str, text: str) -> None:
    with pytest.raises(ProgramError) as error:
        check(f"{DECLARATIONS}{text}\n", "program.dl")
    golden(f"type-{name}.txt", str(error.value))


def test_an_extern_function_without_one_of_python_is_told_where_it_is_called(
    golden: Callable[[str, str], None],
) -> None:
    program = "extern function twice(x: u8): u8\noutput relation O(a: u8)\nO(twice(4))."
    checked = check(program, "program.dl")
    with pytest.raises(ProgramError) as error:
        checked.functions.expression(checked.rules[-1].heads[0].record, [])
    golden("extern.txt", str(error.value))
    given = check(program, functions={"twice": lambda x: 2 * x})
    assert given.functions.expression(given.rules[-1].heads[0].record, [])().fields == (8,)
    given = check(program, functions={"twice": lambda x: -x})
    with pytest.raises(EvaluationError, match=r"`twice` gave -4, which is no `bit<8>`"):
        given.functions.expression(given.rules[-1].heads[0].record, [])()


@pytest.mark.parametrize(
    "text",
    [
        "O(a) :- R(a, b), b.len() > 1.",
        "relation Same[R]\nfor (r in R if r.a > 1) Same(r)",
        "O(x) :- R(a, b), var v = [a, 1], var x = FlatMap(v).",
        "O(x) :- R(a, b), var x = one([a]).unwrap_or(0).",
        "O(p.x) :- R(a, b), var p = Point{.y = b, .x = a}, Point{1, _} = p.",
        "O(a) :- R(a, _), R(a, _), not R(a, _).",
        "O(x) :- R(a, b), (var x, _) = (a, b).",
        "O(a) :- r in R(a, b), r.b == b.",
        "O(n as u8) :- R(a, b), var n = b.group_by(a).count_distinct().",
        "O(a) :- R(a, b), Inspect debug(b).\nimport print",
        "function f(v: Vec<'A>): Vec<('A, u8)> { var r = vec_empty(); for (x in v) { r.push((x, 1)) }; r }",
        'function f(x: Option<string>): u64 { match (x) { Some{"a"} -> 1, Some{s} -> s.len(), None -> 0 } }',
        'function f(x: mut string, g: |mut string|) { g(x) }\nfunction h() { var s = ""; f(s, |t| { t = "b" }) }',
        "typedef Name = Point2\ntypedef Point2 = Point2{x: Name2}\ntypedef Name2 = u8",
        "function f(x: float): double { (x + 1.5) as double * 2 }",
    ],
)
def test_what_is_right_is_understood(text: str) -> None:
    check(f"{DECLARATIONS}{text}\n")


def test_numbers_take_the_type_that_is_expected_or_else_bigint() -> None:
    checked = check(f"{DECLARATIONS}O(x) :- R(a, _), var x = 3, var y = 4, var z = (5, y).\n")
    found = [clause.expression.type for clause in checked.rules[-1].body if isinstance(clause, AssignmentStep)]
    assert list(map(str, found)) == ["bit<8>", "bigint", "(bigint, bigint)"]


@pytest.mark.parametrize("repeated", ["x", "x + 1", "(x)"])
def test_an_atom_does_not_use_what_it_binds(repeated: str) -> None:
    with pytest.raises(ProgramError, match="`x` is bound in this pattern, and cannot be used in it"):
        check(f"input relation S(x: u8, y: u8)\noutput relation O(x: u8)\nO(x) :- S(x, {repeated}).\n")
    check(f"input relation S(x: u8, y: u8)\noutput relation O(x: u8)\nO(x) :- S(x, _), S(x, {repeated}).\n")


def test_of_a_group_the_key_alone_stays_known() -> None:
    checked = check(f'{DECLARATIONS}O(k) :- R(a, k2), var k = a, var m = k2.group_by(k).max(), m != "".\n')
    group = next(clause for clause in checked.rules[-1].body if isinstance(clause, GroupBy))
    assert group.visible == ("k",)
    assert group.type == Named("ddlog_std::Group", (Bit(8), group.values.type))


def test_modules_are_sought_beside_the_program_and_named_by_what_imports_them(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "mod1.dl").write_text("input relation R1(f1: bool)\nfunction g(x: u8): u8 { x + 1 }")
    (tmp_path / "lib" / "mod2.dl").write_text("import mod1\ninput relation R2(f2: u8)\ntypedef T = T{x: u8}")
    main = "import mod1\nimport lib::mod2 as m2\noutput relation Main(f1: bool, t: m2::T)\n"
    rule = "Main(f1, m2::T{g(x)}) :- R1(f1), m2::R2(x)."
    checked = check(main + rule, directories=[tmp_path])
    rule_found = checked.rules[-1]
    matched = [clause.relation for clause in rule_found.body if isinstance(clause, MatchStep)]
    assert matched == ["mod1::R1", "lib::mod2::R2"]
    derived = checked.functions.expression(rule_found.heads[0].record, ["f1", "x"])(True, 1)
    assert str(derived) == "Main{.f1 = True, .t = lib::mod2::T{.x = 2}}"
    with pytest.raises(ProgramError, match="there is no relation `R2`"):
        check(main + rule.replace("m2::R2", "R2"), directories=[tmp_path])
