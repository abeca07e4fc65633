"""Look-ups of the rows of a relation by the values of some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from deltic.engine.storage.arrangement import SortedRows, present
from deltic.engine.storage.frozen import Frozen
from deltic.engine.storage.layout import Column, Raw
from deltic.engine.storage.run import NO_TIMES, Run, Times, Weights, Words, merge_runs, near

Counts = npt.NDArray[np.int64]
Ranges = Mapping[int, tuple[int, int]]
"""The least and the greatest value, by column."""

_WORD = 64


def find_rows(relation: Frozen, key: Mapping[int, int | None], ranges: Ranges) -> tuple[Words, Weights]:
    """Return the rows, in canonical layout, with these values or values in these ranges; None is NULL.

    If some order starts with columns of the key and then of the ranges, binary search finds them. Otherwise all
    rows are scanned.
    """
    chosen, result = _entries(relation, key, ranges)
    return _canonical(relation, chosen, result) if result else relation.no_rows()


def find_history(relation: Frozen, keys: Mapping[int, Column]) -> tuple[Words, Times, Weights] | None:
    """Return the entries of these keys, or all entries: rows in canonical layout, their iterations and weights.

    The entries of a row are adjacent, in order of iteration. None if the runs have no iterations.
    """
    chosen = max(relation.orders, key=lambda order: order.prefix(keys))
    result = _with_keys(chosen, keys) if keys else [*chosen.runs]
    if not all(run.times.size for run in result if len(run)):
        return None
    merged = reduce(merge_runs, result) if result else None
    if merged is None or not len(merged):
        return relation.no_rows()[0], NO_TIMES, relation.no_rows()[1]
    words = relation.layout.pack(chosen.columns(merged.words), len(merged))
    return words, merged.times, merged.all_weights().astype(np.int64)


def first_of_each(words: Words, times: Times, weights: Weights) -> tuple[Words, Times, Weights]:
    """Return the first entry of positive weight of each row of a set, with weight 1: when it was derived."""
    there = weights > 0
    words, times = words[:, there], times[there]
    is_first = np.concatenate([[True], (words[:, 1:] != words[:, :-1]).any(axis=0)])[: len(times)]
    return words[:, is_first], times[is_first], np.ones(int(is_first.sum()), np.int64)


def _entries(relation: Frozen, key: Mapping[int, int | None], ranges: Ranges) -> tuple[SortedRows, list[Run]]:
    """Return the best order for the look-up, and the matching entries of its runs."""
    chosen = max(relation.orders, key=lambda order: _useful(order, key, ranges))
    offsets = {c: place.offset(key[c]) for c, place in zip(chosen.order, chosen.layout.places, strict=True) if c in key}
    if not chosen.runs or None in offsets.values():
        return chosen, []
    known = {column: offset for column, offset in offsets.items() if offset is not None}
    between = _reached(chosen, known, ranges)
    if between is None:
        return chosen, []
    low, high = map(np.uint64, between)
    runs = near(chosen.runs, np.array([low]), np.array([high]))
    return chosen, [_matching(chosen, run, (low, high), known, ranges) for run in runs]


def _useful(order: SortedRows, key: Mapping[int, int | None], ranges: Ranges) -> int:
    """Return how many leading columns, within the first word, narrow the search: those of the key, then one range."""
    length = order.prefix(key)
    if length == len(order.order) or order.layout.places[length].word > 0:
        return length
    return length + (order.order[length] in ranges)


def find_all(relation: Frozen, keys: Mapping[int, Column]) -> tuple[Words, Weights]:
    """Return the rows, in canonical layout, with one of these keys, which are given by column."""
    chosen = max(relation.orders, key=lambda order: order.prefix(keys))
    runs = _with_keys(chosen, keys)
    return _canonical(relation, chosen, runs) if runs else relation.no_rows()


def _with_keys(order: SortedRows, keys: Mapping[int, Column]) -> list[Run]:
    """Return the entries of an order's runs that have one of these keys."""
    offsets, there = _offsets(order, keys)
    if not order.runs or not there.any():
        return []
    return [_with_one_of(order, run, offsets) for run in _near(order, offsets)]


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
        words, weights = present([_with_one_of(chosen, run, offsets) for run in _near(chosen, offsets)])
        theirs = [chosen.layout.column(words, i) for i, column in enumerate(chosen.order) if column in keys]
        counts[there] = _agreeing(theirs, weights, [offsets[c] for c in chosen.order if c in keys])
    return counts


def _in_ranges(order: SortedRows, keys: Mapping[int, Raw]) -> Counts:
    """Return, for each key, the sum of the weights of the rows that start with it."""
    low, high = _between(order, keys)
    is_sorted = bool((low[1:] >= low[:-1]).all())
    places = slice(None) if is_sorted else np.argsort(low)
    counts = np.zeros(len(low), np.int64)
    for run in near(order.runs, low, high):
        counts[places] += _sums(run, low[places], high[places])
    return counts


def _sums(run: Run, low: Raw, high: Raw) -> Counts:
    """Return, for each `low` and `high`, the sum of the weights of the entries whose first word is in [low, high]."""
    start, end = _bounds(run, low, high)
    if not run.weights.size:
        return end - start
    weights = run.all_weights()[_from_to(start, end)]
    until, ends = np.concatenate([[0], np.cumsum(weights)]), np.cumsum(end - start)
    sums: Counts = until[ends] - until[ends - (end - start)]
    return sums


