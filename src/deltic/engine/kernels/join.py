"""The delta query kernel: a depth-first search that binds one variable after the other.

A query is a list of steps over *atoms*. An atom is a relation in one column order, held as sorted runs; at any time
the search looks at one range of one run of it. Because a join is multilinear, and a relation is the sum of its
runs, searching all combinations of runs is the join of the sums.

Steps (rows of `steps`; the first field is the operation, the others its operands):

* OPEN atom: look at each run of the atom in turn, in full.
* SEEK atom, groups: narrow the range to the rows whose next columns have known values.
* MEET slot, parts: bind a variable to each value that the next columns of several ranges share (leapfrog).
* EACH atom, binds, checks, merges: visit each row of the range, bind the wanted columns, check repeated ones. Without
  any of these, the search continues once, with the weight of all rows; if it merges, once for all rows that agree in
  the wanted columns, which are adjacent.
* TEST index: continue only if a comparison of two slots holds.
* RANGE atom, index, bind, rises, nullable: narrow the range to the rows whose next column, which `bind` reads, meets a
  comparison with other slots. It holds from some value on if it `rises`, else up to one. NULL, offset 0, meets none.
* LET index, first, count: run a program of `arithmetic`; continue only if the result has a place.
* ABSENT atom, groups: continue only if the atom has no such row.
* ASK index, first, count, argument, memo: run a program that puts arguments into the slots from `argument` on; continue
  only if the memo at the address in slot `memo` has a value for them with a place.
* EMIT: write the head.

The search keeps its whole position in the query: when the output is full, or its patience has run out, it returns, and
a later call continues. The weight of a derivation is the product of its rows' weights, its time one more than the
greatest of their times. If a computed value that needs a place has none, the results are invalid: the search continues
until its output is full, to find more such values. It does the same if a memo lacks a value, and then returns to the
position where it first missed one.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.arithmetic import FITS, STRAYS, let
from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memo import UNKNOWN, ask
from deltic.engine.kernels.memory import load_u64
from deltic.engine.kernels.narrow import load_time, load_weight
from deltic.engine.kernels.query import (
    BINDS,
    CODE,
    CURRENT,
    CURSOR,
    CURSORS,
    GROUPS,
    HEAD,
    HIGH,
    KEYS,
    LETS,
    LOW,
    MODE,
    MOVES,
    PART_HIGH,
    PART_LOW,
    PARTS,
    PATH,
    PATIENCE,
    POSITION,
    RANGES,
    SAVED_HIGH,
    SAVED_LOW,
    STATE,
    STEP,
    STEPS,
    TESTS,
    TIME,
    VISITED,
    WEIGHT,
    restore,
    save,
    slots_of,
    table,
)
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS, field, forward, gallop
from deltic.engine.kernels.types import U64, Int, Ints, Table, Times, Weights, Words1, Words2
from deltic.engine.kernels.weights import added, checked_sum, multiplied

OPEN, SEEK, MEET, EACH, TEST, RANGE, LET, ABSENT, ASK, EMIT = range(10)
ENTER, ADVANCE, RESUME = range(3)
DONE, FULL, PAUSED, OVERFLOW, ASKS = range(5)
# The derivations before the first value that is not known, where all are.
_ALL = -1
# The greatest weight that rows are given at once: the sum of many such fits into 64 bits.
MOST = 1 << 40


@compiled
def _key(first: Int, count: Int, keys: Table, slots: Words1) -> U64:
    """Return the wanted value of a group of adjacent columns of one word."""
    key = np.uint64(0)
    for k in range(first, first + count):
        value = slots[keys[k, 0]] if keys[k, 0] >= 0 else np.uint64(keys[k, 1])
        key |= value << np.uint64(keys[k, 2])
    return key


@compiled
def _end(address: Int, lo: Int, hi: Int, shift: U64, mask: U64, key: U64) -> Int:
    """Return the end of the rows from `lo` on whose column equals `key`."""
    if key == mask:
        return hi
    return forward(address, lo, hi, shift, mask, key + np.uint64(1))


@compiled
def _narrow(
    runs: Table, r: Int, lo: Int, hi: Int, start: Int, first: Int, count: Int, groups: Table, keys: Table, slots: Words1
) -> tuple[Int, Int]:
    """Return the subrange of [lo, hi) that agrees with the groups; empty ranges are (x, x)."""
    for g in range(first, first + count):
        address = runs[r, WORDS] + groups[g, 0] * runs[r, ROWS] * 8
        shift = np.uint64(groups[g, 1])
        mask = np.uint64(groups[g, 2])
        key = _key(groups[g, 3], groups[g, 4], keys, slots)
        lo = gallop(address, lo, hi, start, shift, mask, key)
        if lo >= hi or field(address, lo, shift, mask) != key:
            return lo, lo
        hi = _end(address, lo, hi, shift, mask, key)
        start = lo
    return lo, hi


@compiled
def _present(
    atom: Int,
    first: Int,
    count: Int,
    atoms: Table,
    runs: Table,
    fingers: Ints,
    groups: Table,
    keys: Table,
    slots: Words1,
) -> Int:
    """Return the summed weight of the rows of an atom that agree with the groups."""
    total = 0
    for r in range(atoms[atom, 0], atoms[atom, 1]):
        lo, hi = _narrow(runs, r, 0, runs[r, ROWS], fingers[r], first, count, groups, keys, slots)
        fingers[r] = lo
        total = added(total, _summed(runs, r, lo, hi))
    return total


@compiled
def _leap(
    slot: Int,
    first: Int,
    count: Int,
    parts: Table,
    cursor: Ints,
    save_hi: Ints,
    lo: Ints,
    hi: Ints,
    current: Ints,
    runs: Table,
    slots: Words1,
) -> bool:
    """Move the parts of a MEET to their next common value. Return whether there is one."""
    target = np.uint64(0)
    agreed = 0
    p = first
    while agreed < count:
        r = current[parts[p, 0]]
        address = runs[r, WORDS] + parts[p, 1] * runs[r, ROWS] * 8
        shift = np.uint64(parts[p, 2])
        mask = np.uint64(parts[p, 3])
        at = cursor[p]
        if agreed:
            if target > mask:
                return False
            at = forward(address, at, save_hi[p], shift, mask, target)
            cursor[p] = at
        if at >= save_hi[p]:
            return False
        value = field(address, at, shift, mask)
        agreed = agreed + 1 if agreed and value == target else 1
        target = value
        p = p + 1 if p + 1 < first + count else first
    for q in range(first, first + count):
        atom = parts[q, 0]
        r = current[atom]
        address = runs[r, WORDS] + parts[q, 1] * runs[r, ROWS] * 8
        lo[atom] = cursor[q]
        hi[atom] = _end(address, cursor[q], save_hi[q], np.uint64(parts[q, 2]), np.uint64(parts[q, 3]), target)
        cursor[q] = hi[atom]
    slots[slot] = target
    return True


@compiled
def _bind(runs: Table, r: Int, i: Int, steps: Table, s: Int, binds: Table, slots: Words1) -> bool:
    """Bind the columns of row i that EACH binds. Return whether its checks hold."""
    first = steps[s, 2]
    for b in range(first, first + steps[s, 3]):
        address = runs[r, WORDS] + binds[b, 1] * runs[r, ROWS] * 8
        slots[binds[b, 0]] = field(address, i, np.uint64(binds[b, 2]), np.uint64(binds[b, 3]))
    first = steps[s, 4]
    for b in range(first, first + steps[s, 5]):
        address = runs[r, WORDS] + binds[b, 1] * runs[r, ROWS] * 8
        if slots[binds[b, 0]] != field(address, i, np.uint64(binds[b, 2]), np.uint64(binds[b, 3])):
            return False
    return True


@compiled
def _alike(runs: Table, r: Int, lo: Int, hi: Int, steps: Table, s: Int, binds: Table, slots: Words1) -> Int:
    """Return the end of the rows from `lo` on that agree with the columns that EACH has bound."""
    first = steps[s, 2]
    while lo < hi:
        for b in range(first, first + steps[s, 3]):
            address = runs[r, WORDS] + binds[b, 1] * runs[r, ROWS] * 8
            if slots[binds[b, 0]] != field(address, lo, np.uint64(binds[b, 2]), np.uint64(binds[b, 3])):
                return lo
        lo += 1
    return lo


@compiled
def _summed(runs: Table, r: Int, lo: Int, hi: Int) -> Int:
    """Return the sum of the weights of rows [lo, hi) of a run."""
    weights = runs[r, WEIGHTS]
    if weights == 0:
        return hi - lo
    total = np.int64(0)
    shadow = 0.0
    for i in range(lo, hi):
        weight = load_weight(weights, i)
        total += weight
        shadow += np.float64(weight)
    return checked_sum(total, shadow)


@compiled
def _holds(tests: Table, t: Int, slots: Words1) -> bool:
    left = (np.int64(slots[tests[t, 1]]) if tests[t, 1] >= 0 else np.int64(0)) + tests[t, 2]
    right = (np.int64(slots[tests[t, 3]]) if tests[t, 3] >= 0 else np.int64(0)) + tests[t, 4]
    code = tests[t, 0]
    if code == 0:
        holds = left == right
    elif code == 1:
        holds = left != right
    elif code == 2:
        holds = left < right
    elif code == 3:
        holds = left <= right
    elif code == 4:
        holds = left > right
    else:
        holds = left >= right
    return bool(holds)


@compiled
def _border(
    runs: Table, r: Int, lo: Int, hi: Int, tests: Table, t: Int, binds: Table, b: Int, rises: Int, slots: Words1
) -> Int:
    """Return the first row of [lo, hi) where a comparison of the column becomes true, or false if it does not rise."""
    address = runs[r, WORDS] + binds[b, 1] * runs[r, ROWS] * 8
    while lo < hi:
        middle = (lo + hi) >> 1
        slots[binds[b, 0]] = field(address, middle, np.uint64(binds[b, 2]), np.uint64(binds[b, 3]))
        if _holds(tests, t, slots) == (rises != 0):
            hi = middle
        else:
            lo = middle + 1
    return lo


@compiled
def _write_head(head: Table, slots: Words1, out: Words2, n: Int) -> None:
    for w in range(out.shape[0]):
        out[w, n] = 0
    for h in range(head.shape[0]):
        value = slots[head[h, 0]] if head[h, 0] >= 0 else np.uint64(head[h, 1])
        out[head[h, 2], n] |= value << np.uint64(head[h, 3])


@compiled
def _write_range(
    runs: Table,
    r: Int,
    lo: Int,
    hi: Int,
    head: Table,
    moves: Table,
    slots: Words1,
    time: Int,
    weight: Int,
    out: Words2,
    out_times: Times,
    out_weights: Weights,
    n: Int,
) -> None:
    """Write one head for each row of [lo, hi): the bound columns are moved once, the row's own columns for each."""
    _write_head(head, slots, out, n)
    count = hi - lo
    for w in range(out.shape[0]):
        base = out[w, n]
        moved = False
        for m in range(moves.shape[0]):
            if moves[m, 3] != w:
                continue
            address = runs[r, WORDS] + moves[m, 0] * runs[r, ROWS] * 8
            shift = np.uint64(moves[m, 1])
            mask = np.uint64(moves[m, 2])
            up = np.uint64(moves[m, 4])
            if moved:
                for k in range(count):
                    out[w, n + k] |= ((load_u64(address, lo + k) >> shift) & mask) << up
            else:
                for k in range(count):
                    out[w, n + k] = base | (((load_u64(address, lo + k) >> shift) & mask) << up)
            moved = True
        if not moved:
            for k in range(1, count):
                out[w, n + k] = base
    if out_times.size:
        times = runs[r, TIMES]
        for k in range(count):
            out_times[n + k] = 1 + (max(time, load_time(times, lo + k)) if times else time)
    if out_weights.size:
        weights = runs[r, WEIGHTS]
        for k in range(count):
            out_weights[n + k] = multiplied(weight, load_weight(weights, lo + k))


