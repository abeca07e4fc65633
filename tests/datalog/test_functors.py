"""Every functor and operator, on constants and on columns. Catches: a functor translated to another one, wrong types,
values on the borders, and constants that are computed otherwise than columns are.
"""

import math

import pytest

import deltic
from deltic.datalog.checks.functors import FUNCTORS, MATHEMATICS, TESTS
from deltic.datalog.souffle.words import CONVERSIONS, RESERVED
from deltic.datalog.souffle.words import FUNCTORS as WORDS
from tests.datalog.meaning import derive
from tests.datalog.naive import rows_of

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
    ("ord(@1)", "n", [(-5, -5)], "n"),
    ("ord(@1)", "u", [(2**64 - 1, -1)], "n"),
    ("ord(@1) - ord(@2)", "ss", [("häß", "häß", 0)], "n"),
    ("ord(@1) - ord(@2)", "ff", [(0.1, 0.1, 0)], "n"),
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
    ("to_number(@1)", "s", [("0xfF", 255), ("-0x10", -16), ("0b101", 5), ("-0b1", -1), ("0x", UNDEFINED)], "n"),
    ("to_number(@1)", "s", [("0" * 50 + "7", 7), ("0x8000000000000000", UNDEFINED), ("0b2", UNDEFINED)], "n"),
    (
        "to_unsigned(@1)",
        "s",
        [("0xffffffffffffffff", 2**64 - 1), ("0b11", 3), ("-0x1", UNDEFINED), ("-1", UNDEFINED)],
        "u",
    ),
    ("to_number(@1)", "f", [(2.9, 2), (-2.9, -2), (1e300, UNDEFINED)], "n"),
    ("to_number(@1)", "u", [(2**64 - 1, -1)], "n"),
    ("to_number(@1)", "n", [(5, 5)], "n"),
    ("to_unsigned(@1)", "n", [(-1, 2**64 - 1)], "u"),
    ("to_unsigned(@1)", "s", [("18446744073709551615", 2**64 - 1), ("-1", UNDEFINED)], "u"),
    ("to_unsigned(@1)", "f", [(3.7, 3), (-1.0, UNDEFINED)], "u"),
    ("to_float(@1)", "n", [(3, 3.0)], "f"),
    ("to_float(@1)", "s", [("1.5", 1.5), ("1e3", 1000.0), ("x", UNDEFINED)], "f"),
    ("to_float(@1)", "s", [("-INF", -math.inf), ("0x1.8p1", 3.0), ("0x", UNDEFINED), ("0x1p9999", UNDEFINED)], "f"),
    ("to_string(@1)", "n", [(-12, "-12")], "s"),
    ("to_string(@1)", "u", [(2**64 - 1, "18446744073709551615")], "s"),
    ("to_string(@1)", "f", [(1.5, "1.500000"), (2.0, "2.000000"), (1e22, f"{10**22}.000000")], "s"),
    ("to_string(@1)", "s", [("x", "x")], "s"),
    ("itof(@1)", "n", [(3, 3.0)], "f"),
    ("itou(@1)", "n", [(-1, 2**64 - 1)], "u"),
    ("utof(@1)", "u", [(3, 3.0)], "f"),
    ("utoi(@1)", "u", [(2**64 - 1, -1)], "n"),
    ("ftoi(@1)", "f", [(-2.9, -2)], "n"),
    ("ftou(@1)", "f", [(2.9, 2)], "u"),
    *((f"{name}(@1)", "f", [(0.5, getattr(math, name)(0.5))], "f") for name in MATHEMATICS if name != "acosh"),
    ("acosh(@1)", "f", [(2.0, math.acosh(2.0)), (0.5, math.nan)], "f"),
    ("log(@1)", "f", [(0.0, UNDEFINED), (-1.0, UNDEFINED)], "f"),
    ("asin(@1)", "f", [(1.5, math.nan)], "f"),
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


