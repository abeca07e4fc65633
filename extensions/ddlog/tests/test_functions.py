"""Functions of DDlog as Python: wrong widths and signs, changes that are lost or reach too far, wrong branches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.errors import EvaluationError
from deltic_ddlog.check import check
from deltic_ddlog.core import LiteralValue
from deltic_ddlog.types import Signed

FUNCTIONS = """
import vec
typedef Inner = Inner{a: u8, b: (bool, u8)}
typedef Outer = Outer{inner: Inner, name: string}
function to_string(o: Outer): string { "<${o.name}:${o.inner.a}>" }
function early(x: u8): string { if (x == 1) return "one"; if (x == 2) "two" else { "many" } }
function changed(): Outer {
    var o = Outer{Inner{1, (true, 250)}, "o"};
    o.inner.a = 7;
    o.inner.b.1 = o.inner.b.1 + 10;
    (o.name, var z) = ("p", 1);
    o.inner.a = o.inner.a + z;
    o
}
function inside(): Option<u32> { var o: Option<u32> = Some{0}; match (o) { Some{u} -> { u = 5 }, _ -> () }; o }
function evens(v: Vec<s64>): Vec<s64> { var r = vec_empty(); for (x in v) { if (x % 2 != 0) continue; r.push(x) }; r }
function before(v: Vec<'A>, stop: 'A): Vec<'A> {
    var r = vec_empty();
    for (x in v) { if (x == stop) { break }; r.push(x) };
    r
}
function first_long(v: Vec<string>): Option<string> { for (s in v) { if (s.len() > 2) return Some{s} }; None }
function try_both(a: Option<u8>, b: Result<u8, string>): Option<u8> { Some{a? + b?} }
function add_to(v: mut Vec<u8>, x: u8): u64 { v.push(x); v.len() }
function twice(): (Vec<u8>, u64) { var v = [1]; var n = add_to(v, 2); var m = add_to(v, 3); (v, n + m) }
function adders(): Vec<u8> {
    var fs: Vec<|u8|: u8> = [];
    for (i in [1, 2, 3]) { fs.push(|x| x + i) };
    fs.map(|f| f(10))
}
function apply(x: mut 'A, f: |mut 'A|) { f(x) }
function doubled(): string { var s = "ab"; apply(s, |x| { x = "${x}${x}" }); s }
function factorial(n: bigint): bigint { if (n <= 1) 1 else { n * factorial(n - 1) } }
function order(): Vec<string> { var log = []; var t = ({log.push("a"); 1}, {log.push("b"); 2}); log }
function shadow(x: u8): u8 { var y = match (Some{x}) { Some{z} -> z + 1, None -> 0 }; x + y }
function sum_of(m: Map<string, u8>): u8 { var n = 0; for ((_, v) in m) { n = n + v }; n }
typedef Shape = Round{r: u8, tag: (u8, u8)} | Flat{tag: (u8, u8), w: u8}
function tagged(s: Shape): ((u8, u8), u8, u8) {
    var t = s;
    t.tag.1 = 9;
    put(t.tag, 5);
    (t.tag, s.tag.1, match (t) { Round{r, _} -> r, Flat{_, w} -> w })
}
function put(x: mut (u8, u8), n: u8) { x.0 = n }
function both(x: bool): bool { x and {var y = x; not y} }
"""


def value(expression: str, type_: str) -> Any:
    """Return the value of an expression of a type."""
    checked = check(f"{FUNCTIONS}relation Result[{type_}]\nResult[{expression}].\n")
    return checked.functions.expression(checked.rules[-1].heads[0].record, [])()


@pytest.mark.parametrize(
    ("expression", "type_", "expected"),
    [
        ("200 + 100", "u8", 44),
        ("3 - 5", "u8", 254),
        ("100 + 100", "signed<8>", -56),
        ("-7 / 2", "s32", -3),
        ("-7 % 2", "s32", -1),
        ("7 / -2", "bigint", -3),
        ("~8'd5", "u8", 250),
        ("8'hf0 >> 4", "u8", 15),
        ("(1: bit<10>) << 9", "bit<10>", 512),
        ("(1: bit<10>) << 16", "bit<10>", 1),
        ("8'd1 ++ 8'd2", "u16", 258),
        ("32'h01020304[23:8]", "u16", 0x0203),
        ("(8'hff as signed<8>) as signed<64>", "s64", -1),
        ("(300: u16) as u8", "u8", 44),
        ("[5e-1, 64'f5e2, 1E3, 2.5e+1]", "Vec<double>", (0.5, 500.0, 1000.0, 25.0)),
        ("32'f5e2", "float", 500.0),
        ("'hff + 1", "bigint", 256),
        ("'sd-5", "s8", -5),
        ('{ var y = 1: u8; var y = y + 1; { var y = "in"; y.len() as u8 } + y }', "u8", 4),
        ("{ var o = Some{1: u8}; match (o) { None -> (), z -> { z = None } }; o.is_none() }", "bool", True),
        ("{ var o = Some{1: u8}; match (o) { None -> (), z @ Some{n} -> { n = 5 } }; o.unwrap_or(0) }", "u8", 5),
        ("{ var n = 1: u8; match (n) { m -> { m = m + 1 } }; n }", "u8", 2),
        (
            'to_string_debug((Outer{Inner{1, (true, 2)}, "x"}, [Some{1: u8}], None: Option<u8>))',
            "string",
            '(Outer{Inner{1,(true, 2)},"x"}, [ddlog_std::Some{1}], ddlog_std::None{})',
        ),
        ("5.0 / 0.0", "double", float("inf")),
        ("16777217.0 + 0.0", "float", 16777216.0),
        ("(1.5: double) as float", "float", 1.5),
        ("1 == 1 => false", "bool", False),
        ('"a" ++ 1 ++ true ++ "${-3: s8}"', "string", "a1true-3"),
        ('"${Outer{Inner{1, (true, 2)}, "x"}}"', "string", "<x:1>"),
        ("early(1) ++ early(2) ++ early(3)", "string", "onetwomany"),
        ("evens([1, 2, -4])", "Vec<s64>", (2, -4)),
        ('before(["a", "b", "c"], "b")', "Vec<string>", ("a",)),
        ('first_long(["a", "abc"]).unwrap_or("")', "string", "abc"),
        ("try_both(Some{1}, Ok{2}).unwrap_or(0)", "u8", 3),
        ('try_both(Some{1}, Err{"e"}).unwrap_or(0)', "u8", 0),
        ("try_both(None, Ok{2}).unwrap_or(0)", "u8", 0),
        ("twice()", "(Vec<u8>, u64)", ((1, 2, 3), 5)),
        ("adders()", "Vec<u8>", (11, 12, 13)),
        ("doubled()", "string", "abab"),
        ("factorial(25)", "bigint", 15511210043330985984000000),
        ("order()", "Vec<string>", ("a", "b")),
        ("shadow(3)", "u8", 7),
        ('sum_of(["a" -> 1, "b" -> 2])', "u8", 3),
        ("both(true) or both(false)", "bool", False),
        ("inside().unwrap_or(0)", "u32", 5),
        ("tagged(Round{1, (2, 3)})", "((u8, u8), u8, u8)", ((5, 9), 3, 1)),
        ("tagged(Flat{(2, 3), 4})", "((u8, u8), u8, u8)", ((5, 9), 3, 4)),
        ("[None <= Some{0}, (0, 1) <= (0, 0), Some{1} < Some{0}]", "Vec<bool>", (True, False, False)),
    ],
)
def test_values_are_those_of_the_reference(expression: str, type_: str, expected: object) -> None:
    assert value(expression, type_) == expected


def test_sums_of_a_thousand_terms_and_chains_of_a_thousand_choices_hit_no_limit() -> None:
    assert value(" + ".join(["1"] * 1000), "u16") == 1000
    choices = "".join(f"if (x == {i}) {{ var y = {i}; y + 1 }} else " for i in range(1000))
    assert value(f"{{ var x: u16 = 998; {choices} 7 }}", "u16") == 999


def test_parts_of_a_variable_change_alone() -> None:
    inner, name = value("changed()", "Outer").fields
    assert inner.fields == (8, (True, 4))
    assert name == "p"


def test_division_by_zero_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="1 / 0"):
        value("1 / 0", "u8")


def test_bodies_are_readable_python() -> None:
    checked = check(f"{FUNCTIONS}relation Result[string]\nResult[early(1)].\n")
    checked.functions.expression(checked.rules[-1].heads[0].record, [])
    sources = "".join(checked.functions.sources.values())  # type: ignore[attr-defined]
    assert "def early_0(x_):\n    if (x_ == 1):\n        return 'one'\n" in sources


WIDTHS = st.sampled_from([8, 16, 32, 64, 128])


@given(st.data(), WIDTHS, st.sampled_from(["+", "-", "*", "/", "%", "&", "|", "^"]))
def test_arithmetic_of_signed_integers_wraps(data: st.DataObject, width: int, operator: str) -> None:
    """Against arithmetic on the bits alone."""
    half = 1 << width - 1
    a, b = (data.draw(st.integers(-half, half - 1)) for _ in range(2))
    checked = _operator(operator, width)
    if operator in ("/", "%") and b == 0:
        return
    exact: int = {
        "+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b,
        "/": abs(a) // abs(b or 1) * (1 if (a < 0) == (b < 0) else -1),
        "%": abs(a) % abs(b or 1) * (-1 if a < 0 else 1),
    }[operator]  # fmt: skip
    assert checked(a, b) == int.from_bytes((exact % (1 << width)).to_bytes(width // 8, "big"), "big", signed=True)


_COMPILED: dict[tuple[str, int], Any] = {}


def _operator(operator: str, width: int) -> Any:
    """Return the operator on values of a width, as a function."""
    if (operator, width) not in _COMPILED:
        checked = check(
            f"input relation S(x: signed<{width}>, y: signed<{width}>)\n"
            f"relation T[signed<{width}>]\nT[x {operator} y] :- S(x, y).\n"
        )
        record = checked.rules[-1].heads[0].record
        assert not isinstance(record, LiteralValue)
        assert record.type == Signed(width)
        _COMPILED[operator, width] = checked.functions.expression(record, ["x", "y"])
    return _COMPILED[operator, width]
