"""Sums of a thousand terms and rules of a thousand atoms. Catches: limits of depth, times that grow with the square.

A rule of many atoms is evaluated in groups, which must be told apart by what the rest of the rule needs of them.
"""

from functools import reduce

import pytest

import deltic
from deltic.datalog import parse
from tests.datalog.naive import changed, rows_of
from tests.datalog.printer import print_item

MANY = 1000


def value_of(type_, expression, given):
    """The value of an expression of x; it is computed again when another x has come."""
    pipeline = deltic.Pipeline()
    pipeline.datalog(f".decl t(x: {type_})\n.input t\n.decl p(x: {type_}, y: {type_})\np(x, {expression}) :- t(x).")
    for x in given:
        changed(pipeline, "t", [(x,)])
    return dict(rows_of(pipeline["p"]))


def wrapped(number):
    return (number + 2**63) % 2**64 - 2**63


def test_sums_of_whole_numbers():
    text = "x" + "".join(f" {'-' if i % 3 else '+'} {'x' if i % 2 else i}" for i in range(1, MANY))
    assert value_of("number", text, [1, -5, 2**61]) == {x: wrapped(eval(text)) for x in (1, -5, 2**61)}
    text = " - ".join(["x"] * MANY)
    assert value_of("unsigned", text, [3]) == {3: 2**64 - 998 * 3}


def test_sums_of_floats_are_rounded_from_left_to_right():
    text = "x" + "".join(f" {'-' if i % 3 else '+'} {'x' if i % 2 else repr(i / 7)}" for i in range(1, MANY))
    assert value_of("float", text, [0.1, 1e16 / 3]) == {x: eval(text) for x in (0.1, 1e16 / 3)}
    assert value_of("float", " * ".join(["x"] * 200), [1.001]) == {1.001: reduce(float.__mul__, [1.001] * 200)}


@pytest.mark.parametrize("expression", ["+".join(["x"] * MANY), f"cat({', '.join(['x'] * MANY)})"], ids=["+", "cat"])
def test_long_texts(expression):
    assert value_of("symbol", expression, ["a", "é"]) == {"a": "a" * MANY, "é": "é" * MANY}


def test_chains_of_other_operators():
    ones = {name: f" {name} ".join(["x"] * 150) for name in ("*", "band", "bor", "bxor", "land", "lor", "lxor")}
    pipeline = deltic.Pipeline()
    pipeline.datalog(
        f".decl t(x: number)\n.input t\n.decl p({', '.join(f'a{i}: number' for i in range(7))})\n"
        f"p({', '.join(ones.values())}) :- t(x)."
    )
    changed(pipeline, "t", [(3,)])
    assert rows_of(pipeline["p"]) == {(wrapped(3**150), 3, 3, 0, 1, 1, 0)}


def test_long_chains_are_printed_as_they_are_read():
    program = parse(f".decl p(x: number)\np(x) :- p({'+'.join(['x'] * 40)}), {' - '.join(['x'] * 40)} < 3.")
    assert parse("\n".join(map(print_item, program.items))) == program


EDGES = ({(1, 1), (1, 2), (2, 3), (3, 1)}, {(2, 2), (4, 4)}, {(1, 1)})
"""Rows that come first, that come next, and that go."""


def epochs_of(text, tables):
    """The rows of p after each epoch of `EDGES` in the tables."""
    pipeline = deltic.Pipeline()
    pipeline.datalog(text)
    first, more, gone = EDGES
    for come, away in ((first, set()), (more, set()), (set(), gone)):
        with pipeline.transaction() as change:
            for table in tables:
                change.delete(table, sorted(away))
                change.insert(table, sorted(come))
        yield rows_of(pipeline["p"])


def edges_of_epochs():
    first, more, gone = EDGES
    return first, first | more, (first | more) - gone


def paths(edges, length):
    found = set(edges)
    for _ in range(length - 1):
        found = {(x, z) for x, y in found for w, z in edges if w == y}
    return found


DECLARED = ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\n"


def along(first, last):
    return ", ".join(f"e(x{i}, x{i + 1})" for i in range(first, last))


@pytest.mark.parametrize("length", [17, 100, MANY])
def test_a_path(length):
    text = f"{DECLARED}p(x0, x{length}) :- {along(0, length)}."
    assert [*epochs_of(text, ["e"])] == [paths(e, length) for e in edges_of_epochs()]


def test_conditions_and_absences():
    text = f"{DECLARED}p(x0, z) :- {along(0, 60)}, x0 < x60, !e(x30, x30), z = x0 + x45."
    assert [*epochs_of(text, ["e"])] == [
        {
            (a, a + c)
            for a, b in paths(e, 30)
            if (b, b) not in e
            for b1, c in paths(e, 15)
            if b1 == b
            for c1, d in paths(e, 15)
            if c1 == c and a < d
        }
        for e in edges_of_epochs()
    ]


def test_a_recursion():
    text = f"{DECLARED}p(x, y) :- e(x, y), x < 3.\np(x0, x40) :- p(x0, x1), {along(1, 39)}, p(x39, x40)."

    def expected(edges):
        found, middle = {(x, y) for x, y in edges if x < 3}, paths(edges, 38)
        while True:
            longer = found | {(a, d) for a, b in found for b1, c in middle if b1 == b for c1, d in found if c1 == c}
            if longer == found:
                return found
            found = longer

    assert [*epochs_of(text, ["e"])] == [expected(e) for e in edges_of_epochs()]


def test_atoms_that_share_nothing_are_tests():
    text = f"{DECLARED}p(x, y) :- e(x, y), {', '.join(f'e(a{i}, a{i})' for i in range(MANY))}."
    assert [*epochs_of(text, ["e"])] == [e if any(x == y for x, y in e) else set() for e in edges_of_epochs()]


def test_many_relations():
    names = [f"r{i}" for i in range(200)]
    text = DECLARED + "".join(f".decl {name}(x: number, y: number)\n.input {name}\n" for name in names)
    text += f"p(x, y) :- {', '.join(f'{name}(x, y)' for name in names)}."
    assert [*epochs_of(text, names)] == [*edges_of_epochs()]


def test_behind_not_and_in_aggregates():
    text = f"{DECLARED}p(x, n) :- e(x, _), !({along(0, 20)}, x0 = x, x20 > 2), n = count : {{ {along(0, 18)} }}."

    def expected(edges):
        walks = dict.fromkeys(sorted({x for pair in edges for x in pair}), 1)
        for _ in range(18):
            walks = {x: sum(walks[y] for w, y in edges if w == x) for x in walks}
        return {(x, sum(walks.values())) for x, _ in edges if not any(a == x and b > 2 for a, b in paths(edges, 20))}

    assert [*epochs_of(text, ["e"])] == [expected(e) for e in edges_of_epochs()]
