"""Numbers of 32 bits against numpy's, in a pipeline. Catches: arithmetic that is as wide as the machine's, functions
and aggregates that forget to come back to 32 bits, files and tables that hold more than these.
"""

import random

import numpy as np
import pytest

import deltic
from deltic.datalog import check, parse
from deltic.errors import DataError, ProgramError
from tests.cli.conftest import command
from tests.datalog.naive import changed, rows_of

PRAGMA = '.pragma "word-size" "32"\n'
LOW, HIGH, MOST = -(2**31), 2**31 - 1, 2**32 - 1


@deltic.function(deterministic=True)
def twice(x: int) -> int:
    return 2 * x


def _spread(values):
    return max(values) - min(values)


FUNCTIONS = [twice, deltic.aggregate(_spread, name="spread", of={"x": "int64"}, gives={"r": "int64"})]
HEAD = f"""{PRAGMA}
.functor twice(x: number): number
.decl v(k: symbol, x: number, y: number, u: unsigned, w: unsigned, f: float, g: float, s: symbol)
.input v
"""


def _i(value):
    """A whole number as one of 32 bits with a sign."""
    return int(np.array(int(value) % 2**32, np.uint32).view(np.int32))


def _u(value):
    return int(value) % 2**32


def _f(value):
    """The nearest float of 32 bits; None where Datalog has no value."""
    return None if value is None else float(np.float32(value))


def _divided(x, y, to):
    return to(abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)) if y else None


def _remainder(x, y):
    return abs(x) % abs(y) * (1 if x >= 0 else -1) if y else None


