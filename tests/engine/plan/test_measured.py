"""What planning is told of relations equals what their rows are, or comes close where a sample tells.

What these tests catch: a sample that leaves out hubs or counts them twice, whose draws are not independent of one
another from table to table, or that is lost between tables that share nothing; columns of far, negative and no values.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sqlglot

from deltic.calculus.planning import RewriteCosts
from deltic.calculus.planning.statistics import NodeSize, Sizes, place_name, selectivity
from deltic.calculus.planning.work import Work
from deltic.circuit.expressions import column
from deltic.circuit.graph import CircuitBuilder
from deltic.engine.plan.measured import Frequencies, Measured

COLUMNS = {
    "close": [3, 1, 2, 3, 3, 1],
    "far": [1 << 40, -5, 1 << 40, 7],
    "farthest": [-(1 << 63), (1 << 63) - 1, 0, 0],
    "empty": [],
}


class Given:
    """Relations with these columns; conditions are tried on as many rows, of which so many meet them."""

    def __init__(self, columns, met=0, tried=0):
        self.given, self.met, self.tried = columns, met, tried

    def columns(self, name):
        return self.given[name]

    def passing(self, name, conditions):
        return self.met, self.tried


def measured(**tables):
    columns = {name: [np.asarray(c, np.int64) for c in table] for name, table in tables.items()}
    return Measured({name: len(table[0]) for name, table in columns.items()}, Given(columns), {})


@pytest.mark.parametrize("name", COLUMNS)
def test_frequencies(name):
    column = COLUMNS[name]
    found, keys = Frequencies(np.asarray(column, np.int64)), sorted({*column, 0, 2, 5, 1 << 50})
    starts, counts = found.of(np.asarray(keys, np.int64))
    assert found.distinct == len(set(column))
    assert counts.tolist() == [column.count(key) for key in keys]
    for key, start, count in zip(keys, starts, counts, strict=True):
        assert all(column[place] == key for place in found.order[start : start + count])


@pytest.mark.parametrize(("one", "other"), list(itertools.product(COLUMNS, repeat=2)))
def test_meeting(one, other):
    expected = sum(a == b for a in COLUMNS[one] for b in COLUMNS[other])
    assert measured(a=[COLUMNS[one]], b=[COLUMNS[other]]).meeting(("a", 0), ("b", 0)) == expected


@pytest.mark.parametrize(
    ("met", "tried", "rows", "guess", "part"),
    [
        (50, 100, 10_000, 0.9, 0.5),
        (3, 100, 100, 0.9, 0.03),
        (3, 100, 10_000, 0.001, 0.001),
        (3, 100, 10_000, 0.9, 0.08),
        (0, 100, 100, 0.9, 0.08),
        (0, 0, 0, 0.9, 0.9),
    ],
)
def test_conditions_leave_what_rows_tell_or_what_is_guessed_but_not_much_more(met, tried, rows, guess, part):
    """Half of a sample; few of all rows; fewer of a sample than tell; none, which may be some tomorrow."""
    relations = Given({"r": [np.arange(rows)]}, met, tried)
    found = Measured({"r": rows}, relations, {}).passing("r", [column(place_name(0))], guess)
    assert found == pytest.approx(part)


@pytest.mark.parametrize(
    ("condition", "part"),
    [
        ("a = 3", 1 / 100),
        ("a = b", 1 / 100),
        ("NOT a = 3", 0.99),
        ("a <> 3", 0.99),
        ("NOT a IS NULL", 0.99),
        ("a = 3 OR a = 4 OR a = 5", 0.03),
        ("a > 3", 1 / 3),
        ("a > 3 AND b = 2", 1 / 30),
        ("a + b = 2", 1 / 10),
        ("a = 3 AND NOT c = c", 1e-6),
    ],
)
def test_what_conditions_leave_by_their_form(condition, part):
    found = selectivity(sqlglot.parse_one(condition), {"a": 100.0, "b": 10.0, "c": 1.0})
    assert found == pytest.approx(part)


def test_joins_of_tables_of_which_no_column_counts():
    """Products with tables of which nobody reads a column, as the first one or a later one, and with a proposition."""
    tables = measured(r=[[1, 2, 3]], s=[[1, 1]], none=[[]])
    assert tables.joined([("r", {}), ("s", {"x": 0})]) == 6
    assert tables.joined([("s", {"x": 0}), ("r", {}), ("r", {"x": 0})]) == 6
    assert tables.joined([("r", {}), ("none", {})]) == 0
    holds = Measured({"r": 3, "p": 1}, Given({"r": [np.arange(3)], "p": []}), {})
    assert holds.joined([("p", {}), ("r", {"x": 0})]) == holds.joined([("r", {"x": 0}), ("p", {})]) == 3


def graph(rng, nodes, count, hubs):
    """Random arcs, and some nodes with a thousand arcs to them and from them."""
    ends = np.repeat(rng.integers(0, nodes, hubs), 1000)
    x, y, ins, outs = (rng.integers(0, nodes, n) for n in (count, count, len(ends), len(ends)))
    return np.unique(np.stack([np.concatenate([x, ins, ends]), np.concatenate([y, ends, outs])], axis=1), axis=0).T


def paths(arcs, marks, nodes):
    """How many paths of three arcs there are from mark to mark, and how many pairs of their ends."""
    matrix = np.zeros((nodes, nodes), np.float32)
    matrix[arcs[0], arcs[1]] = 1
    found = matrix[marks] @ matrix @ matrix[:, marks]
    return found.sum(), np.count_nonzero(found)


PATHS = [("mark", {"x": 0}), ("arc", {"x": 0, "y": 1}), ("arc", {"y": 0, "z": 1}), ("arc", {"z": 0, "w": 1})]


@pytest.mark.parametrize("hubs", [0, 3])
@pytest.mark.parametrize("count", [500, 20_000])
def test_joins_are_about_as_large_as_a_sample_tells(count, hubs):
    rng, nodes = np.random.default_rng(5), 2_000
    arcs, marks = graph(rng, nodes, count, hubs), np.sort(rng.choice(nodes, 200, replace=False))
    told = measured(arc=arcs, mark=[marks])
    rows, pairs = paths(arcs, marks, nodes)
    tables = [*PATHS, ("mark", {"w": 0})]
    assert told.joined(tables) == pytest.approx(rows, rel=0.25, abs=60)
    assert told.sampled(tables, ("x", "w"), rows) == pytest.approx(pairs, rel=0.25, abs=60)


def test_a_sample_says_nothing_of_variables_that_no_table_has():
    """A computed column of a join that is to be kept: its size is estimated."""
    told = measured(r=[np.arange(9)], s=[np.arange(9)])
    size = NodeSize(1e6, {"x": 9.0, "computed": 3.0}, {}, (("r", {"x": 0}), ("s", {"x": 0})))
    work = Work(Sizes(CircuitBuilder().node, told), RewriteCosts())
    assert work.set_of(size, ("computed",)).rows == 3


def test_small_joins_are_counted():
    told = measured(arc=[[1, 1, 2, 3], [2, 3, 3, 1]], mark=[[1, 3]], none=[[]])
    assert told.joined(PATHS) == 5
    assert told.joined([("arc", {"x": 0, "y": 1}), ("arc", {"y": 0, "x": 1})]) == 2
    assert told.joined([("mark", {"x": 0}), ("mark", {"y": 0}), ("arc", {"x": 0, "y": 1})]) == 2
    assert told.joined([("mark", {"x": 0}), ("none", {"x": 0}), ("arc", {"x": 0, "y": 1})]) == 0