@compiled
def _ended(query: Ints, status: Int, n: Int, strayed: bool, known: Int) -> tuple[Int, Int]:
    """Return the status of a search, and the number of valid derivations."""
    if strayed:
        return OVERFLOW, n
    if known == _ALL:
        return status, n
    restore(query)
    return ASKS, known


@kernel
def search(
    query: Ints, atoms: Table, runs: Table, fingers: Ints, out: Words2, out_times: Times, out_weights: Weights, n: Int
) -> tuple[Int, Int]:
    """Continue a query until it is DONE, the output is FULL or it is PAUSED. Return the number of derivations in the
    output, too, which has `n` before.

    OVERFLOW: there were values without a place; `lets` has the least and the greatest. ASKS: the memos have entries
    that must be answered before the search can continue. `atoms` int64[., 2] has the rows of `runs`, descriptors, of
    each atom; `fingers`, one for each run, are the places of the last probes. Times are written if `out_times` has any
    room, and so are weights.
    """
    steps, groups, keys, binds = table(query, STEPS), table(query, GROUPS), table(query, KEYS), table(query, BINDS)
    parts, tests, code, lets = table(query, PARTS), table(query, TESTS), table(query, CODE), table(query, LETS)
    head, moves, slots = table(query, HEAD), table(query, MOVES), slots_of(query)
    ranges, cursors, path = table(query, RANGES), table(query, CURSORS), table(query, PATH)
    lo, hi, current = ranges[LOW], ranges[HIGH], ranges[CURRENT]
    cursor, part_lo, part_hi = cursors[CURSOR], cursors[PART_LOW], cursors[PART_HIGH]
    position, save_lo, save_hi = path[POSITION], path[SAVED_LOW], path[SAVED_HIGH]
    times, weights = path[TIME], path[WEIGHT]
    state = table(query, STATE)[0]
    s = state[STEP]
    mode = state[MODE]
    visited = state[VISITED]
    until = visited + state[PATIENCE]
    capacity = out.shape[1]
    fused = moves.shape[0] > 0
    strayed = False
    known = _ALL
    while s >= 0:
        operation = steps[s, 0]
        atom = steps[s, 1]
        result = False
        if operation == EACH:
            r = current[atom]
            end = hi[atom]
            at = lo[atom] if mode == ENTER else position[s] + (mode == ADVANCE)
            if fused and steps[s + 1, 0] == EMIT:
                fits = min(end, at + capacity - n)
                if fits > at:
                    _write_range(
                        runs, r, at, fits, head, moves, slots, times[s], weights[s], out, out_times, out_weights, n
                    )
                    n += fits - at
                    visited += fits - at
                if fits < end:
                    position[s] = fits
                    state[STEP], state[MODE], state[VISITED] = s, RESUME, visited
                    return _ended(query, FULL, n, strayed, known)
            else:
                if at < end and steps[s, 3] + steps[s, 5] == 0 and runs[r, TIMES] == 0:
                    visited += 1
                    total = multiplied(weights[s], _summed(runs, r, at, end))
                    if -MOST <= total <= MOST:
                        weights[s + 1] = total
                        times[s + 1] = times[s]
                        at = end
                        result = total != 0
                last = at
                total = 0
                while at < end:
                    visited += 1
                    last = at + 1
                    if _bind(runs, r, at, steps, s, binds, slots):
                        total = multiplied(weights[s], load_weight(runs[r, WEIGHTS], at))
                        if steps[s, 6] != 0 and runs[r, TIMES] == 0:
                            alike = _alike(runs, r, last, end, steps, s, binds, slots)
                            together = multiplied(weights[s], _summed(runs, r, at, alike))
                            if -MOST <= together <= MOST:
                                last, total = alike, together
                        result = total != 0
                        if result:
                            break
                    at = last
                if result and at < end:
                    position[s] = last - 1
                    time = times[s]
                    if runs[r, TIMES]:
                        time = max(time, load_time(runs[r, TIMES], at))
                    times[s + 1] = time
                    weights[s + 1] = total
                else:
                    position[s] = at
        elif operation == SEEK:
            if mode == ENTER:
                r = current[atom]
                visited += 1
                save_lo[s] = lo[atom]
                save_hi[s] = hi[atom]
                whole = lo[atom] == 0 and hi[atom] == runs[r, ROWS]
                start = fingers[r] if whole else lo[atom]
                lo[atom], hi[atom] = _narrow(
                    runs, r, lo[atom], hi[atom], start, steps[s, 2], steps[s, 3], groups, keys, slots
                )
                if whole:
                    fingers[r] = lo[atom]
                result = lo[atom] < hi[atom]
            if not result:
                lo[atom] = save_lo[s]
                hi[atom] = save_hi[s]
        elif operation == MEET:
            first = steps[s, 2]
            last = first + steps[s, 3]
            if mode == ENTER:
                for p in range(first, last):
                    part_lo[p] = lo[parts[p, 0]]
                    part_hi[p] = hi[parts[p, 0]]
                    cursor[p] = lo[parts[p, 0]]
            result = _leap(atom, first, steps[s, 3], parts, cursor, part_hi, lo, hi, current, runs, slots)
            visited += 1
            if not result:
                for p in range(first, last):
                    lo[parts[p, 0]] = part_lo[p]
                    hi[parts[p, 0]] = part_hi[p]
        elif operation == OPEN:
            r = atoms[atom, 0] if mode == ENTER else position[s] + 1
            result = r < atoms[atom, 1]
            if result:
                position[s] = r
                current[atom] = r
                lo[atom] = 0
                hi[atom] = runs[r, ROWS]
        elif operation == TEST:
            result = mode == ENTER and _holds(tests, atom, slots)
        elif operation == RANGE:
            if mode == ENTER:
                r = current[atom]
                visited += 1
                save_lo[s] = lo[atom]
                save_hi[s] = hi[atom]
                t, b = steps[s, 2], steps[s, 3]
                if steps[s, 5] != 0:
                    address = runs[r, WORDS] + binds[b, 1] * runs[r, ROWS] * 8
                    place = np.uint64(binds[b, 2]), np.uint64(binds[b, 3])
                    lo[atom] = forward(address, lo[atom], hi[atom], *place, np.uint64(1))
                border = _border(runs, r, lo[atom], hi[atom], tests, t, binds, b, steps[s, 4], slots)
                if steps[s, 4] != 0:
                    lo[atom] = border
                else:
                    hi[atom] = border
                result = lo[atom] < hi[atom]
            if not result:
                lo[atom] = save_lo[s]
                hi[atom] = save_hi[s]
        elif operation == LET:
            if mode == ENTER:
                outcome = let(code, steps[s, 2], steps[s, 3], lets[atom], slots)
                result = outcome == FITS
                strayed = strayed or outcome == STRAYS
        elif operation == ASK:
            if mode == ENTER:
                outcome = ask(code, steps[s], lets[atom], slots)
                result = outcome == FITS
                strayed = strayed or outcome == STRAYS
                if outcome == UNKNOWN and known == _ALL:
                    state[STEP], state[MODE], state[VISITED] = s, ENTER, visited
                    save(query)
                    known = n
        elif operation == ABSENT:
            if mode == ENTER:
                visited += 1
                result = _present(atom, steps[s, 2], steps[s, 3], atoms, runs, fingers, groups, keys, slots) <= 0
        elif mode == ENTER:
            if n == capacity:
                state[STEP], state[MODE], state[VISITED] = s, ENTER, visited
                return _ended(query, FULL, n, strayed, known)
            _write_head(head, slots, out, n)
            if out_times.size:
                out_times[n] = times[s] + 1
            if out_weights.size:
                out_weights[n] = weights[s]
            n += 1
        if result:
            if operation != EACH:
                times[s + 1] = times[s]
                weights[s + 1] = weights[s]
            s += 1
            mode = ENTER
        else:
            s -= 1
            mode = ADVANCE
            if visited >= until and s >= 0:
                state[STEP], state[MODE], state[VISITED] = s, ADVANCE, visited
                return _ended(query, PAUSED, n, strayed, known)
    state[STEP], state[MODE], state[VISITED] = s, ADVANCE, visited
    return _ended(query, DONE, n, strayed, known)
