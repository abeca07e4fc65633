"""Groups of which the engine keeps aggregates, and those that are computed whole: their values, and what is told."""

from __future__ import annotations

import pytest
from extensions.ddlog.tests.test_sessions import printed

import deltic
from deltic.errors import ProgramError
from deltic_ddlog.check import check

PRICES = """
import group
function whole(g: Group<string, u64>): usize { var n = 0; for ((_, w) in g) { n = n + 1 }; n }
input relation Price(item: string, vendor: string, price: u64)
"""
REDUCED = """
output relation Numbers(item: string, least: u64, most: u64, n: usize, sum: u64, up: usize, some: bool, all: bool)
Numbers(g.key(), g.min(), g.max(), g.count_distinct(), g.sum_of(|x| x * 2), g.count(|x| x > 110), g.any(|x| x > 140),
        g.all(|x| x < 130)) :-
    Price(.item = item, .price = price), var g: Group<string, u64> = price.group_by(item).
output relation Best(item: string, vendor: string, price: u64)
Best(item, vendor, price) :-
    Price(item, v, p), (var vendor, var price) = (v, p).group_by(item).arg_min(|offer| offer.1).
output relation Worst(item: string, worst: (string, u64), first: (string, u64), narrow: signed<8>)
Worst(item, g.arg_max(|o| o.1), g.first(), g.sum_of(|o| (o.1 as u8) as s8)) :-
    Price(item, vendor, price), var g = (vendor, price).group_by(item).
output relation All(n: usize, most: u64)
All(g.count_distinct(), g.max()) :- Price(_, _, price), var g = price.group_by(()).
"""
WHOLE = """
output relation Counted(item: string, n: usize)
Counted(item, n) :- Price(item, _, price), var n = price.group_by(item).whole().
"""
OFFERS = """start;
insert Price("A", "x", 120), insert Price("A", "y", 110), insert Price("A", "z", 100),
insert Price("B", "x", 123), insert Price("B", "y", 150), insert Price("B", "z", 111);
commit dump_changes;
"""
CHANGES = """
start; delete Price("A", "z", 100), delete Price("B", "z", 111), insert Price("B", "y", 123); commit; dump;
"""


def test_reductions_have_the_values_of_the_functions() -> None:
    program = PRICES + REDUCED
    assert printed(program, OFFERS) == [
        "All:",
        "All{.n = 6, .most = 150}: +1",
        "Best:",
        'Best{.item = "A", .vendor = "z", .price = 100}: +1',
        'Best{.item = "B", .vendor = "z", .price = 111}: +1',
        "Numbers:",
        'Numbers{.item = "A", .least = 100, .most = 120, .n = 3, .sum = 660, .up = 1, .some = false, .all = true}: +1',
        'Numbers{.item = "B", .least = 111, .most = 150, .n = 3, .sum = 768, .up = 3, .some = true, .all = false}: +1',
        "Worst:",
        'Worst{.item = "A", .worst = ("x", 120), .first = ("x", 120), .narrow = 74}: +1',
        'Worst{.item = "B", .worst = ("y", 150), .first = ("x", 123), .narrow = -128}: +1',
    ]
    assert printed(program, OFFERS.replace("commit dump_changes", "commit") + CHANGES) == [
        "All:",
        "All{.n = 5, .most = 150}",
        "",
        "Best:",
        'Best{.item = "A", .vendor = "y", .price = 110}',
        'Best{.item = "B", .vendor = "x", .price = 123}',
        "",
        "Numbers:",
        'Numbers{.item = "A", .least = 110, .most = 120, .n = 2, .sum = 460, .up = 1, .some = false, .all = true}',
        'Numbers{.item = "B", .least = 123, .most = 150, .n = 3, .sum = 792, .up = 3, .some = true, .all = false}',
        "",
        "Worst:",
        'Worst{.item = "A", .worst = ("x", 120), .first = ("x", 120), .narrow = -26}',
        'Worst{.item = "B", .worst = ("y", 150), .first = ("x", 123), .narrow = -116}',
        "",
    ]


def test_explain_tells_which_groups_are_whole() -> None:
    pipeline = deltic.Pipeline()
    pipeline.ddlog(PRICES + REDUCED + WHOLE)
    numbers, best, counted = (pipeline.explain(name) for name in ("Numbers", "Best", "Counted"))
    assert "collect_list" not in numbers
    assert "min of" in numbers
    assert "sum of" in numbers
    assert "LIMIT 1" in best
    assert "collect_list of" in counted


def test_groups_are_made_by_variables() -> None:
    with pytest.raises(ProgramError, match="groups are made by variables, and tuples of variables"):
        check(PRICES + "relation R(n: u64)\nR(n) :- Price(_, _, p), var n = p.group_by(p % 2).min().")


def test_groups_are_flattened_with_their_weights() -> None:
    program = """
    input relation Price(item: string, vendor: string, price: u64)
    output relation Each(item: string, price: u64, times: s64)
    Each(item, price, times) :- Price(item, _, p), var g = p.group_by(item), (var price, var times) = FlatMap(g).
    """
    commands = (
        'start; insert Price("a", "x", 5), insert Price("a", "y", 5), insert Price("a", "z", 7); commit; dump Each;'
    )
    assert printed(program, commands) == [
        'Each{.item = "a", .price = 5, .times = 1}',
        'Each{.item = "a", .price = 7, .times = 1}',
    ]