def test_a_pattern_that_is_none_matches_nothing_and_warns():
    pipeline = deltic.Pipeline()
    rules = 'r(a) :- s(a), match("[", a).\nr(a) :- s(a), !match("*", a).\nr(a) :- s(a), match("a.", a).'
    with pytest.warns(deltic.ProgramWarning) as told:
        pipeline.datalog(f".decl s(a: symbol)\n.input s\n.decl r(a: symbol)\n{rules}", "program.dl")
    assert [str(one.message).splitlines()[0] for one in told] == [
        "program.dl:4:21: this is not a regular expression: it ends too early",
        "program.dl:5:22: this is not a regular expression: nothing to repeat before *",
    ]
    with pipeline.transaction() as change:
        change.insert("s", [("ab",), ("b",)])
    assert rows_of(pipeline["r"]) == {("ab",)}


RANGES = [
    ("range(@1, @2)", "nn", (1, 4), {1, 2, 3}),
    ("range(@1, @2)", "nn", (2, -1), {2, 1, 0}),
    ("range(@1, @2)", "nn", (2, 2), set()),
    ("range(@1, @2, @3)", "nnn", (0, 5, 2), {0, 2, 4}),
    ("range(@1, @2, @3)", "nnn", (5, 0, 2), set()),
    ("range(@1, @2, @3)", "nnn", (1, 5, 0), {1}),
    ("range(@1, @2, @3)", "nnn", (5, 5, 0), set()),
    ("range(@1, @2, 0)", "nn", (3, 1), {3}),
    ("range(@1, @2, -2)", "nn", (3, -1), {3, 1}),
    ("range(@1, @2, @3)", "uuu", (3, 1, 0), {3}),
    ("range(@1, @2)", "uu", (2**64 - 3, 2**64 - 1), {2**64 - 3, 2**64 - 2}),
    ("range(@1, @2)", "uu", (3, 1), {3, 2}),
    ("range(@1, @2)", "ff", (1.5, -1.0), {1.5, 0.5, -0.5}),
    ("range(@1, @2, @3)", "fff", (0.0, 2.0, 0.5), {0.0, 0.5, 1.0, 1.5}),
    ("range(@1, @2) * 10", "nn", (1, 3), {10, 20}),
    ("range(@1, @2) + range(@1, @2)", "nn", (1, 3), {2, 3, 4}),
    ("count : { x = range(@1, @2), x != @1 }", "nn", (1, 5), {3}),
]


@pytest.mark.parametrize(("expression", "arguments", "row", "values"), RANGES)
def test_ranges(expression, arguments, row, values):
    program = _program(expression, arguments, arguments[0])
    assert derive(program, {"given": {row}})["r"] == {(value,) for value in values}
    for place, (value, kind) in enumerate(zip(row, arguments, strict=True), 1):
        expression = expression.replace(f"@{place}", _constant(value, kind))
    program = f".decl r(value: {TYPES[arguments[0]]})\n"
    assert derive(f"{program}r({expression}).", {})["r"] == {(value,) for value in values}
    assert derive(f"{program}r(v) :- v = {expression}, v = v.", {})["r"] == {(value,) for value in values}


def test_precedence():
    text = ".decl r(i: number, x: number)\n"
    expressions = ["1 + 2 * 3", "-2 ^ 2", "2 ^ 3 ^ 2", "7 - 2 - 1", "1 bshl 1 + 1", "6 band 3 bor 8", "1 lor 0 land 0"]
    text += "".join(f"r({i}, {expression}).\n" for i, expression in enumerate(expressions))
    assert sorted(derive(text, {})["r"]) == list(enumerate([7, -4, 512, 4, 4, 10, 1]))


def test_ord_tells_texts_and_structures_apart():
    text = """
    .type Pair = [a: symbol, b: number]
    .decl word(w: symbol)
    .type Alike = [c: symbol, d: number]
    .decl number(n: number)  number(ord(w)) :- word(w).  number(ord([w, 1])) :- word(w).
    """
    words = [f"w{n}" for n in range(1000)]
    found = [n for (n,) in derive(text, {"word": [(w,) for w in words]})["number"]]
    assert len(set(found)) == 2000
    assert all(0 <= n < 2**63 for n in found)


