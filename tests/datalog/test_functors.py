"""Every functor and operator, on constants and on columns. Catches: a functor translated to another one, wrong types,
values on the borders, and constants that are computed otherwise than columns are.
"""

import pytest

from deltic.datalog.checks.functors import FUNCTORS, TESTS
from deltic.datalog.souffle.words import CONVERSIONS, RESERVED
from deltic.datalog.souffle.words import FUNCTORS as WORDS
from tests.datalog.meaning import derive

TOP, BOTTOM = 2**63 - 1, -(2**63)
UNDEFINED = None

# Expression over arguments @1, @2, ...; their types; rows of arguments with the result; its type.
CASES = [
    ("@1 + @2", "nn", [(1, 2, 3), (TOP, 1, BOTTOM)], "n"),
    ("@1 + @2", "uu", [(2**64 - 1, 2, 1)], "u"),
    ("@1 + @2", "ff", [(1.5, 2.0, 3.5)], "f"),
    ("@1 + @2", "ss", [("a", "b", "ab")], "s"),
    ("@1 - @2", "nn", [(1, 2, -1), (BOTTOM, 1, TOP)], "n"),
    ("@1 - @2", "uu", [(1, 2, 2**64 - 1)], "u"),
    ("-@1", "n", [(5, -5), (BOTTOM, BOTTOM)], "n"),
    ("-@1", "f", [(1.5, -1.5)], "f"),
    ("@1 * @2", "nn", [(3, -4, -12), (2**62, 4, 0)], "n"),
    ("@1 / @2", "nn", [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (1, 0, UNDEFINED), (BOTTOM, -1, BOTTOM)], "n"),
    ("@1 / @2", "uu", [(2**64 - 1, 2, 2**63 - 1), (1, 0, UNDEFINED)], "u"),
    ("@1 / @2", "ff", [(7.0, 2.0, 3.5), (1.0, 0.0, UNDEFINED)], "f"),
    ("@1 % @2", "nn", [(7, 3, 1), (-7, 3, -1), (7, -3, 1), (7, 0, UNDEFINED)], "n"),
    ("@1 % @2", "uu", [(2**64 - 1, 10, 5)], "u"),
    ("@1 ^ @2", "nn", [(2, 10, 1024), (-3, 3, -27), (3, 0, 1), (2, 64, 0), (2, -1, UNDEFINED)], "n"),
    ("@1 ^ @2", "ff", [(2.0, 0.5, 2.0**0.5), (-1.0, 0.5, UNDEFINED)], "f"),
    ("@1 band @2", "nn", [(6, 3, 2), (-1, 5, 5)], "n"),
    ("@1 bor @2", "nn", [(6, 3, 7)], "n"),
    ("@1 bxor @2", "nn", [(6, 3, 5)], "n"),
    ("bnot @1", "n", [(0, -1), (5, -6)], "n"),
    ("bnot @1", "u", [(0, 2**64 - 1)], "u"),
    ("@1 bshl @2", "nn", [(1, 4, 16), (1, 63, BOTTOM), (1, 64, 1)], "n"),
    ("@1 bshr @2", "nn", [(16, 2, 4), (-16, 2, -4)], "n"),
    ("@1 bshr @2", "uu", [(2**63, 62, 2)], "u"),
    ("@1 bshru @2", "nn", [(-1, 60, 15), (16, 2, 4)], "n"),
    ("@1 bshru @2", "uu", [(2**63, 62, 2)], "u"),
    ("@1 land @2", "nn", [(2, 3, 1), (2, 0, 0)], "n"),
    ("@1 land (1 / @2)", "nn", [(0, 0, UNDEFINED), (0, 1, 0)], "n"),
    ("@1 lor @2", "nn", [(0, 3, 1), (0, 0, 0)], "n"),
    ("@1 lor (1 / @2)", "nn", [(1, 0, UNDEFINED), (1, 1, 1)], "n"),
    ("@1 lxor @2", "nn", [(2, 3, 0), (2, 0, 1)], "n"),
    ("@1 lxor (1 / @2)", "nn", [(1, 0, UNDEFINED)], "n"),
    ("@1 lxor @2", "uu", [(2, 3, 0), (2, 0, 1)], "u"),
    ("lnot @1", "n", [(0, 1), (7, 0)], "n"),
    ("min(@1, @2)", "nn", [(-1, 2, -1)], "n"),
    ("min(@1, @2, @3)", "fff", [(3.0, 1.0, 2.0, 1.0)], "f"),
    ("max(@1, @2)", "uu", [(2**63, 1, 2**63)], "u"),
    ("max(@1, @2)", "ss", [("a", "b", "b"), ("B", "a", "a")], "s"),
    ("cat(@1, @2)", "ss", [("a", "", "a")], "s"),
    ("cat(@1, @2, @1)", "ss", [("a", "b", "aba")], "s"),
    ("strlen(@1)", "s", [("", 0), ("häß", 3)], "n"),
    ("substr(@1, 1, 2)", "s", [("hello", "el"), ("h", ""), ("äöü", "öü")], "s"),
    (
        "substr(@1, @2, @3)",
        "snn",
        [
            ("hello", 2, 3, "llo"),
            ("hello", 0, 99, "hello"),
            ("hello", 5, 1, ""),
            ("hello", 9, 1, ""),
            ("hello", -1, 3, ""),
            ("hello", 1, -1, ""),
            ("hello", TOP, TOP, ""),
            ("hello", 1, TOP, "ello"),
        ],
        "s",
    ),
    (
        "to_number(@1)",
        "s",
        [("12", 12), ("-3", -3), ("+4", 4), ("1.5", UNDEFINED), ("", UNDEFINED), (" 1", UNDEFINED)],
        "n",
    ),
    ("to_number(@1)", "s", [("9223372036854775808", UNDEFINED)], "n"),
    ("to_number(@1)", "f", [(2.9, 2), (-2.9, -2), (1e300, UNDEFINED)], "n"),
    ("to_number(@1)", "u", [(2**64 - 1, -1)], "n"),
    ("to_number(@1)", "n", [(5, 5)], "n"),
    ("to_unsigned(@1)", "n", [(-1, 2**64 - 1)], "u"),
    ("to_unsigned(@1)", "s", [("18446744073709551615", 2**64 - 1), ("-1", UNDEFINED)], "u"),
    ("to_unsigned(@1)", "f", [(3.7, 3), (-1.0, UNDEFINED)], "u"),
    ("to_float(@1)", "n", [(3, 3.0)], "f"),
    ("to_float(@1)", "s", [("1.5", 1.5), ("1e3", 1000.0), ("x", UNDEFINED)], "f"),
    ("to_string(@1)", "n", [(-12, "-12")], "s"),
    ("to_string(@1)", "u", [(2**64 - 1, "18446744073709551615")], "s"),
    ("to_string(@1)", "f", [(1.5, "1.5"), (2.0, "2.0")], "s"),
    ("to_string(@1)", "s", [("x", "x")], "s"),
    ("itof(@1)", "n", [(3, 3.0)], "f"),
    ("itou(@1)", "n", [(-1, 2**64 - 1)], "u"),
    ("utof(@1)", "u", [(3, 3.0)], "f"),
    ("utoi(@1)", "u", [(2**64 - 1, -1)], "n"),
    ("ftoi(@1)", "f", [(-2.9, -2)], "n"),
    ("ftou(@1)", "f", [(2.9, 2)], "u"),
]
TYPES = {"n": "number", "u": "unsigned", "f": "float", "s": "symbol"}