def _agreeing(rows: Sequence[Raw], weights: Weights, wanted: Sequence[Raw]) -> Counts:
    """Return, for each wanted row, the sum of the weights of the equal rows. Both are given by column."""
    numbers = _numbers([np.concatenate(both) for both in zip(rows, wanted, strict=True)])
    ranks, count = np.unique(numbers, return_inverse=True)[1].reshape(-1), len(weights)
    sums: Counts = np.bincount(ranks[:count], weights, minlength=len(numbers)).astype(np.int64)[ranks[count:]]
    return sums


def _canonical(relation: Frozen, order: SortedRows, runs: list[Run]) -> tuple[Words, Weights]:
    words, weights = present(runs)
    return relation.layout.pack(order.columns(words), words.shape[1]), weights


def _offsets(order: SortedRows, keys: Mapping[int, Column]) -> tuple[dict[int, Raw], npt.NDArray[np.bool_]]:
    """Return the offsets of keys by column, without keys whose values have no place, and the mask of those left."""
    places = dict(zip(order.order, order.layout.places, strict=True))
    result = {column: places[column].offsets(*values) for column, values in keys.items()}
    there = np.logical_and.reduce([known for _, known in result.values()])
    return {column: raw[there] for column, (raw, _) in result.items()}, there


def _with_one_of(order: SortedRows, run: Run, keys: Mapping[int, Raw]) -> Run:
    """Return the entries of a run that have one of the keys."""
    at = _positions(order, run, keys)
    words = np.ascontiguousarray(run.words[:, at])
    if order.prefix(keys) < len(keys):
        theirs = [order.layout.column(words, i) for i, column in enumerate(order.order) if column in keys]
        wanted = [keys[column] for column in order.order if column in keys]
        mask = _are_among(theirs, wanted)
        at, words = at[mask], np.ascontiguousarray(words[:, mask])
    times = run.times[at] if run.times.size else NO_TIMES
    weights = run.weights[at] if run.weights.size else run.weights
    return Run(words, times, weights)


def _are_among(rows: Sequence[Raw], wanted: Sequence[Raw]) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows that are among the wanted ones. Both are given by column."""
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


def _near(order: SortedRows, keys: Mapping[int, Raw]) -> Sequence[Run]:
    """Return the runs; of runs in far files only the parts that may contain a key."""
    if not order.prefix(keys):
        return order.runs
    return near(order.runs, *_between(order, keys))


def _positions(order: SortedRows, run: Run, keys: Mapping[int, Raw]) -> npt.NDArray[np.int64]:
    """Return the positions of the entries whose leading columns equal those of a key."""
    if not order.prefix(keys):
        return np.arange(len(run))
    low, high = map(np.sort, _between(order, keys))  # np.unique alone would hash, which takes many times as long
    is_new = np.concatenate([[True], low[1:] != low[:-1]])
    return _from_to(*_bounds(run, low[is_new], high[is_new]))


def _between(order: SortedRows, keys: Mapping[int, Raw]) -> tuple[Raw, Raw]:
    """Return, for each key, the least and greatest first word of rows that start with the key's leading columns.

    Keys must have at least the first column of the order.
    """
    return order.layout.between([keys[column] for column in order.order[: order.prefix(keys)]])


def _bounds(run: Run, low: Raw, high: Raw) -> tuple[Counts, Counts]:
    """Return, for each `low` and `high`, the start and end of the entries whose first word is in [low, high]."""
    return np.searchsorted(run.words[0], low, side="left"), np.searchsorted(run.words[0], high, side="right")


def _from_to(start: Counts, end: Counts) -> Counts:
    """Return the numbers of the ranges [start, end), one range after the other."""
    sizes = end - start
    result: Counts = np.arange(sizes.sum()) + np.repeat(start - np.cumsum(sizes) + sizes, sizes)
    return result


def _matching(
    order: SortedRows, run: Run, between: tuple[np.uint64, np.uint64], key: Mapping[int, int], ranges: Ranges
) -> Run:
    """Return the entries of a run that have the key, given by offsets, and are in the ranges.

    `between` are the least and greatest first word that they can have.
    """
    low, high = between
    start, end = np.searchsorted(run.words[0], low, side="left"), np.searchsorted(run.words[0], high, side="right")
    words = run.words[:, start:end]
    mask = np.ones(words.shape[1], bool)
    for i, column in enumerate(order.order):
        if column in key:
            mask &= order.layout.column(words, i) == np.uint64(key[column])
        elif column in ranges:
            mask &= order.layout.places[i].within(order.layout.column(words, i), *ranges[column])
    times = run.times[start:end][mask] if run.times.size else NO_TIMES
    weights = run.weights[start:end][mask] if run.weights.size else run.weights
    return Run(np.ascontiguousarray(words[:, mask]), times, weights)


def _reached(order: SortedRows, key: Mapping[int, int], ranges: Ranges) -> tuple[int, int] | None:
    """Return the least and greatest first word of entries that match the leading columns of the key and the next range.

    None if no value is in the range.
    """
    length, places = order.prefix(key), order.layout.places
    low = sum(key[c] << p.shift for c, p in zip(order.order[:length], places, strict=False))
    high = low + (1 << places[length - 1].shift if length else 1 << _WORD) - 1
    if _useful(order, key, ranges) > length:
        reach = places[length].reach(*ranges[order.order[length]])
        if reach is not None:
            shift = places[length].shift
            low, high = low + (reach[0] << shift), low + ((reach[1] + 1) << shift) - 1
            if reach[0] > reach[1]:
                return None
    return low, high
