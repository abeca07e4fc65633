"""Look-ups of the rows of a relation by the values of some columns."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import reduce
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels.histories import ranges as bounds_of
from deltic.engine.storage.arrangement import SortedRows, descriptors, present
from deltic.engine.storage.columns import Column, Raw
from deltic.engine.storage.frozen import Frozen
from deltic.engine.storage.run import Run, Times, Weights, Words, are_new, merge_runs, near, ranges_of

Counts = npt.NDArray[np.int64]
Ranges = Mapping[int, tuple[int, int]]
"""The least and the greatest value, by column."""

_WORD = 64


def find_rows(relation: Frozen, keys: Mapping[int, Column], ranges: Ranges) -> tuple[Words, Weights]:
    """Return the rows, in canonical layout, with one of these keys, given by column, and with values in these ranges.

    If some order starts with columns of the keys and then of the ranges, binary search finds them. Otherwise all rows
    are scanned. Ranges are only for one key, or none.
    """
    order, runs = _entries(relation, keys, ranges)
    if not runs:
        return relation.layout.no_rows()
    words, weights = present(runs)
    if order is not relation.orders[0]:
        words = relation.layout.pack(order.columns(words), words.shape[1])
    return words, weights


def find_entries(relation: Frozen, keys: Mapping[int, Column]) -> tuple[SortedRows, Run | None]:
    """Return the entries with one of these keys, or all entries if there are no columns, and their order.

    The entries of a row are adjacent, in order of iteration.
    """
    order, runs = _entries(relation, keys, {}) if keys else (relation.orders[0], [*relation.orders[0].runs])
    return order, reduce(merge_runs, runs) if runs else None


def first_of_each(words: Words, times: Times, weights: Weights) -> tuple[Words, Times, Weights]:
    """Return the first entry of positive weight of each row of a set, with weight 1: when it was derived."""
    there = weights > 0
    words, times = words[:, there], times[there]
    is_first = are_new(words)
    return words[:, is_first], times[is_first], np.ones(int(is_first.sum()), np.int64)


def _entries(relation: Frozen, keys: Mapping[int, Column], ranges: Ranges) -> tuple[SortedRows, list[Run]]:
    """Return the best order for a look-up, and the entries of its runs with one of the keys and in the ranges.

    Of runs in far files only the parts are read that may contain them.
    """
    useful, chosen = max(((_useful(order, keys, ranges), order) for order in relation.orders), key=itemgetter(0))
    if keys and not useful:
        chosen = relation.led_by(min(keys)) or chosen
        useful = _useful(chosen, keys, ranges)
    offsets, there = _offsets(chosen, keys)
    if not chosen.runs or not there.any():
        return chosen, []
    low, high = _between(chosen, offsets, ranges)
    if len(low) > 1:
        low, high = np.sort(low), np.sort(high)  # np.unique alone would hash, which takes many times as long
        is_new = are_new((low,))
        low, high = low[is_new], high[is_new]
    runs = near(chosen.runs, low, high) if useful else chosen.runs
    bounds = _bounds(runs, low, high)
    has_any = np.logical_or.reduce(bounds[:, 0] < bounds[:, 1], axis=1)
    found = zip(runs, bounds[:, 0], bounds[:, 1], has_any, strict=True)
    return chosen, [_matching(chosen, run, a, b, offsets, ranges) for run, a, b, has_some in found if has_some]


def _useful(order: SortedRows, key: Container[int], ranges: Ranges) -> int:
    """Return how many leading columns, within the first word, narrow the search: those of the key, then one range."""
    length = order.prefix(key)
    if length == len(order.order) or order.layout.places[length].word > 0:
        return length
    return length + (order.order[length] in ranges)


def count_each(relation: Frozen, keys: Mapping[int, Column]) -> Counts:
    """Return how many rows of a set have each of these keys, which are given by column."""
    chosen = max(relation.orders, key=lambda order: order.prefix(keys))
    offsets, there = _offsets(chosen, keys)
    counts = np.zeros(len(there), np.int64)
    if not chosen.runs or not there.any():
        return counts
    if chosen.prefix(keys) == len(keys):
        counts[there] = _in_ranges(chosen, offsets)
    else:
        words, weights = present(_entries(relation, keys, {})[1])
        theirs = [chosen.layout.column(words, i) for i, column in enumerate(chosen.order) if column in keys]
        counts[there] = _agreeing(theirs, weights, [offsets[c] for c in chosen.order if c in keys])
    return counts


def _in_ranges(order: SortedRows, keys: Mapping[int, Raw]) -> Counts:
    """Return, for each key, the sum of the weights of the rows that start with it."""
    low, high = _between(order, keys, {})
    is_sorted = bool((low[1:] >= low[:-1]).all())
    places = slice(None) if is_sorted else np.argsort(low)
    is_new = are_new((low[places],))
    low, high = low[places][is_new], high[places][is_new]
    runs, sums, counts = near(order.runs, low, high), np.zeros(len(low), np.int64), np.empty(len(is_new), np.int64)
    for run, at in zip(runs, _bounds(runs, low, high), strict=True):
        sums += _sums(run, *at)
    counts[places] = sums[np.cumsum(is_new) - 1]
    return counts


def _sums(run: Run, start: Counts, end: Counts) -> Counts:
    """Return, for each `start` and `end`, the sum of the weights of the entries between them."""
    if not run.weights.size:
        return end - start
    weights = run.all_weights()[ranges_of(start, end - start)]
    until, ends = np.concatenate([[0], np.cumsum(weights)]), np.cumsum(end - start)
    sums: Counts = until[ends] - until[ends - (end - start)]
    return sums


def _agreeing(rows: Sequence[Raw], weights: Weights, wanted: Sequence[Raw]) -> Counts:
    """Return, for each wanted row, the sum of the weights of the equal rows. Both are given by column."""
    numbers = _numbers([np.concatenate(both) for both in zip(rows, wanted, strict=True)])
    ranks, count = np.unique(numbers, return_inverse=True)[1].reshape(-1), len(weights)
    sums: Counts = np.bincount(ranks[:count], weights, minlength=len(numbers)).astype(np.int64)[ranks[count:]]
    return sums


def _offsets(order: SortedRows, keys: Mapping[int, Column]) -> tuple[dict[int, Raw], npt.NDArray[np.bool_]]:
    """Return the offsets of keys by column, without keys whose values have no place, and the mask of those left."""
    places = dict(zip(order.order, order.layout.places, strict=True))
    result = {column: places[column].offsets(*values) for column, values in keys.items()}
    there = np.logical_and.reduce([known for _, known in result.values()])
    return {column: raw[there] for column, (raw, _) in result.items()}, there


def _matching(order: SortedRows, run: Run, start: Counts, end: Counts, keys: Mapping[int, Raw], ranges: Ranges) -> Run:
    """Return those of a run's entries, each from a `start` to its `end`, that have one of the keys, given by offsets,
    and are in the ranges.
    """
    at = slice(start[0], end[0]) if len(start) == 1 else ranges_of(start, end - start)
    words = run.words[:, at]
    masks = [
        place.within(order.layout.column(words, i), *ranges[column])
        for i, (column, place) in enumerate(zip(order.order, order.layout.places, strict=True))
        if column in ranges
    ]
    if order.prefix(keys) < len(keys):
        known = [column for column in order.order if column in keys]
        theirs = [order.layout.column(words, order.order.index(column)) for column in known]
        masks.append(_are_among(theirs, [keys[column] for column in known]))
    chosen = np.logical_and.reduce(masks) if masks else slice(None)
    times, weights = (part[at][chosen] if part.size else part for part in (run.times, run.weights))
    return Run(words[:, chosen], times, weights)


def _are_among(rows: Sequence[Raw], wanted: Sequence[Raw]) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows that are among the wanted ones. Both are given by column."""
    if len(wanted[0]) == 1:
        same: npt.NDArray[np.bool_] = np.logical_and.reduce([a == b for a, b in zip(rows, wanted, strict=True)])
        return same
    numbers, count = _numbers([np.concatenate(both) for both in zip(rows, wanted, strict=True)]), len(rows[0])
    return np.isin(numbers[:count], numbers[count:])


