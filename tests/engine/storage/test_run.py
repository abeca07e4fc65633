"""Runs against a Counter of (row, time): catches lost, doubled or misordered entries in sorts and merges."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.engine.kernels.settle import NEVER, crossings, known, settle, totals, upcoming
from deltic.engine.storage.arrangement import descriptors, parts
from deltic.engine.storage.run import NO_TIMES, NO_WEIGHTS, Run, add_runs, consolidate, merge_all

Entry = tuple[tuple[int, ...], int]


def make_run(entries: Counter[Entry], width: int, timed: bool) -> Run:
    """A run with these weights."""
    kept = sorted((key, weight) for key, weight in entries.items() if weight)
    words = np.array([key[0] for key, _ in kept], np.uint64).reshape(len(kept), width).T
    times = np.array([key[1] for key, _ in kept], np.int32) if timed else NO_TIMES
    return Run(words, times, np.array([weight for _, weight in kept], np.int64))


def entries_of(run: Run) -> list[tuple[Entry, int]]:
    """The run's entries in its own order."""
    times = run.times.tolist() if run.times.size else [0] * len(run)
    weights = run.weights.tolist() if run.weights.size else [1] * len(run)
    rows = [tuple(row) for row in run.words.T.tolist()]
    return [((row, time), weight) for row, time, weight in zip(rows, times, weights, strict=True)]


def random_entries(rng: random.Random, width: int, timed: bool) -> Counter[Entry]:
    values = rng.choice([range(3), range(1000), [0, 1, 2**63, 2**64 - 1]])
    return Counter(
        {
            (tuple(rng.choice(values) for _ in range(width)), rng.randrange(4) if timed else 0): rng.choice(weights)
            for weights in [rng.choice([(1,), (-1, 1, 2)])]
            for _ in range(rng.randrange(60))
        }
    )


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("timed", [False, True])
def test_merge_adds_weights(width: int, timed: bool) -> None:
    rng = random.Random(width * 2 + timed)
    for _ in range(150):
        entries = [random_entries(rng, width, timed) for _ in range(rng.randrange(2, 5))]
        merged = merge_all([make_run(each, width, timed) for each in entries])
        total = Counter[Entry]()
        for each in entries:
            total.update(each)
        assert entries_of(merged) == sorted((k, w) for k, w in total.items() if w)


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("timed", [False, True])
def test_parts_have_each_row_whole_and_in_order(width: int, timed: bool) -> None:
    rng, cuts = random.Random(width * 2 + timed), 0
    for _ in range(100):
        given_runs = [make_run(random_entries(rng, width, timed), width, timed) for _ in range(rng.randrange(1, 4))]
        runs = [run for run in given_runs if len(run)]
        if not runs:
            continue
        most = rng.choice([1, 3, 10, 1000])
        cut = list(parts(runs, most))
        cuts += len(cut) - 1
        found = [[entry for run in part for entry in entries_of(run)] for part in cut]
        assert Counter(e for entries in found for e in entries) == Counter(e for r in runs for e in entries_of(r))
        rows = [{row for (row, _), _ in entries} for entries in found if entries]
        assert all(max(one) < min(next_) for one, next_ in itertools.pairwise(rows))
    assert cuts > 100


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1), st.integers(-2, 2)), max_size=60),
    st.booleans(),
)
def test_consolidate_adds_weights(width: int, rows: list[tuple[int, int, int]], weighted: bool) -> None:
    keys = [(r[0], r[1], r[0])[:width] for r in rows]
    words = np.array(keys, np.uint64).reshape(len(rows), width).T.copy()
    weights = np.array([r[2] for r in rows], np.int64) if weighted else NO_WEIGHTS
    got, sums = consolidate(words, weights if len(rows) else NO_WEIGHTS)
    expected: Counter[tuple[int, ...]] = Counter()
    for key, row in zip(keys, rows, strict=True):
        expected[key] += row[2] if weighted else 1
    found = [(tuple(k), w) for k, w in zip(got.T.tolist(), sums.tolist(), strict=True)]
    assert found == sorted((k, w) for k, w in expected.items() if w)


def test_large_ties_are_ordered() -> None:
    """Rows that agree in their first word are ordered by the others, also in groups too large for insertion."""
    rng = np.random.default_rng(0)
    words = np.stack([rng.integers(0, 2, 5000), rng.integers(0, 1000, 5000)]).astype(np.uint64)
    got, sums = consolidate(words)
    expected = Counter(map(tuple, words.T.tolist()))
    assert [(tuple(k), w) for k, w in zip(got.T.tolist(), sums.tolist(), strict=True)] == sorted(expected.items())


