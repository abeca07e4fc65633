"""Data of awkward shapes: what packing rows into words, merging runs and looping over iterations could get wrong.

Rows wider than one word, values at the ends of every type, ranges that grow from epoch to epoch so that columns are
packed anew, text of every kind, enough rows for several runs and merges, outputs larger than a kernel's buffer, and
long thin recursions that are cut and mended.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from deltic.algebra.zset import ZSet
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import from_arrow, to_arrow
from tests.differential.circuits import sources_of
from tests.differential.compare import Contents, first_disagreement
from tests.differential.random_programs import WIDE

TEXTS = (
    "",
    " ",
    "a",
    "A",
    "aa",
    "ä",
    "é",
    "\u0065\u0301",
    "✓",
    "𝄞",
    "\t",
    'a"b',
    "\\",
    "x" * 500,
    "0",
    "-1",
    "nan",
    "a\u0000b",
)
NUMBERS = (0, 1, -1, 2**31 - 1, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1)
UNSIGNED = (0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1)
FLOATS = (0.0, 1.0, -1.0, 0.1, -0.1, 5e-324, -5e-324, 1.7e308, -1.7e308, 2.0**53, float("inf"), float("-inf"))
VALUES = {"symbol": TEXTS, "number": NUMBERS, "unsigned": UNSIGNED, "float": FLOATS}


def check_run(program: str, run: Sequence[Contents]) -> None:
    found = first_disagreement(lower(check([parse(program)])), run)
    assert found is None, f"{program}\n{run}\n{found}"


def rows_of(rng: random.Random, types: Sequence[str], count: int, values=VALUES) -> frozenset:
    return frozenset(tuple(rng.choice(values[t]) for t in types) for _ in range(count))


def edited(rng: random.Random, rows: frozenset, types: Sequence[str], values=VALUES) -> frozenset:
    """About two thirds of the rows, and a third as many new ones."""
    kept = frozenset(row for row in sorted(rows) if rng.random() < 0.67)
    return kept | rows_of(rng, types, max(1, len(rows) // 3), values)


def states(
    rng: random.Random, types: dict[str, Sequence[str]], count: int, epochs: int, values=VALUES
) -> list[Contents]:
    """Tables that start with `count` rows each and are edited in every epoch; the last one empties them."""
    run = [{name: rows_of(rng, t, count, values) for name, t in types.items()}]
    for _ in range(epochs - 2):
        run.append({name: edited(rng, rows, types[name], values) for name, rows in run[-1].items()})
    return [*run, {name: frozenset() for name in types}]


@pytest.mark.parametrize("arity", range(4, 9))
@pytest.mark.parametrize("type_", ["symbol", "number", "mixed"])
def test_rows_wider_than_a_word(arity, type_):
    rng = random.Random(f"{arity}{type_}")
    types = [rng.choice(sorted(VALUES)) if type_ == "mixed" else type_ for _ in range(arity)]
    columns = ", ".join(f"c{i}: {t}" for i, t in enumerate(types))
    xs, ys = [f"x{i}" for i in range(arity)], [f"y{i}" for i in range(arity)]
    shared = [ys[0], xs[-1], *ys[2:-1], ys[1]] if types[1] == types[-1] else ys
    program = f"""
        .decl r({columns})
        .input r
        .decl s({columns})
        .input s
        .decl joined({columns})
        joined({", ".join(xs)}) :- r({", ".join(xs)}), s({", ".join([xs[0], *ys[1:-1], xs[-1]])}).
        .decl only({columns})
        only({", ".join(xs)}) :- r({", ".join(xs)}), !s({", ".join(xs)}).
        .decl lonely({columns})
        lonely({", ".join(xs)}) :- r({", ".join(xs)}), !s({", ".join([xs[0], *["_"] * (arity - 2), xs[-1]])}).
        .decl reached({columns})
        reached({", ".join(xs)}) :- s({", ".join(xs)}), r({", ".join([xs[0], *["_"] * (arity - 1)])}).
        reached({", ".join(shared)}) :- reached({", ".join(xs)}), r({", ".join([xs[0], *ys[1:]])}), {ys[0]} = {xs[0]}.
    """
    check_run(program, states(rng, {"r": types, "s": types}, 40, 5))


@pytest.mark.parametrize("type_", sorted(VALUES))
def test_values_at_the_ends_of_a_type(type_):
    program = f"""
        .decl r(x: {type_}, y: {type_})
        .input r
        .decl less(x: {type_}, y: {type_})
        less(x, y) :- r(x, _), r(_, y), x < y.
        .decl least(x: {type_}, y: {type_})
        least(min(x, y), max(x, y)) :- r(x, y).
        .decl path(x: {type_}, y: {type_})
        path(x, y) :- r(x, y).
        path(x, z) :- path(x, y), r(y, z), x != z.
        .decl top(x: {type_})
        top(x) :- r(x, _), !less(x, _).
    """
    rng = random.Random(type_)
    check_run(program, states(rng, {"r": [type_, type_]}, 15, 6))


ARITHMETIC = {
    "number": "x + y, x - y, x * y, x / y, x % y, x band y, x bxor y",
    "unsigned": "x + y, x - y, x * y, x / y, x % y, x bor y, x bshr y",
    "float": "x + y, x - y, x * y",
}


@pytest.mark.parametrize("type_", sorted(ARITHMETIC))
def test_arithmetic_that_wraps_around_and_overflows(type_):
    operations = ARITHMETIC[type_].split(", ")
    rules = "".join(
        f".decl o{i}(x: {type_}, y: {type_}, z: {type_})\no{i}(x, y, {o}) :- r(x, y).\n"
        for i, o in enumerate(operations)
    )
    program = f".decl r(x: {type_}, y: {type_})\n.input r\n{rules}"
    finite = {**VALUES, "float": tuple(v for v in FLOATS if abs(v) < 1e308)}
    check_run(program, states(random.Random(type_), {"r": [type_, type_]}, 20, 5, finite))


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("step", [3, 8, 13])
def test_ranges_that_grow_from_epoch_to_epoch(step, direction):
    """Columns need more bits, and a lower base, in the middle of a recursion's life."""
    program = """
        .decl e(x: number, y: number, s: symbol)
        .input e
        .decl p(x: number, y: number)
        p(x, y) :- e(x, y, _).
        p(x, z) :- p(x, y), e(y, z, _).
        .decl q(x: number, y: number, s: symbol)
        q(y, y - x, cat(s, to_string(x))) :- e(x, y, s), y != 3.
        .decl none(x: number)
        none(x) :- e(x, _, _), !p(_, x).
    """
    rng = random.Random(f"{step}{direction}")
    run: list[Contents] = []
    old: frozenset = frozenset()
    for epoch in range(0, 64, step):
        bound = min(2**epoch, 2**63 - 1)
        points = [direction * bound, direction * (bound // 2), 0, 1, direction * (bound - 1)]
        new = {(rng.choice(points), rng.choice(points), f"{epoch}-{i % 3}") for i in range(6)}
        kept = {row for row in sorted(old) if rng.random() < 0.8}
        old = frozenset(kept | new)
        run.append({"e": old})
    check_run(program, [*run, {"e": frozenset()}, run[0]])


def test_the_number_of_texts_grows_past_powers_of_two():
    """All text shares one domain: its ids outgrow their bits in every arrangement at once."""
    program = """
        .decl r(x: symbol, y: symbol, n: number)
        .input r
        .decl twice(x: symbol, y: symbol)
        twice(cat(x, x), y) :- r(x, y, _).
        .decl linked(x: symbol, y: symbol, z: symbol)
        linked(x, y, z) :- r(x, y, _), r(y, z, _), !r(z, x, _).
    """
    rng = random.Random(5)
    run: list[Contents] = [{"r": frozenset()}]
    for epoch in range(9):
        names = [f"s{i}" for i in range(2**epoch)]
        new = {(rng.choice(names), rng.choice(names), rng.randrange(3)) for _ in range(2 ** (epoch // 2) + 3)}
        run.append({"r": frozenset(sorted(run[-1]["r"])[::2]) | new})
    check_run(program, run)


def test_thousands_of_rows_in_many_runs():
    """Enough epochs and rows that runs are merged at several levels, and deleted rows are met in old runs."""
    program = """
        .decl order(id: number, customer: number)
        .input order
        .decl vip(customer: number)
        .input vip
        .decl of_vip(id: number, customer: number)
        of_vip(o, c) :- order(o, c), vip(c).
        .decl other(customer: number)
        other(c) :- order(_, c), !vip(c).
        .decl next(id: number, following: number)
        next(o, o + 1) :- of_vip(o, _), of_vip(o + 1, _).
    """
    rng = random.Random(11)
    orders: set = set()
    vips: set = set()
    run = []
    for epoch in range(40):
        size = rng.choice((1, 5, 50, 400))
        orders -= {row for row in sorted(orders) if rng.random() < 0.05}
        orders |= {(rng.randrange(5000), rng.randrange(300)) for _ in range(size)}
        vips ^= {(rng.randrange(300),) for _ in range(rng.randint(0, 20))}
        run.append({"order": frozenset(orders), "vip": frozenset(vips)})
        if epoch == 25:
            run.append({"order": frozenset(), "vip": frozenset(vips)})
    check_run(program, run)


@pytest.mark.parametrize("condition", ["", ", x != y", ", x * 0 = 0"])
def test_outputs_larger_than_a_buffer(condition):
    """The kernel stops when its buffer is full and goes on; the change of one row may derive thousands."""
    program = f"""
        .decl a(x: number)
        .input a
        .decl b(y: number)
        .input b
        .decl product(x: number, y: number)
        product(x, y) :- a(x), b(y){condition}.
        .decl doubled(x: number)
        doubled(x + y) :- product(x, y).
    """
    numbers = [(i,) for i in range(150)]
    run = [
        {"a": frozenset(numbers[:3]), "b": frozenset(numbers)},
        {"a": frozenset(numbers), "b": frozenset(numbers)},
        {"a": frozenset(numbers[::2]), "b": frozenset(numbers[5:])},
        {"a": frozenset(numbers), "b": frozenset(numbers[:1])},
    ]
    check_run(program, run)


def test_triangles_in_a_skewed_graph():
    """Cyclic joins with heavy vertices: ranges of very different length meet."""
    program = """
        .decl e(x: number, y: number)
        .input e
        .decl triangle(x: number, y: number, z: number)
        triangle(x, y, z) :- e(x, y), e(y, z), e(z, x).
        .decl square(x: number, y: number)
        square(x, z) :- e(x, y), e(y, z), e(z, w), e(w, x), x < z, !e(x, z).
    """
    rng = random.Random(3)

    def vertex() -> int:
        return int(40 * rng.random() ** 3)

    edges = {(vertex(), vertex()) for _ in range(220)}
    run = [{"e": frozenset(edges)}]
    for _ in range(6):
        edges = {e for e in sorted(edges) if rng.random() < 0.9} | {(vertex(), vertex()) for _ in range(15)}
        run.append({"e": frozenset(edges)})
    check_run(program, run)


REACH = """
    .decl edge(x: number, y: number)
    .input edge
    .decl start(x: number)
    .input start
    .decl reach(x: number)
    reach(x) :- start(x).
    reach(y) :- reach(x), edge(x, y).
    .decl lost(x: number)
    lost(x) :- edge(x, _), !reach(x).
"""


def chain(length: int, *cuts: int) -> frozenset:
    return frozenset((i, i + 1) for i in range(length) if i not in cuts)


def test_a_long_thin_recursion_cut_and_mended():
    start = frozenset({(0,)})
    edges = [
        chain(300),
        chain(300, 150),
        chain(300),
        chain(300, 10, 290),
        chain(300) | {(0, 299)},
        chain(300, 150) | {(149, 151)},
        chain(300) | {(300, 0)},
        chain(300, 0) | {(300, 0)},
        chain(300, 0, 299) | {(300, 0)},
    ]
    check_run(REACH, [{"start": start, "edge": e} for e in edges])


def test_a_closure_of_a_long_chain_cut_and_mended():
    """45,150 pairs over 300 iterations, against what a chain's closure is."""
    program = REACH + ".decl p(x: number, y: number)\np(x, y) :- edge(x, y).\np(x, z) :- p(x, y), edge(y, z)."
    circuit = lower(check([parse(program)]))
    engine = IncrementalEngine(circuit)
    schema = sources_of(circuit)["edge"].schema
    old: frozenset = frozenset()
    pairs: ZSet = ZSet()
    for cuts in ((), (150,), (), (20, 280), (150,), ()):
        new = chain(300, *cuts)
        change = engine.apply({"edge": to_arrow(ZSet.of(new) - ZSet.of(old), schema)}).changes
        pairs += from_arrow(change["p"])
        old = new
        bounds = [0, *(c + 1 for c in sorted(cuts)), 301]
        expected = {(x, y) for lo, hi in pairwise(bounds) for x in range(lo, hi) for y in range(x + 1, hi)}
        assert pairs == ZSet.of(expected)
        assert engine.count("p") == len(expected)


def test_counting_up_to_a_limit_that_moves():
    program = """
        .decl limit(n: number)
        .input limit
        .decl n(x: number, y: number)
        n(0, 7).
        n(x + 1, (y * 13 + 5) % 101) :- n(x, y), limit(l), x < l.
    """
    check_run(
        program, [{"limit": frozenset(limits)} for limits in ([(120,)], [(80,)], [(80,), (140,)], [(140,)], [(60,)])]
    )


def test_many_tables_and_views_of_text():
    """Every relation shares the texts' domain; half of the epochs change one table only."""
    tables = "".join(f".decl t{i}(x: symbol, y: symbol)\n.input t{i}\n" for i in range(6))
    views = "".join(
        f".decl v{i}(x: symbol, y: symbol)\nv{i}(x, z) :- t{i}(x, y), t{(i + 1) % 6}(y, z).\nv{i}(x, y) :- t{i}(x, y), "
        f"!t{(i + 2) % 6}(x, _).\n"
        for i in range(6)
    )
    rng = random.Random(8)
    current = {f"t{i}": rows_of(rng, ["symbol", "symbol"], 20, WIDE) for i in range(6)}
    run = [dict(current)]
    for _ in range(8):
        name = f"t{rng.randrange(6)}"
        current[name] = edited(rng, current[name], ["symbol", "symbol"], WIDE)
        run.append(dict(current))
    check_run(tables + views, run)