def _numbers(columns: Sequence[Raw]) -> Raw:
    """Return a number for each row. Rows that are equal in all columns have the same number."""
    numbers, bits = np.zeros(len(columns[0]), np.uint64), 0
    for column in columns:
        width = int(column.max(initial=0)).bit_length()
        if bits + width > _WORD:
            (numbers, bits), (column, width) = _ranks(numbers), _ranks(column)
        numbers, bits = numbers << np.uint64(width) | column, bits + width
    return numbers


def _ranks(numbers: Raw) -> tuple[Raw, int]:
    """Return the ranks of numbers among the distinct ones, and the bits that a rank takes."""
    known, ranks = np.unique(numbers, return_inverse=True)
    return ranks.astype(np.uint64), len(known).bit_length()


def _between(order: SortedRows, keys: Mapping[int, Raw], ranges: Ranges) -> tuple[Raw, Raw]:
    """Return, for each key, the least and greatest first word of rows that start with its leading columns.

    A range of the next column narrows them. If it has no value in use, the least is greater than the greatest.
    """
    length, places = order.prefix(keys), order.layout.places
    low, high = np.zeros(1, np.uint64), np.full(1, 2**_WORD - 1, np.uint64)
    if length:
        low, high = order.layout.between([keys[column] for column in order.order[:length]])
    if _useful(order, keys, ranges) > length:
        reach, shift = places[length].reach(*ranges[order.order[length]]), places[length].shift
        if reach is not None:
            low, high = low + np.uint64(reach[0] << shift), low + np.uint64(((reach[1] + 1) << shift) - 1)
    return low, high


def _bounds(runs: Sequence[Run], low: Raw, high: Raw) -> npt.NDArray[np.int64]:
    """Return, for each run, the start and the end of the entries whose first word is in each [low, high]: int64[runs,
    2, n]. The ranges ascend and do not overlap.
    """
    lows = np.zeros((len(runs[0].words), len(low)), np.uint64)
    highs = np.full_like(lows, 2**_WORD - 1)
    lows[0], highs[0] = low, high
    return bounds_of(lows, highs, descriptors(runs)).reshape(len(runs), -1, 2).swapaxes(1, 2)
