"""Reading the rows of a relation that have given values in given columns."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deltic.engine.local.storage.arrangement import Arrangement, present
from deltic.engine.local.storage.kinds import Kind
from deltic.engine.local.storage.layout import Raw
from deltic.engine.local.storage.run import NO_TIMES, Run, Weights, Words
from deltic.engine.local.storage.state import State

_WORD = 64


def find_rows(state: State, key: Mapping[int, int]) -> tuple[Words, Weights]:
    """The rows, in canonical layout, with these offsets in these columns, and their weights.

    An arrangement whose first columns are of the key gives a range by binary search; without one, all
    rows are looked at.
    """
    arrangement = max(_candidates(state), key=lambda a: _prefix(a, key))
    runs = [_matching(arrangement, run, key) for run in arrangement.runs]
    if not runs:
        return state.no_rows()
    words, weights = present(runs)
    return state.layout.pack(arrangement.columns(words), words.shape[1]), weights


def find_all(state: State, keys: Mapping[int, Raw]) -> tuple[Words, Weights]:
    """The rows, in canonical layout, that have one of these keys, given by the offsets in their columns."""
    arrangement = max(_candidates(state), key=lambda a: _prefix(a, keys))
    runs = [_with_one_of(arrangement, run, keys) for run in arrangement.runs]
    if not runs:
        return state.no_rows()
    words, weights = present(runs)
    return state.layout.pack(arrangement.columns(words), words.shape[1]), weights


def _with_one_of(arrangement: Arrangement, run: Run, keys: Mapping[int, Raw]) -> Run:
    """The entries of a run that have one of the keys."""
    near = _near(arrangement, run, keys)
    words = np.ascontiguousarray(run.words[:, near])
    if _prefix(arrangement, keys) < len(keys):
        theirs = [arrangement.layout.column(words, i) for i, column in enumerate(arrangement.order) if column in keys]
        wanted = [keys[column] for column in arrangement.order if column in keys]
        mask = _are_among(theirs, wanted)
        near, words = near[mask], np.ascontiguousarray(words[:, mask])
    times = run.times[near] if run.times.size else NO_TIMES
    weights = run.weights[near] if run.weights.size else run.weights
    return Run(words, times, weights)


def _are_among(rows: Sequence[Raw], wanted: Sequence[Raw]) -> npt.NDArray[np.bool_]:
    """Which rows are among the wanted ones; both are given by their columns."""
    count, numbers, bits = len(rows[0]), np.zeros(len(rows[0]) + len(wanted[0]), np.uint64), 0
    for ours, theirs in zip(rows, wanted, strict=True):
        column = np.concatenate([ours, theirs])
        width = int(column.max(initial=0)).bit_length()
        if bits + width > _WORD:
            (numbers, bits), (column, width) = _ranks(numbers), _ranks(column)
        numbers, bits = numbers << np.uint64(width) | column, bits + width
    return np.isin(numbers[:count], numbers[count:])


def _ranks(numbers: Raw) -> tuple[Raw, int]:
    """The ranks of numbers among all of them, and the bits that these take."""
    known, ranks = np.unique(numbers, return_inverse=True)
    return ranks.astype(np.uint64), len(known).bit_length()


def _near(arrangement: Arrangement, run: Run, keys: Mapping[int, Raw]) -> npt.NDArray[np.int64]:
    """The entries whose first columns agree with a key, as far as keys have them."""
    length = _prefix(arrangement, keys)
    if not length:
        return np.arange(len(run))
    places = arrangement.layout.places[:length]
    low = np.zeros(len(next(iter(keys.values()))), np.uint64)
    for column, place in zip(arrangement.order, places, strict=False):
        low |= keys[column] << np.uint64(place.shift)
    low = np.unique(low)
    start = np.searchsorted(run.words[0], low, side="left")
    end = np.searchsorted(run.words[0], low + np.uint64((1 << places[-1].shift) - 1), side="right")
    sizes = end - start
    near: npt.NDArray[np.int64] = np.arange(sizes.sum()) + np.repeat(start - np.cumsum(sizes) + sizes, sizes)
    return near


def _candidates(state: State) -> list[Arrangement]:
    """The arrangements that hold exactly the present rows, or their counts."""
    if state.kind is Kind.SET:
        return [state.contents, *state.built.values()]
    return [state.contents, *(s for s in state.built.values() if s is not state.contents)]


def _prefix(arrangement: Arrangement, key: Container[int]) -> int:
    """How many of the first columns, within the first word, are of the key."""
    length = 0
    for column, place in zip(arrangement.order, arrangement.layout.places, strict=True):
        if column not in key or place.word > 0:
            break
        length += 1
    return length


def _matching(arrangement: Arrangement, run: Run, key: Mapping[int, int]) -> Run:
    """The entries of a run that agree with the key."""
    start, end = _range(arrangement, run, key)
    words = run.words[:, start:end]
    mask = np.ones(words.shape[1], bool)
    for i, column in enumerate(arrangement.order):
        if column in key:
            mask &= arrangement.layout.column(words, i) == np.uint64(key[column])
    times = run.times[start:end][mask] if run.times.size else NO_TIMES
    weights = run.weights[start:end][mask] if run.weights.size else run.weights
    return Run(np.ascontiguousarray(words[:, mask]), times, weights)


def _range(arrangement: Arrangement, run: Run, key: Mapping[int, int]) -> tuple[int, int]:
    """The entries whose first columns agree with the key, as far as it has them."""
    length = _prefix(arrangement, key)
    if not length:
        return 0, len(run)
    places = arrangement.layout.places[:length]
    low = sum(key[c] << p.shift for c, p in zip(arrangement.order, places, strict=False))
    high = low + (1 << places[-1].shift) - 1
    start = np.searchsorted(run.words[0], np.uint64(low), side="left")
    end = np.searchsorted(run.words[0], np.uint64(high), side="right")
    return int(start), int(end)
