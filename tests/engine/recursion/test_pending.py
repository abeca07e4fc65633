"""The pending queue against a dictionary: an entry that is lost, taken twice, or in the wrong round shows here.

Rows of one word, some rows again and again, with weights that cancel; a part of the entries goes through the heap of
compiled code and back on the way.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from deltic.engine.operators.search import Derivations
from deltic.engine.recursion.pending import PendingQueue, RoundId
from deltic.engine.storage.run import NO_TIMES, Run

LEVELS = [("a", "b"), ("c",)]
# The change of each row that waits, by round and relation; 0 for rows to look at again.
Expected = dict[tuple[RoundId, str], Counter[int]]


def add(queue: PendingQueue, expected: Expected, rng: random.Random, after: int) -> None:
    """Add some rows of one relation, all at one iteration, each at its own, or to be looked at again."""
    level, name = rng.choice([(level, name) for level, names in enumerate(LEVELS) for name in names])
    rows = [rng.randrange(6) for _ in range(rng.randrange(1, 5))]
    times = [after + rng.randrange(1, 5) for _ in rows]
    weights = [rng.choice([-1, 1]) for _ in rows]
    words, way = np.array([rows], np.uint64), rng.randrange(3)
    if way == 0:
        times = times[:1] * len(rows)
        queue.of(name).derive(Derivations(words, NO_TIMES, np.array(weights)), times[0])
    elif way == 1:
        queue.of(name).derive(Derivations(words, np.array(times, np.int32), np.array(weights)), 0)
    else:
        weights = [0] * len(rows)
        queue.of(name).reconsider(words, np.array(times, np.int32))
    for row, time, weight in zip(rows, times, weights, strict=True):
        found = expected.setdefault((RoundId(time, level), name), Counter())
        found[row] += weight
        if not weight:
            found[row + 100] = 1  # it is due, whatever its changes add up to


def changes(found: Counter[int]) -> dict[int, int]:
    """What is to be taken: what does not cancel, and what is to be looked at again."""
    return {row: found[row] for row in range(6) if found[row] or found[row + 100]}


def test_rounds_come_in_order_each_with_the_sums_of_its_rows() -> None:
    for seed in range(30):
        rng = random.Random(seed)
        queue, expected, now = PendingQueue(LEVELS, large=rng.choice([1, 3, 1000])), Expected(), 0
        for _ in range(40):
            for _ in range(rng.randrange(3)):
                add(queue, expected, rng, now)
            if rng.random() < 0.3:
                queue.from_heap(queue.to_heap(2), [1, 1, 1])
            following = queue.first()
            waiting = {at for (at, _), found in expected.items() if changes(found)}
            if following is None:
                assert not waiting
                continue
            assert not waiting or following <= min(waiting)
            taken = {
                name: dict(zip(words[0].tolist(), weights.tolist(), strict=True))
                for name, (words, weights) in queue.take(following).items()
                if words.shape[1]
            }
            for name in LEVELS[following.level]:
                assert taken.get(name, {}) == changes(expected.pop((following, name), Counter())), seed
            now = following.iteration


def test_rows_that_are_packed_in_another_way_keep_their_rounds() -> None:
    queue = PendingQueue([("a",)])
    queue.of("a").derive(Derivations(np.array([[1, 2]], np.uint64), np.array([3, 5], np.int32), np.array([1, -1])), 0)
    queue.of("a").reconsider(np.array([[4]], np.uint64), np.array([3], np.int32))
    queue.repack("a", lambda run: Run(run.words + np.uint64(10), run.times, run.weights))
    assert queue.waiting == 3
    rounds = []
    while (now := queue.first()) is not None:
        words, weights = queue.take(now)["a"]
        rounds.append((now.iteration, words[0].tolist(), weights.tolist()))
    assert rounds == [(3, [11, 14], [1, 0]), (5, [12], [-1])]
