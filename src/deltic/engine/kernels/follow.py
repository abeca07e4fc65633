"""Follows a change through a query in compiled iterations: collects the runs that its atoms read, and searches."""

from __future__ import annotations

from deltic.engine.kernels import join
from deltic.engine.kernels.component import START, WITH, A, Component, Q, Scratch, T
from deltic.engine.kernels.declaring import compiled
from deltic.engine.kernels.memory import array_i64
from deltic.engine.kernels.overlay import FAR, MAX_TIME, NEAR, copy_runs, gather
from deltic.engine.kernels.query import begin, visited_by
from deltic.engine.kernels.search import TIMES
from deltic.engine.kernels.types import Int, Ints, Times, Words2


@compiled
def read_runs(component: Component, q: Int, change: Ints, now: Int, scratch: Scratch) -> tuple[Int, bool]:
    """Put the runs of each atom of query q into `scratch`; those of the first atom are the descriptor `change`.

    Return the number of runs, and whether times count: they do not if all of them are at most `now`.
    """
    query, runs = component.queries[q], scratch.runs
    for k in range(4):
        runs[0, k] = change[k]
    scratch.ranges[0, 0] = 0
    scratch.ranges[0, 1] = 1
    n = 1
    timed = False
    for t in range(query[Q.ATOM_COUNT]):
        atom = component.atoms[query[Q.ATOMS] + t]
        a = atom[T.ARRANGEMENT]
        arrangement, levels = component.arrangements[a], component.levels[a]
        start = n
        if atom[T.VERSION] == START:
            n = copy_runs(runs, n, component.base, arrangement[A.START], arrangement[A.START_COUNT])
            timed = timed or atom[T.TIMED] != 0
        else:
            n = gather(component, a, atom[T.VERSION] == WITH, runs, n)
            latest = max(arrangement[A.BASE_TIME], levels[NEAR, MAX_TIME], levels[FAR, MAX_TIME])
            timed = timed or (atom[T.TIMED] != 0 and latest > now)
        scratch.ranges[t + 1, 0] = start
        scratch.ranges[t + 1, 1] = n
        if not atom[T.TIMED]:
            runs[start:n, TIMES] = 0
    return n, timed


@compiled
def begin_query(component: Component, q: Int, now: Int, patience: Int) -> None:
    """Start the search of query q."""
    query = component.queries[q]
    begin(array_i64(query[Q.PACKED], query[Q.LENGTH]), now, query[Q.SIGN], patience)


@compiled
def go_on(component: Component, q: Int, count: Int, scratch: Scratch, out: Words2, out_times: Times) -> tuple[Int, Int]:
    """Continue the search of query q over the first `count` runs. Return its status, and the number of derivations
    written.
    """
    query = component.queries[q]
    status, written = join.search(
        array_i64(query[Q.PACKED], query[Q.LENGTH]),
        scratch.ranges[: query[Q.ATOM_COUNT] + 1],
        scratch.runs[:count],
        array_i64(query[Q.FINGERS], query[Q.FINGER_COUNT]),
        out,
        out_times,
        scratch.weights,
        0,
    )
    query[Q.DERIVED] += written
    return status, written


@compiled
def finish(component: Component, q: Int, changed: Int) -> Int:
    """End a search for this number of changed rows, and add the rows that it visited."""
    query = component.queries[q]
    visited = visited_by(array_i64(query[Q.PACKED], query[Q.LENGTH]))
    query[Q.VISITED] += visited
    query[Q.CHANGED] += changed
    return visited


@compiled
def output(scratch: Scratch, width: Int) -> Words2:
    """Return the output of a search for rows of this number of words."""
    room = scratch.weights.size
    words: Words2 = scratch.words[: width * room].reshape((width, room))
    return words
