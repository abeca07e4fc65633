"""Examines the groups of an aggregate in compiled iterations: `recursion.signed.running` for totals in 64 bits.

Each such relation has a row of `aggregates`, which locates its parts in the other tables. Probes find its groups in
arrangements; readings say what a row adds to slots; extremes are columns whose values are kept in order; results are
the columns that are computed from totals.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.component import Component, G, M, P, R, Scratch, V, X
from deltic.engine.kernels.declaring import compiled
from deltic.engine.kernels.heap import Heap, push, with_room
from deltic.engine.kernels.memory import load_u64, store_i32, store_i64, store_u64
from deltic.engine.kernels.narrow import load_weight
from deltic.engine.kernels.overlay import DELTA, MAX_TIME, NEAR, absorb, gather
from deltic.engine.kernels.running import (
    MASK,
    SHIFT,
    WORD,
    last_record,
    nearest,
    next_iteration,
    put,
    value_at,
    weights_around,
)
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS, find_row
from deltic.engine.kernels.types import U64, Int, Ints, Table, Words1, Words2
from deltic.engine.kernels.walk import in_group

# The probes of a relation, in this order: of its own rows, of these by iteration, of totals, of the target by
# iteration, of the target's rows; from VALUES on those of its extremes.
OWN, ENTRIES, TOTALS, PAST, TARGET, VALUES = range(6)
# What a reading adds up: rows, a number, its lower or its upper half; or what a result reads: a total as it is, one of
# so many bits with a sign or without one, or halves.
ONE, NUMBER, LOW, HIGH = range(4)
PLAIN, SIGNED, UNSIGNED, HALVES = range(4)
_HALF, _LOW_BITS = 32, (1 << 32) - 1
_NOTHING = np.int64(-1)


@compiled
def _probe(component: Component, p: Int, words: Words2, j: Int) -> Words2:
    """Return the least row of the group of canonical row j, as one column, in the layout of probe p."""
    probe = component.probes[p]
    row = np.zeros((probe[P.WIDTH], 1), np.uint64)
    for m in range(probe[P.MOVES], probe[P.MOVES] + probe[P.MOVE_COUNT]):
        move = component.moves[m]
        value = (words[move[M.WORD], j] >> np.uint64(move[M.SHIFT])) & np.uint64(move[M.MASK])
        row[move[M.TO_WORD], 0] |= value << np.uint64(move[M.TO_SHIFT])
    return row


@compiled
def _group(component: Component, p: Int) -> Words1:
    """Return the bits of a group's key in each word of the rows that probe p reads."""
    probe = component.probes[p]
    mask = np.zeros(probe[P.WIDTH], np.uint64)
    for m in range(probe[P.MOVES], probe[P.MOVES] + probe[P.MOVE_COUNT]):
        move = component.moves[m]
        mask[move[M.TO_WORD]] |= np.uint64(move[M.MASK]) << np.uint64(move[M.TO_SHIFT])
    return mask


@compiled
def _within(mask: Words1, place: Ints) -> Words1:
    """Return the bits of a key and of one more column."""
    result = mask.copy()
    result[place[WORD]] |= np.uint64(place[MASK]) << np.uint64(place[SHIFT])
    return result


@compiled
def _read(component: Component, aggregate: Ints, run: Ints, i: Int, totals: Ints) -> None:
    """Add the contribution of row i of a run to the slots; the run is in the order of the entries."""
    weight = load_weight(run[WEIGHTS], i)
    for n in range(aggregate[G.READINGS], aggregate[G.READINGS] + aggregate[G.READING_COUNT]):
        reading = component.readings[n]
        kind = reading[V.KIND]
        amount = np.int64(1)
        if kind != ONE or reading[V.NULLABLE]:
            offset = value_at(run, i, reading[V.PLACE : V.PLACE + 3])
            if reading[V.NULLABLE] and offset == 0:
                continue
            number = np.int64(offset) + reading[V.BASE]
            if kind == NUMBER:
                amount = number
            elif kind == LOW:
                amount = number & _LOW_BITS
            elif kind == HIGH:
                amount = number >> _HALF
        totals[reading[V.SLOT]] += amount * weight


@compiled
def _values(extreme: Ints, runs: Table, words: Words2, prefix: Words1, count: Int) -> Words1:
    """Return the sorted values of a column in the `count` entries of a group at an iteration, without NULL."""
    values = np.empty(count, np.uint64)
    n = 0
    for r in range(runs.shape[0]):
        i = find_row(runs[r, WORDS], runs[r, ROWS], 0, words, 0)
        while in_group(runs[r], i, words, 0, prefix):
            values[n] = value_at(runs[r], i, extreme[X.PLACE : X.PLACE + 3])
            n += not (extreme[X.NULLABLE] and values[n] == 0)
            i += 1
    result = values[:n].copy()
    result.sort()
    return result


