"""The delta query kernel: a depth-first search that binds one variable after the other.

A query is a list of steps over *atoms*. An atom is a relation in one column order, held as sorted runs; at any time
the search looks at one range of one run of it. Because a join is multilinear, and a relation is the sum of its
runs, searching all combinations of runs is the join of the sums.

Steps (rows of `steps`; the first field is the operation, the others its operands):

* OPEN atom: look at each run of the atom in turn, in full.
* SEEK atom, groups: narrow the range to the rows whose next columns have known values.
* MEET slot, parts: bind a variable to each value that the next columns of several ranges share (leapfrog).
* EACH atom, binds, checks: visit each row of the range, bind the columns that are left, check repeated ones.
* TEST index: go on only if a comparison of two slots holds.
* ABSENT atom, groups: go on only if the atom has no such row.
* EMIT: write the head.

The search keeps its whole position in `state` and the cursor arrays: when the output is full it returns, and a
later call goes on where it stood. A derivation's weight is the product of its rows' weights, its time one more
than the greatest of their times.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from deltic.engine.local.kernels.memory import load_i32, load_i64, load_u64
from deltic.engine.local.kernels.search import ROWS, TIMES, WEIGHTS, WORDS, field, gallop

OPEN, SEEK, MEET, EACH, TEST, ABSENT, EMIT = range(7)
ENTER, ADVANCE, RESUME = range(3)
STEP, MODE, WRITTEN, VISITED = range(4)
DONE, FULL = range(2)


@njit(cache=True)
def _key(group, keys, slots):
    """The wanted value of a group of adjacent columns of one word."""
    key = np.uint64(0)
    for k in range(group[3], group[3] + group[4]):
        value = slots[keys[k, 0]] if keys[k, 0] >= 0 else np.uint64(keys[k, 1])
        key |= value << np.uint64(keys[k, 2])
    return key


@njit(cache=True)
def _end(address, lo, hi, shift, mask, key):
    """The end of the rows from `lo` on whose column equals `key`."""
    if key == mask:
        return hi
    return gallop(address, lo, hi, lo, shift, mask, key + np.uint64(1))


@njit(cache=True)
def _narrow(run, lo, hi, start, first, count, groups, keys, slots):
    """The subrange of [lo, hi) that agrees with the groups; empty ranges are (x, x)."""
    for g in range(first, first + count):
        group = groups[g]
        address = run[WORDS] + group[0] * run[ROWS] * 8
        shift = np.uint64(group[1])
        mask = np.uint64(group[2])
        key = _key(group, keys, slots)
        lo = gallop(address, lo, hi, start, shift, mask, key)
        if lo >= hi or field(address, lo, shift, mask) != key:
            return lo, lo
        hi = _end(address, lo, hi, shift, mask, key)
        start = lo
    return lo, hi


@njit(cache=True)
def _present(atom, first, count, atoms, runs, fingers, groups, keys, slots):
    """The summed weight of the rows of an atom that agree with the groups."""
    total = 0
    for r in range(atoms[atom, 0], atoms[atom, 1]):
        run = runs[r]
        lo, hi = _narrow(run, 0, run[ROWS], fingers[r], first, count, groups, keys, slots)
        fingers[r] = lo
        for i in range(lo, hi):
            total += load_i64(run[WEIGHTS], i) if run[WEIGHTS] else 1
    return total


@njit(cache=True)
def _leap(slot, first, count, parts, cursor, save_hi, lo, hi, current, runs, slots):
    """Move the parts of a MEET to their next common value; whether there is one."""
    target = np.uint64(0)
    agreed = 0
    p = 0
    while agreed < count:
        part = parts[first + p]
        run = runs[current[part[0]]]
        address = run[WORDS] + part[1] * run[ROWS] * 8
        shift = np.uint64(part[2])
        mask = np.uint64(part[3])
        at = cursor[first + p]
        if agreed:
            if target > mask:
                return False
            at = gallop(address, at, save_hi[first + p], at, shift, mask, target)
            cursor[first + p] = at
        if at >= save_hi[first + p]:
            return False
        value = field(address, at, shift, mask)
        agreed = agreed + 1 if agreed and value == target else 1
        target = value
        p = p + 1 if p + 1 < count else 0
    for q in range(first, first + count):
        part = parts[q]
        run = runs[current[part[0]]]
        address = run[WORDS] + part[1] * run[ROWS] * 8
        lo[part[0]] = cursor[q]
        hi[part[0]] = _end(address, cursor[q], save_hi[q], np.uint64(part[2]), np.uint64(part[3]), target)
        cursor[q] = hi[part[0]]
    slots[slot] = target
    return True


@njit(cache=True)
def _bind(run, i, step, binds, slots):
    """Bind the columns of row i that EACH binds; whether its checks hold."""
    for b in range(step[2], step[2] + step[3]):
        address = run[WORDS] + binds[b, 1] * run[ROWS] * 8
        slots[binds[b, 0]] = field(address, i, np.uint64(binds[b, 2]), np.uint64(binds[b, 3]))
    for b in range(step[4], step[4] + step[5]):
        address = run[WORDS] + binds[b, 1] * run[ROWS] * 8
        if slots[binds[b, 0]] != field(address, i, np.uint64(binds[b, 2]), np.uint64(binds[b, 3])):
            return False
    return True


@njit(cache=True)
def _holds(test, slots):
    left = (np.int64(slots[test[1]]) if test[1] >= 0 else np.int64(0)) + test[2]
    right = (np.int64(slots[test[3]]) if test[3] >= 0 else np.int64(0)) + test[4]
    code = test[0]
    if code == 0:
        return left == right
    if code == 1:
        return left != right
    if code == 2:
        return left < right
    if code == 3:
        return left <= right
    if code == 4:
        return left > right
    return left >= right


@njit(cache=True)
def _write_head(head, slots, out, n):
    for w in range(out.shape[0]):
        out[w, n] = 0
    for h in range(head.shape[0]):
        value = slots[head[h, 0]] if head[h, 0] >= 0 else np.uint64(head[h, 1])
        out[head[h, 2], n] |= value << np.uint64(head[h, 3])


@njit(cache=True)
def _write_range(run, lo, hi, head, moves, slots, time, weight, out, out_times, out_weights, n):
    """Write one head for each row of [lo, hi): the bound columns once, the row's own columns moved."""
    _write_head(head, slots, out, n)
    count = hi - lo
    for w in range(out.shape[0]):
        base = out[w, n]
        for k in range(1, count):
            out[w, n + k] = base
    for m in range(moves.shape[0]):
        address = run[WORDS] + moves[m, 0] * run[ROWS] * 8
        shift = np.uint64(moves[m, 1])
        mask = np.uint64(moves[m, 2])
        w = moves[m, 3]
        up = np.uint64(moves[m, 4])
        for k in range(count):
            out[w, n + k] |= ((load_u64(address, lo + k) >> shift) & mask) << up
    if out_times.size:
        for k in range(count):
            out_times[n + k] = 1 + (max(time, load_i32(run[TIMES], lo + k)) if run[TIMES] else time)
    if out_weights.size:
        for k in range(count):
            out_weights[n + k] = weight * (load_i64(run[WEIGHTS], lo + k) if run[WEIGHTS] else 1)