def test_runs_stay_few_and_sum_up() -> None:
    """Every run is at least twice as large as the next, so that n entries stand in at most log n runs."""
    rng = random.Random(1)
    runs: tuple[Run, ...] = ()
    total: Counter[Entry] = Counter()
    for _ in range(400):
        change = random_entries(rng, 1, timed=True)
        total.update(change)
        runs = add_runs(runs, make_run(change, 1, timed=True))
        assert all(len(a) >= 2 * len(b) for a, b in itertools.pairwise(runs))
    found: Counter[Entry] = Counter()
    for run in runs:
        found.update(dict(entries_of(run)))
    assert +found - Counter() == +Counter({k: w for k, w in total.items() if w > 0})
    assert {k: w for k, w in found.items() if w} == {k: w for k, w in total.items() if w}


def test_totals_and_crossings() -> None:
    rng = random.Random(2)
    for width in (1, 2):
        stored = [random_entries(rng, width, timed=False) for _ in range(3)]
        runs = [make_run(entries, width, timed=False) for entries in stored]
        rows = sorted({key for entries in stored for (key, _) in entries} | {(7,) * width})
        words = np.array(rows, np.uint64).T.copy()
        expected = [sum(e[(row, 0)] for e in stored) for row in rows]
        assert totals(words, descriptors(runs)).tolist() == expected
        change = np.array([rng.choice([-1, 1]) for _ in rows], np.int64)
        signs = [(o + c > 0) - (o > 0) for o, c in zip(expected, change.tolist(), strict=True)]
        assert crossings(np.array(expected), change).tolist() == signs


def test_known_rows_are_those_of_earlier_iterations() -> None:
    rng = random.Random(4)
    for _ in range(100):
        width, size = rng.choice((1, 2)), rng.choice((3, 40, 1000))
        rows = sorted({tuple(rng.randrange(size) for _ in range(width)) for _ in range(size)})
        entries = Counter({(row, rng.randrange(1, 6)): 1 for row in rng.sample(rows, rng.randrange(len(rows)))})
        asked = sorted(rng.sample(rows, rng.randrange(min(len(rows), rng.choice((2, 1000))))))
        words = np.array(asked, np.uint64).reshape(-1, width).T.copy()
        run = make_run(entries, width, timed=True)
        found = known(words, descriptors([run]), 3)
        assert found.tolist() == [any(entries[(row, t)] for t in range(1, 4)) for row in asked]


def test_kernels_of_one_signature_are_two() -> None:
    """Their machine code has the same names."""
    run = Run(np.array([[3, 3, 5]], np.uint64), np.array([1, 4, 2], np.int32), np.array([1, 1, 1], np.int8))
    words, runs = np.array([[2, 3, 5]], np.uint64), descriptors([run])
    for _ in range(2):
        assert known(words, runs, 1).tolist() == [False, True, False]
        assert known(words, runs, 1).dtype == np.bool_
        assert upcoming(words, runs, 1).tolist() == [NEVER, 4, 2]


def test_settle_follows_its_definition() -> None:
    """A row belongs at `now` iff its count there is positive and it stands at no earlier iteration."""
    rng = random.Random(3)
    for _ in range(400):
        rows = [(i,) for i in range(4)]
        counts = Counter({(r, t): rng.randrange(3) for r in rows for t in range(1, 5)})
        now = rng.randrange(1, 4)
        held: Counter[Entry] = Counter()
        for row in rows:
            first = next((t for t in range(1, 5) if counts[(row, t)]), None)
            if first is not None and rng.random() < 0.7:
                held[(row, first)] = 1
        rows = sorted(rng.sample(rows, rng.randrange(5)))
        change = {row: rng.randrange(-counts[(row, now)], 2) for row in rows}
        runs = [make_run(held, 1, timed=True)], [make_run(counts, 1, timed=True)]
        actions, counted, later, lost = settle(
            np.array(rows, np.uint64).reshape(-1, 1).T.copy(),
            np.array([change[row] for row in rows], np.int64),
            now,
            *map(descriptors, (*runs, [])),
            True,
        )
        assert counted.tolist() == list(change.values())
        assert not lost.any()
        for i, row in enumerate(rows):
            earlier = any(held[(row, t)] for t in range(1, now))
            wanted = not earlier and counts[(row, now)] + change[row] > 0
            assert actions[i] == wanted - held[(row, now)]
            following = next((t for t in range(now + 1, 5) if counts[(row, t)]), -1)
            stale = next((t for t in range(now + 1, 5) if held[(row, t)]), -1)
            if not earlier and not wanted:
                assert later[i] == following
            elif wanted and not held[(row, now)]:
                assert later[i] == stale