@compiled
def _extreme(
    component: Component, extreme: Ints, words: Words2, j: Int, values: Words1, now: Int, runs: Table, totals: Ints
) -> Int:
    """Update the slots of one column of which some values changed. Return the number of entries visited."""
    p = extreme[X.PROBE]
    place = component.probes[p, P.VALUE : P.VALUE + 3]
    key, group = _probe(component, p, words, j), _group(component, p)
    prefix = _within(group, place)
    present, base = extreme[X.PRESENT], extreme[X.BASE]
    had = totals[present] > 0
    visited = np.int64(0)
    some, least, greatest = False, np.uint64(0), np.uint64(0)
    least_gone = greatest_gone = False
    for n in range(values.size):
        value = values[n]
        if n and value == values[n - 1]:
            continue
        probe = key.copy()
        put(probe, 0, place, value)
        before, after, more = weights_around(probe, 0, prefix, now, runs)
        visited += more
        totals[present] += np.int64(after > 0) - np.int64(before > 0)
        held = np.int64(value) + base
        if after > 0:
            least, greatest = value if not some else least, value
            some = True
        elif had:
            least_gone = least_gone or (extreme[X.LEAST] >= 0 and totals[extreme[X.LEAST]] == held)
            greatest_gone = greatest_gone or (extreme[X.GREATEST] >= 0 and totals[extreme[X.GREATEST]] == held)
    first = np.uint64(extreme[X.NULLABLE])
    for ahead in range(2):
        slot = extreme[X.LEAST] if ahead else extreme[X.GREATEST]
        if slot < 0:
            continue
        gone = least_gone if ahead else greatest_gone
        there, best = some, least if ahead else greatest
        if had:
            other, is_there = np.uint64(totals[slot] - base), True
            if gone:
                probe = key.copy()
                put(probe, 0, place, other)
                is_there, other, more = nearest(probe, 0, group, place, first, np.array([now, ahead]), runs)
                visited += more
            if is_there and (not there or (other < best) == (ahead == 1)):
                there, best = True, other
        totals[slot] = np.int64(best) + base if there else np.int64(0)
    return visited


@compiled
def _result(result: Ints, totals: Ints) -> tuple[bool, U64]:
    """Return the offset of a result of a group's totals, and whether it has one."""
    if result[V.COUNT] >= 0 and totals[result[V.COUNT]] <= 0:
        return result[V.NULLABLE] == 1, np.uint64(0)
    value = totals[result[V.SLOT]]
    kind, bits = result[V.KIND] & 3, np.int64(64) - (result[V.KIND] >> 2)
    if kind == HALVES:
        high = totals[result[V.SLOT] + 1] + (value >> _HALF)
        if high != np.int64(np.int32(high)):
            return False, np.uint64(0)
        value = (high << _HALF) | (value & _LOW_BITS)
    elif kind == SIGNED:
        value = (value << bits) >> bits
    elif kind == UNSIGNED:
        value = np.int64((np.uint64(value) << np.uint64(bits)) >> np.uint64(bits))
    offset = np.uint64(value - result[V.BASE])
    limit = result[V.LIMIT]
    fits = limit == 64 or (limit >= 0 and offset >> np.uint64(limit) == 0)
    return fits and not (result[V.NULLABLE] and offset == 0), offset


@compiled
def _row(component: Component, aggregate: Ints, words: Words2, j: Int, totals: Ints) -> tuple[bool, Words2]:
    """Return the target's row of a group with these totals, as one column, and whether all its results have a place."""
    row = _probe(component, aggregate[G.PROBES] + TARGET, words, j)
    for n in range(aggregate[G.RESULTS], aggregate[G.RESULTS] + aggregate[G.RESULT_COUNT]):
        result = component.results[n]
        fits, offset = _result(result, totals)
        if not fits:
            return False, row
        put(row, 0, result[V.PLACE : V.PLACE + 3], offset)
    return True, row


@compiled
def _starts(component: Component, aggregate: Ints, words: Words2) -> Ints:
    """Return the first row of each group among sorted canonical rows."""
    mask = _group(component, aggregate[G.PROBES] + OWN)
    result = np.empty(words.shape[1], np.int64)
    n = 0
    for j in range(words.shape[1]):
        new = j == 0
        for w in range(words.shape[0]):
            new = new or ((words[w, j] ^ words[w, j - 1]) & mask[w]) != 0
        if new:
            result[n] = j
            n += 1
    return result[:n].copy()