@njit(cache=True)
def search(
    steps, groups, keys, binds, parts, tests, head, moves, atoms, runs,
    slots, fingers, lo, hi, current, position, cursor, save_lo, save_hi, times, weights, state,
    out, out_times, out_weights,
):  # fmt: skip
    """Run the search until it is DONE or the output is FULL; `state` says where and how much was written."""
    s = state[STEP]
    mode = state[MODE]
    n = state[WRITTEN]
    visited = state[VISITED]
    capacity = out.shape[1]
    fused = moves.shape[0] > 0
    while s >= 0:
        step = steps[s]
        operation = step[0]
        atom = step[1]
        found = False
        if operation == EACH:
            run = runs[current[atom]]
            at = lo[atom] if mode == ENTER else position[s] + (mode == ADVANCE)
            if fused and steps[s + 1, 0] == EMIT:
                end = min(hi[atom], at + capacity - n)
                if end > at:
                    _write_range(
                        run, at, end, head, moves, slots, times[s], weights[s], out, out_times, out_weights, n
                    )
                    n += end - at
                    visited += end - at
                if end < hi[atom]:
                    position[s] = end
                    state[STEP], state[MODE], state[WRITTEN], state[VISITED] = s, RESUME, n, visited
                    return FULL
            else:
                while at < hi[atom]:
                    visited += 1
                    if _bind(run, at, step, binds, slots):
                        found = True
                        break
                    at += 1
                position[s] = at
                if found:
                    time = times[s]
                    if run[TIMES]:
                        time = max(time, np.int64(load_i32(run[TIMES], at)))
                    times[s + 1] = time
                    weights[s + 1] = weights[s] * (load_i64(run[WEIGHTS], at) if run[WEIGHTS] else 1)
        elif operation == SEEK:
            if mode == ENTER:
                run = runs[current[atom]]
                visited += 1
                save_lo[s] = lo[atom]
                save_hi[s] = hi[atom]
                whole = lo[atom] == 0 and hi[atom] == run[ROWS]
                start = fingers[current[atom]] if whole else lo[atom]
                lo[atom], hi[atom] = _narrow(run, lo[atom], hi[atom], start, step[2], step[3], groups, keys, slots)
                if whole:
                    fingers[current[atom]] = lo[atom]
                found = lo[atom] < hi[atom]
            if not found:
                lo[atom] = save_lo[s]
                hi[atom] = save_hi[s]
        elif operation == MEET:
            if mode == ENTER:
                for p in range(step[2], step[2] + step[3]):
                    save_lo[p + steps.shape[0]] = lo[parts[p, 0]]
                    save_hi[p + steps.shape[0]] = hi[parts[p, 0]]
                    cursor[p] = lo[parts[p, 0]]
            found = _leap(
                atom, step[2], step[3], parts, cursor, save_hi[steps.shape[0] :], lo, hi, current, runs, slots
            )
            visited += 1
            if not found:
                for p in range(step[2], step[2] + step[3]):
                    lo[parts[p, 0]] = save_lo[p + steps.shape[0]]
                    hi[parts[p, 0]] = save_hi[p + steps.shape[0]]
        elif operation == OPEN:
            r = atoms[atom, 0] if mode == ENTER else position[s] + 1
            found = r < atoms[atom, 1]
            if found:
                position[s] = r
                current[atom] = r
                lo[atom] = 0
                hi[atom] = runs[r, ROWS]
        elif operation == TEST:
            found = mode == ENTER and _holds(tests[atom], slots)
        elif operation == ABSENT:
            if mode == ENTER:
                visited += 1
                found = _present(atom, step[2], step[3], atoms, runs, fingers, groups, keys, slots) <= 0
        elif mode == ENTER:
            if n == capacity:
                state[STEP], state[MODE], state[WRITTEN], state[VISITED] = s, ENTER, n, visited
                return FULL
            _write_head(head, slots, out, n)
            if out_times.size:
                out_times[n] = times[s] + 1
            if out_weights.size:
                out_weights[n] = weights[s]
            n += 1
        if found:
            if operation != EACH:
                times[s + 1] = times[s]
                weights[s + 1] = weights[s]
            s += 1
            mode = ENTER
        else:
            s -= 1
            mode = ADVANCE
    state[STEP], state[MODE], state[WRITTEN], state[VISITED] = s, ADVANCE, n, visited
    return DONE