def _program(expression, arguments, result):
    attributes = ", ".join(f"x{i}: {TYPES[kind]}" for i, kind in enumerate(arguments, 1))
    head = f".decl given({attributes})\n.decl r(value: {TYPES[result]})\n"
    variables = ", ".join(f"x{i}" for i in range(1, len(arguments) + 1))
    return head + f"r({expression.replace('@', 'x')}) :- given({variables})."


def _constant(value, kind):
    if kind == "s":
        return f'"{value}"'
    return f"({value}{'u' if kind == 'u' else ''})" if kind != "f" else f"({value:.1f})"


@pytest.mark.parametrize(("expression", "arguments", "rows", "result"), CASES)
def test_on_columns(expression, arguments, rows, result):
    for *values, expected in rows:
        found = derive(_program(expression, arguments, result), {"given": {tuple(values)}})["r"]
        assert found == ({(expected,)} if expected is not UNDEFINED else set())


@pytest.mark.parametrize(("expression", "arguments", "rows", "result"), CASES)
def test_on_constants(expression, arguments, rows, result):
    for *values, expected in rows:
        text = expression
        for place, (value, kind) in enumerate(zip(values, arguments, strict=True), 1):
            text = text.replace(f"@{place}", _constant(value, kind))
        found = derive(f".decl r(value: {TYPES[result]})\nr({text}).", {})["r"]
        assert found == ({(expected,)} if expected is not UNDEFINED else set())


def test_tests():
    text = ".decl s(a: symbol, b: symbol)\n.decl r(a: symbol, b: symbol)\n.decl q(a: symbol, b: symbol)\n"
    text += "r(a, b) :- s(a, b), contains(a, b). q(a, b) :- s(a, b), match(a, b)."
    pairs = {("b", "abc"), ("abc", "b"), ("a.*", "abc"), ("a", "abc"), ("", "")}
    found = derive(text, {"s": pairs})
    assert found["r"] == {("b", "abc"), ("a", "abc"), ("", "")}
    assert found["q"] == {("a.*", "abc"), ("", "")}


def test_precedence():
    text = ".decl r(i: number, x: number)\n"
    expressions = ["1 + 2 * 3", "-2 ^ 2", "2 ^ 3 ^ 2", "7 - 2 - 1", "1 bshl 1 + 1", "6 band 3 bor 8", "1 lor 0 land 0"]
    text += "".join(f"r({i}, {expression}).\n" for i, expression in enumerate(expressions))
    assert sorted(derive(text, {})["r"]) == list(enumerate([7, -4, 512, 4, 4, 10, 1]))


def test_every_functor_is_tested():
    tested = " ".join(expression for expression, *_ in CASES)
    assert all(name in tested for name in FUNCTORS)


def test_the_grammar_knows_the_functors():
    words = {*WORDS, *CONVERSIONS} - {"ord", "range"}
    calls = {name for name in FUNCTORS if name in WORDS}
    assert words == calls
    assert {*TESTS, *(name for name in FUNCTORS if name.isidentifier())} <= RESERVED