def test_a_representative_by_ord_is_maintained():
    pipeline = deltic.Pipeline()
    pipeline.datalog("""
    .decl in(group: number, member: symbol)
    .decl least(group: number, n: number)   least(g, n) :- in(g, _), n = min ord(m) : in(g, m).
    .decl chosen(group: number, member: symbol)   chosen(g, m) :- in(g, m), least(g, ord(m)).
    """)
    members = {(g, f"m{g}{n}") for g in range(3) for n in range(5)}
    with pipeline.transaction() as change:
        change.insert("in", members)
    while members:
        gone = set(pipeline["chosen"])
        assert {g for g, _ in gone} == {g for g, _ in members}
        assert len(gone) == len({g for g, _ in members})
        with pipeline.transaction() as change:
            change.delete("in", gone)
        members -= gone


def test_as_reinterprets_numbers_and_unsigneds():
    text = """
    .type address <: unsigned
    .decl r(a: address, o: number)
    .decl moved(d: address)     moved(as(as(a, number) + o, address)) :- r(a, o).
    .decl bound(d: number)      bound(as(d, number)) :- r(a, o), d = a + as(o, unsigned).
    .decl before(d: number)     before(x) :- x = as(y, number), y = a, r(a, _).
    .decl literal(d: unsigned)  literal(as(5, unsigned)) :- r(_, _).
    .decl inlined(d: address) inline  inlined(a) :- r(a, _).
    """
    found = derive(text, {"r": [(10, -3), (2, -5)]})
    assert sorted(found["moved"]) == [(7,), (2**64 - 3,)]
    assert sorted(found["bound"]) == [(-3,), (7,)]
    assert sorted(found["before"]) == [(2,), (10,)]
    assert list(found["literal"]) == [(5,)]
    with pytest.raises(deltic.ProgramError, match="is a number"):
        derive(text + ".decl mixed(o: number)  mixed(o) :- r(_, o), inlined(o).\n", {})


def test_every_functor_is_tested():
    tested = " ".join(expression for expression, *_ in [*CASES, *RANGES])
    assert all(name in tested for name in FUNCTORS)


def test_the_grammar_knows_the_functors():
    words = {*WORDS, *CONVERSIONS}
    calls = {name for name in FUNCTORS if name in WORDS}
    assert words == calls
    assert {*TESTS, *(name for name in FUNCTORS if name.isidentifier())} - MATHEMATICS.keys() <= RESERVED


FUNCTOR = ".functor twice(x: number): number\n.decl t(x: number)\n.decl r(x: number)\nr(@twice(x)) :- t(x).\n"


def _twice(x: int) -> int | None:
    return 2 * x if x != 7 else None


def test_a_functor_may_have_a_name_of_sql():
    @deltic.functor(deterministic=True)
    def size(text: str) -> int:
        return 100 + len(text)

    pipeline = deltic.Pipeline(functions=[size])
    pipeline.datalog(".functor size(t: symbol): number\n.decl w(t: symbol)\n.decl r(n: number)\nr(@size(t)) :- w(t).")
    with pipeline.transaction() as change:
        change.insert("w", [("abc",)])
    assert sorted(pipeline["r"]) == [(103,)]
    assert sorted(pipeline.sql("SELECT size(array(1, 2)) FROM w")) == [(2,)]
    with pytest.raises(deltic.CatalogError, match=r"or make it a deltic\.functor"):
        pipeline.function("size", len, arguments=["string"], returns="int64", deterministic=True)


def test_functors_of_users():
    pipeline = deltic.Pipeline(functions=[deltic.function(_twice, name="twice", deterministic=True)])
    pipeline.datalog(FUNCTOR + "r(x + 1) :- r(x), x < 9, x != @twice(1). r(@twice(50)).")
    with pipeline.transaction() as change:
        change.insert("t", [(3,), (7,)])
    assert rows_of(pipeline["r"]) == {(n,) for n in (6, 7, 8, 9, 100)}
    with pipeline.transaction() as change:
        change.delete("t", [(3,)])
    assert rows_of(pipeline["r"]) == {(100,)}


def test_functors_need_a_function_of_their_types():
    for functions, message in (
        ([], "there is no function of Python for the functor `@twice`"),
        (
            [deltic.function(lambda x: x, name="twice", arguments=["string"], returns="int64", deterministic=True)],
            "string",
        ),
        ([deltic.function(lambda: 1, name="twice", arguments=[], returns="int64", deterministic=True)], "1 parameters"),
    ):
        with pytest.raises(deltic.ProgramError, match=message):
            deltic.Pipeline(functions=functions).datalog(FUNCTOR)