ROWS = """
import group
input relation D(x: u32, s: string)
"""
FILLED = 'start; insert D(1, "p"), insert D(1, "q"), insert D(2, "rs"), insert D(2, "a"); commit dump_changes;'


@pytest.mark.parametrize(
    ("rule", "first", "then"),
    [
        # What `_` stands for tells rows apart, too.
        (
            "u32, usize | (x, n) :- D(x, _), var n = ().group_by(x).count_distinct().",
            ["1, 2", "2, 2"],
            ["1, 1", "2, 2"],
        ),
        ("u32, u32 | (x, n) :- D(x, s), var n = x.group_by(x).sum_of(|y| y).", ["1, 2", "2, 4"], ["1, 1", "2, 4"]),
        (
            "u32, Vec<u32> | (x, v) :- D(x, _), var v = x.group_by(x).map(|y| y + 1).",
            ["1, [2, 2]", "2, [3, 3]"],
            ["1, [2]", "2, [3, 3]"],
        ),
        (
            "string, usize | (s, n) :- D(x, s), var g = x.group_by(s), var n = g.to_vec().len().",
            ['"a", 1', '"p", 1', '"q", 1', '"rs", 1'],
            ['"a", 1', '"p", 1', '"rs", 1'],
        ),
        ("u32, u32 | (x, n) :- D(x, s), var n = x.group_by(x).group_sum().", ["1, 2", "2, 4"], ["1, 1", "2, 4"]),
        (
            "u32, bigint | (x, n) :- D(x, s), var n = (x as bigint).group_by(x).group_sum().",
            ["1, 2", "2, 4"],
            ["1, 1", "2, 4"],
        ),
        # Values are in the order of their rows.
        (
            "(), Vec<usize> | ((), v) :- D(_, s), var v = s.len().group_by(()).to_vec().",
            ["(), [1, 1, 1, 2]"],
            ["(), [1, 1, 2]"],
        ),
        ("string, string | (g.first(), g.min()) :- D(_, s), var g = s.group_by(()).", ['"p", "a"'], ['"p", "a"']),
        (
            "u32, string | (x, s) :- D(x, t), var s = t.group_by(x).arg_max(|_| 1).",
            ['1, "p"', '2, "a"'],
            ['1, "p"', '2, "a"'],
        ),
        # Behind a join rows are what variables have.
        (
            "u32, usize | (x, n) :- D(x, _), D(x, _), var n = x.group_by(x).count_distinct().",
            ["1, 1", "2, 1"],
            ["1, 1", "2, 1"],
        ),
        (
            "u32, Vec<s64> | (x, v) :- D(x, _), D(x, _), var g = x.group_by(x), var v = weights(g).",
            ["1, [4]", "2, [4]"],
            ["1, [1]", "2, [4]"],
        ),
    ],
)
def test_groups_have_a_value_for_each_row(rule: str, first: list[str], then: list[str]) -> None:
    types, _, derived = rule.partition(" | ")
    weights = "function weights(g: Group<u32, u32>): Vec<s64> { var v = []; for ((_, w) in g) { v.push(w) }; v }"
    left, _, right = types.partition(", ")
    program = f"{ROWS}{weights}\noutput relation R(a: {left}, b: {right})\nR{derived}"
    commands = f'{FILLED} start; delete D(1, "q"); commit; echo then; dump R;'
    lines = [line.replace("R{.a = ", "").replace(".b = ", "").partition("}")[0] for line in printed(program, commands)]
    assert lines == ["R:", *first, "then", *then]


def test_groups_that_are_flattened_give_equal_values_as_often_as_rows_do() -> None:
    program = f"{ROWS}output multiset R(x: u32, times: s64)\nR(x, w) :- D(x, _), (_, var w) = FlatMap(x.group_by(x))."
    assert printed(program, FILLED) == ["R:", "R{.x = 1, .times = 1}: +2", "R{.x = 2, .times = 1}: +2"]


@pytest.mark.parametrize("count", ["count_distinct()", "whole()"], ids=["reduced", "whole"])
def test_a_group_behind_a_group_that_is_still_there(count: str) -> None:
    """The first group reads the column of its key, which is a variable of the rows of the second, too."""
    whole = "function whole(g: Group<u32, u32>): usize { var n = 0; for ((_, w) in g) { n = n + 1 }; n }"
    rule = f"R(y, n) :- D(x, _), var g = x.group_by(x), var y = FlatMap(g.to_vec()), var n = y.group_by(y).{count}."
    program = f"{ROWS}{whole}\noutput relation R(y: u32, n: usize)\n{rule}"
    commands = f'{FILLED} start; delete D(1, "p"), delete D(1, "q"); commit; echo then; dump R;'
    first, then = ["R:", "R{.y = 1, .n = 1}: +1", "R{.y = 2, .n = 1}: +1"], ["R{.y = 2, .n = 1}"]
    assert printed(program, commands) == [*first, "then", *then]