@compiled
def _totals(
    component: Component, aggregate: Ints, words: Words2, starts: Ints, now: Int, scratch: Scratch
) -> tuple[Table, Table, Int]:
    """Return the totals of groups before and at an iteration, and the number of entries visited. The last slot is 1
    where the totals change.
    """
    probes, slots, runs = aggregate[G.PROBES], aggregate[G.SLOTS], scratch.runs
    entries, totals = component.probes[probes + ENTRIES], component.probes[probes + TOTALS]
    end = gather(component, entries[P.ARRANGEMENT], True, runs, 0)
    last = gather(component, totals[P.ARRANGEMENT], False, runs, end)
    prefix = _within(_group(component, probes + ENTRIES), entries[P.TIME : P.TIME + 3])
    group, time = _group(component, probes + TOTALS), totals[P.TIME : P.TIME + 3]
    before = np.zeros((starts.size, slots + 1), np.int64)
    after = np.zeros((starts.size, slots + 1), np.int64)
    visited = np.int64(0)
    for g in range(starts.size):
        record = _probe(component, probes + TOTALS, words, starts[g])
        put(record, 0, time, now)
        visited += last_record(record, 0, group, time, np.uint64(totals[P.VALUE + MASK]), runs[end:last], before[g])
        for s in range(slots):
            after[g, s] = before[g, s]
        probe = _probe(component, probes + ENTRIES, words, starts[g])
        put(probe, 0, entries[P.TIME : P.TIME + 3], now)
        count = 0
        for r in range(end):
            i = find_row(runs[r, WORDS], runs[r, ROWS], 0, probe, 0)
            while in_group(runs[r], i, probe, 0, prefix):
                _read(component, aggregate, runs[r], i, after[g])
                count += 1
                i += 1
        visited += count + end
        for x in range(aggregate[G.EXTREMES], aggregate[G.EXTREMES] + aggregate[G.EXTREME_COUNT]):
            extreme = component.extremes[x]
            values = _values(extreme, runs[:end], probe, prefix, count)
            stop = gather(component, component.probes[extreme[X.PROBE], P.ARRANGEMENT], True, runs, last)
            visited += _extreme(component, extreme, words, starts[g], values, now, runs[last:stop], after[g])
        before[g, slots] = 0
        after[g, slots] = (before[g, :slots] != after[g, :slots]).any()
    return before, after, visited


@compiled
def _keep(
    component: Component, aggregate: Ints, words: Words2, starts: Ints, after: Table, now: Int, scratch: Scratch
) -> Int:
    """Keep the totals, from this iteration on, of the groups whose last slot marks a change. Return the entries
    visited.
    """
    p = aggregate[G.PROBES] + TOTALS
    probe = component.probes[p]
    a, width, time = probe[P.ARRANGEMENT], probe[P.WIDTH], probe[P.TIME : P.TIME + 3]
    slot = np.uint64(probe[P.VALUE + MASK])
    runs = scratch.runs[: gather(component, a, False, scratch.runs, 0)]
    slots = after.shape[1]
    change = np.zeros((starts.size, slots), np.int64)
    rows = np.empty((width, starts.size), np.uint64)
    prefix = _within(_group(component, p), time)
    visited = np.int64(0)
    for g in range(starts.size):
        record = _probe(component, p, words, starts[g])
        put(record, 0, time, now)
        for w in range(width):
            rows[w, g] = record[w, 0]
        if after[g, slots - 1]:
            for s in range(slots):
                change[g, s] = after[g, s]
        for r in range(runs.shape[0]):
            run = runs[r]
            i = find_row(run[WORDS], run[ROWS], 0, record, 0)
            while in_group(run, i, record, 0, prefix):
                place = np.int64(load_u64(run[WORDS] + (width - 1) * run[ROWS] * 8, i) & slot)
                change[g, place] -= load_weight(run[WEIGHTS], i)
                visited += 1
                i += 1
    level = component.levels[a, DELTA]
    count = (change != 0).sum()
    n = 0
    for g in range(starts.size):
        for s in range(slots):
            if change[g, s]:
                for w in range(width):
                    word = rows[w, g] | np.uint64(s) if w == width - 1 else rows[w, g]
                    store_u64(level[WORDS] + w * count * 8, n, word)
                store_i32(level[TIMES], n, np.int32(now))
                store_i64(level[WEIGHTS], n, change[g, s])
                n += 1
    level[ROWS] = count
    level[MAX_TIME] = now
    absorb(component, a, NEAR, DELTA)
    return visited