# Expressions over the columns, the type of their value, and the value by numpy; in PARTIAL None where it is undefined.
VALUES = [
    ("x + y", "number", lambda r: int(np.add(r.x, r.y))),
    ("x - y", "number", lambda r: int(np.subtract(r.x, r.y))),
    ("x * y * 3", "number", lambda r: int(np.multiply(np.multiply(r.x, r.y), np.int32(3)))),
    ("-x", "number", lambda r: int(np.negative(r.x))),
    ("x ^ 3", "number", lambda r: int(np.multiply(np.multiply(r.x, r.x), r.x))),
    ("x bshl y", "number", lambda r: int(np.left_shift(r.x, r.y & np.int32(31)))),
    ("x bshr y", "number", lambda r: int(np.right_shift(r.x, r.y & np.int32(31)))),
    ("x bshru y", "number", lambda r: _i(np.right_shift(r.x.view(np.uint32), r.y.view(np.uint32) & np.uint32(31)))),
    ("x band y bxor 5 bor 1", "number", lambda r: int(((r.x & r.y) ^ np.int32(5)) | np.int32(1))),
    ("bnot x", "number", lambda r: int(~r.x)),
    ("x land y lor 0", "number", lambda r: int(bool(r.x) and bool(r.y))),
    ("max(x, y) - min(x, y)", "number", lambda r: int(np.subtract(max(r.x, r.y), min(r.x, r.y)))),
    ("itou(x)", "unsigned", lambda r: int(r.x.view(np.uint32))),
    ("itof(x)", "float", lambda r: float(np.float32(r.x))),
    ('to_number(cat(to_string(x), ""))', "number", lambda r: int(r.x)),
    ("strlen(s) + ord(x)", "number", lambda r: _i(len(r.s) + int(r.x))),
    ("u + w", "unsigned", lambda r: int(np.add(r.u, r.w))),
    ("u - w", "unsigned", lambda r: int(np.subtract(r.u, r.w))),
    ("u * w", "unsigned", lambda r: int(np.multiply(r.u, r.w))),
    ("u bshl w bshr 1", "unsigned", lambda r: int((r.u << (r.w & np.uint32(31))) >> np.uint32(1))),
    ("bnot u", "unsigned", lambda r: int(~r.u)),
    ("utoi(u)", "number", lambda r: int(r.u.view(np.int32))),
    ("as(x, unsigned) + 1", "unsigned", lambda r: _u(int(r.x) + 1)),
    ("utof(u)", "float", lambda r: float(np.float32(r.u))),
    ("f + g + f", "float", lambda r: float(r.f + r.g + r.f)),
    ("f * g - f", "float", lambda r: float(r.f * r.g - r.f)),
    ("sin(f)", "float", lambda r: float(np.float32(np.sin(np.float64(r.f))))),
    ("to_string(f)", "symbol", lambda r: f"{float(r.f):.6f}"),
    ("@twice(x)", "number", lambda r: _i(2 * int(r.x))),
]
PARTIAL = [
    ("x / y", "number", lambda r: _divided(int(r.x), int(r.y), _i)),
    ("x % y", "number", lambda r: _remainder(int(r.x), int(r.y))),
    ("to_number(to_string(u))", "number", lambda r: int(r.u) if r.u <= HIGH else None),
    ("u / w", "unsigned", lambda r: int(r.u // r.w) if r.w else None),
    ("f / g", "float", lambda r: float(r.f / r.g) if r.g else None),
    ("ftoi(f)", "number", lambda r: int(r.f) if LOW <= int(r.f) <= HIGH else None),
    ("ftou(g)", "unsigned", lambda r: int(r.g) if 0 <= r.g <= MOST else None),
]
GROUPS = [
    ("count : { v(k, _, _, _, _, _, _, _) }", "number", len),
    ("sum x : { v(k, x, _, _, _, _, _, _) }", "number", lambda rs: _i(sum(int(r.x) for r in rs))),
    ("sum u : { v(k, _, _, u, _, _, _, _) }", "unsigned", lambda rs: _u(sum(int(r.u) for r in rs))),
    ("max x : { v(k, x, _, _, _, _, _, _) }", "number", lambda rs: max(int(r.x) for r in rs)),
    ("mean f : { v(k, _, _, _, _, f, _, _) }", "float", lambda rs: _f(sum(float(r.f) for r in rs) / len(rs))),
    ("@@spread x : { v(k, x, _, _, _, _, _, _) }", "number", lambda rs: _i(_spread([int(r.x) for r in rs]))),
]


class _Row:
    """A row of `v`, with numpy's numbers."""

    def __init__(self, k, x, y, u, w, f, g, s):
        self.k, self.s = k, s
        self.x, self.y, self.u, self.w = np.int32(x), np.int32(y), np.uint32(u), np.uint32(w)
        self.f, self.g = np.float32(f), np.float32(g)


def _random_row(rng):
    wholes = [0, 1, -1, 2, 7, LOW, HIGH, rng.randint(LOW, HIGH)]
    naturals = [0, 1, 5, MOST, 2**31, rng.randint(0, MOST)]
    floats = [0.0, 1.5, -0.1, 3e9, float(np.float32(rng.uniform(-1e10, 1e10)))]
    pairs = (rng.choice(wholes), rng.choice(wholes), rng.choice(naturals), rng.choice(naturals))
    return (rng.choice("ab"), *pairs, *(_f(rng.choice(floats)) for _ in "fg"), rng.choice(["", "abc"]))


def _program():
    row, attributes = "k, x, y, u, w, f, g, s", "k: symbol, x: number, y: number, u: unsigned, w: unsigned, f: float, "
    attributes += "g: float, s: symbol"
    values = ", ".join(value for value, _, _ in VALUES)
    types = ", ".join(f"v{number}: {type_}" for number, (_, type_, _) in enumerate(VALUES))
    text = f"{HEAD}.decl r({attributes}, {types})\nr({row}, {values}) :- v({row}).\n"
    for number, (value, type_, _) in enumerate(PARTIAL):
        text += f".decl p{number}({attributes}, value: {type_})\np{number}({row}, {value}) :- v({row}).\n"
    for number, (value, type_, _) in enumerate(GROUPS):
        text += f".decl a{number}(k: symbol, n: {type_})\na{number}(k, n) :- v(k, _, _, _, _, _, _, _), n = {value}.\n"
    return text


@np.errstate(all="ignore")
def _expected(rows):
    wanted = {"r": {(*row, *(by_numpy(_Row(*row)) for _, _, by_numpy in VALUES)) for row in rows}}
    for number, (_, _, by_numpy) in enumerate(PARTIAL):
        values = ((row, by_numpy(_Row(*row))) for row in rows)
        wanted[f"p{number}"] = {(*row, value) for row, value in values if value is not None}
    groups = {k: [_Row(*row) for row in rows if row[0] == k] for k in {row[0] for row in rows}}
    for number, (_, _, by_numpy) in enumerate(GROUPS):
        wanted[f"a{number}"] = {(k, by_numpy(found)) for k, found in groups.items()}
    return wanted


def test_numbers_wrap_around_at_32_bits_as_those_of_numpy():
    rng = random.Random(32)
    pipeline = deltic.Pipeline(functions=FUNCTIONS)
    pipeline.datalog(_program())
    rows = set()
    for _ in range(2):
        gone = {row for row in sorted(rows) if rng.random() < 0.5}
        come = {_random_row(rng) for _ in range(60)} - rows
        changed(pipeline, "v", sorted(come), sorted(gone))
        rows = rows - gone | come
        for name, wanted in _expected(rows).items():
            assert rows_of(pipeline[name]) == wanted, name


RULES = """
.type Box = [n: number, u: unsigned, f: float]
.decl t(n: number, b: Box)
.input t
.decl box(b: Box)
box([n + 1, u, f + 0.1]) :- t(n, [_, u, f]).
.decl field(n: number, f: float)
field(n, f) :- box([n, _, f]).
.decl step(n: number)
step(x) :- t(n, _), x = range(n - 3, n).
step(n * 2) :- step(n), n < 1000000000.
"""


def test_structures_ranges_and_recursions_have_32_bits():
    pipeline = deltic.Pipeline()
    pipeline.datalog(PRAGMA + RULES)
    changed(pipeline, "t", [(2147483646, "[1, 4294967295, 0.1]"), (5, "[1, 2, 0.5]")])
    assert rows_of(pipeline["box"]) == {("[2147483647, 4294967295, 0.2]",), ("[6, 2, 0.6]",)}
    assert rows_of(pipeline["field"]) == {(2147483647, _f(0.2)), (6, _f(0.6))}
    steps = {n << i for n in (2, 3, 4) for i in range(30) if n << i < 2 * 10**9}
    assert rows_of(pipeline["step"]) == {(n,) for n in (*steps, HIGH - 4, HIGH - 3, HIGH - 2)}
    with pytest.raises(deltic.EvaluationError, match="value of the type Box"):
        changed(pipeline, "t", [(1, "[2147483648, 0, 0]")])


def test_tables_and_files_have_32_bits(tmp_path):
    pipeline = deltic.Pipeline(pragmas={"word-size": "32"})
    pipeline.datalog(".decl t(x: number, u: unsigned, f: float)\n.input t\n.decl r(x: number)\nr(x) :- t(x, _, _).")
    assert [str(type_) for type_ in pipeline.tables["t"].types.values()] == ["int32", "uint32", "float32"]
    assert pipeline.sql("SELECT x + 1 AS y FROM r").to_arrow().schema.field("y").type == "int32"
    with pytest.raises(DataError, match="2147483648"):
        changed(pipeline, "t", [(2**31, 0, 0.0)])
    changed(pipeline, "t", [(HIGH, MOST, 0.1)])
    assert rows_of(pipeline["t"]) == {(HIGH, MOST, _f(0.1))}
    (tmp_path / "p.dl").write_text(
        ".decl t(x: number, f: float)\n.input t\n.decl r(x: number, f: float)\nr(x + 1, f) :- t(x, f)."
    )
    (tmp_path / "t.facts").write_text("2147483647\t0.1\n0x7FFFFFFF\t1\n")
    run = [
        "run",
        str(tmp_path / "p.dl"),
        "--facts",
        str(tmp_path),
        "--out",
        str(tmp_path),
        "--quiet",
        "--pragma",
        "word-size=32",
    ]
    assert command(*run).status == 0
    assert sorted((tmp_path / "r.csv").read_text().splitlines()) == ["-2147483648\t0.100000001", "-2147483648\t1"]
    (tmp_path / "t.facts").write_text("2147483648\t1\n")
    assert "t.facts:1:1" in command(*run).err


def test_what_does_not_fit_into_32_bits_is_refused():
    with pytest.raises(ProgramError, match=r"`2147483648` is not a number\n(?s:.*)between -2147483648 and 2147483647"):
        check([parse(PRAGMA + ".decl r(x: number)\nr(2147483648).")])
    with pytest.raises(ProgramError, match="too large for a float"):
        check([parse(PRAGMA + ".decl r(x: float)\nr(1.0e39).")])
    pipeline = deltic.Pipeline()
    pipeline.table("wide", {"x": "int64"})
    pipeline.table("narrow", {"x": "int16"})
    with pytest.raises(ProgramError, match="`wide` has numbers of 64 bits in `x`"):
        pipeline.datalog(PRAGMA + ".decl r(x: number)\nr(x) :- wide(x).")
    pipeline.datalog(PRAGMA + ".decl r(x: number)\nr(x * x) :- narrow(x).")
    changed(pipeline, "narrow", [(-(2**15),)])
    assert rows_of(pipeline["r"]) == {(2**30,)}
    with pytest.raises(ProgramError, match=r'the pragma "word-size" is "32" for all programs, as <datalog>:1:9 says'):
        pipeline.datalog('.pragma "word-size" "64"')


def test_a_state_keeps_its_word_size(tmp_path):
    with deltic.Pipeline(state=tmp_path, pragmas={"word-size": "32"}) as pipeline:
        pipeline.datalog(".decl t(x: number)\n.input t\n.decl r(x: number)\nr(x + 1) :- t(x).", "a.dl")
        changed(pipeline, "t", [(HIGH,)])
    for pragmas in ({}, {"word-size": "32"}):
        with deltic.Pipeline(state=tmp_path, pragmas=pragmas) as pipeline:
            assert rows_of(pipeline["r"]) >= {(LOW,)}