@compiled
def _push_past(
    component: Component, heap: Heap, r: Int, aggregate: Ints, words: Words2, j: Int, now: Int, runs: Table
) -> Heap:
    """Enqueue the retraction of the target's row of a group at an iteration."""
    p = aggregate[G.PROBES] + PAST
    time = component.probes[p, P.TIME : P.TIME + 3]
    probe, prefix = _probe(component, p, words, j), _within(_group(component, p), time)
    put(probe, 0, time, now)
    row = np.empty((component.probes[aggregate[G.PROBES] + TARGET, P.WIDTH], 1), np.uint64)
    for n in range(runs.shape[0]):
        run = runs[n]
        i = find_row(run[WORDS], run[ROWS], 0, probe, 0)
        while in_group(run, i, probe, 0, prefix):
            row[:] = 0
            for m in range(aggregate[G.BACK], aggregate[G.BACK] + aggregate[G.BACK_COUNT]):
                move = component.moves[m]
                word = load_u64(run[WORDS] + move[M.WORD] * run[ROWS] * 8, i)
                value = (word >> np.uint64(move[M.SHIFT])) & np.uint64(move[M.MASK])
                row[move[M.TO_WORD], 0] |= value << np.uint64(move[M.TO_SHIFT])
            heap = with_room(heap, 1)
            push(heap, now, r, row, 0, -load_weight(run[WEIGHTS], i))
            i += 1
    return heap


@compiled
def _drifts(words: Words2, j: Int, group: Words1, runs: Table) -> bool:
    """Return whether the changes so far of the group of row j do not sum to zero."""
    at = np.empty(runs.shape[0], np.int64)
    for r in range(runs.shape[0]):
        at[r] = find_row(runs[r, WORDS], runs[r, ROWS], 0, words, j)
    row = np.empty((words.shape[0], 1), np.uint64)
    whole = np.full(words.shape[0], np.uint64(0xFFFFFFFFFFFFFFFF))
    while True:
        first: Int = _NOTHING
        for r in range(runs.shape[0]):
            if in_group(runs[r], at[r], words, j, group):
                if first == _NOTHING or _is_before(runs[r], at[r], row):
                    for w in range(words.shape[0]):
                        row[w, 0] = load_u64(runs[r, WORDS] + w * runs[r, ROWS] * 8, at[r])
                first = r
        if first == _NOTHING:
            return False
        total = np.int64(0)
        for r in range(runs.shape[0]):
            while in_group(runs[r], at[r], row, 0, whole):
                total += load_weight(runs[r, WEIGHTS], at[r])
                at[r] += 1
        if total:
            return True


@compiled
def _is_before(run: Ints, i: Int, row: Words2) -> bool:
    """Return whether row i of a run precedes another row."""
    for w in range(row.shape[0]):
        word = load_u64(run[WORDS] + w * run[ROWS] * 8, i)
        if word != row[w, 0]:
            return bool(word < row[w, 0])
    return False


@compiled
def examine_groups(
    component: Component, heap: Heap, r: Int, words: Words2, now: Int, scratch: Scratch
) -> tuple[bool, Heap, Int]:
    """Enqueue the changes of the results of groups, and the groups for their next iteration. Return the entries
    visited.

    Return False, without any effect, if a result has no place in its column or is an error.
    """
    aggregate = component.aggregates[component.relations[r, R.AGGREGATE]]
    examined = component.relations[r, R.EXAMINED]
    starts = _starts(component, aggregate, words)
    before, after, visited = _totals(component, aggregate, words, starts, now, scratch)
    for g in range(starts.size):
        if after[g, 0] > 0 and not _row(component, aggregate, words, starts[g], after[g])[0]:
            return False, heap, visited
    visited += _keep(component, aggregate, words, starts, after, now, scratch)
    until, runs, probes = now + component.relations[examined, R.DELAY], scratch.runs, aggregate[G.PROBES]
    past = gather(component, component.probes[probes + PAST, P.ARRANGEMENT], False, runs, 0)
    end = gather(component, component.probes[probes + ENTRIES, P.ARRANGEMENT], True, runs, past)
    drift = gather(component, component.relations[r, R.FIRST] + component.relations[r, R.STORES], True, runs, end)
    own, group = _group(component, probes + OWN), _group(component, probes + ENTRIES)
    time = component.probes[probes + ENTRIES, P.TIME : P.TIME + 3]
    for g in range(starts.size):
        j = starts[g]
        heap = _push_past(component, heap, examined, aggregate, words, j, until, runs[:past])
        heap = with_room(heap, 3)
        if after[g, aggregate[G.SLOTS]]:
            if before[g, 0] > 0:
                push(heap, until, examined, _row(component, aggregate, words, j, before[g])[1], 0, -1)
            if after[g, 0] > 0:
                push(heap, until, examined, _row(component, aggregate, words, j, after[g])[1], 0, 1)
        if drift > end:
            probe = _probe(component, probes + ENTRIES, words, j)
            put(probe, 0, time, now + 1)
            following = next_iteration(probe, 0, group, time, runs[past:end])
            if following >= 0:
                least = _probe(component, probes + OWN, words, j)
                if _drifts(least, 0, own, runs[end:drift]):
                    push(heap, following, r, least, 0, 0)
        visited += past
    return True, heap, visited
