"""Detects recursions that cycle: an iteration has the same rows as an earlier one, but the recursion is not at rest.

The result of an iteration depends only on the previous one, so such a recursion never ends. An epoch checks for it
now and then, at iterations after those of all histories that it began with. What changed since such an iteration
is then the content of the histories after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltic.circuit.iterations import oscillation_error
from deltic.engine.storage.codec import decode_rows
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.run import Words, consolidate
from deltic.engine.storage.state import State

# The number of iterations after which a deepening epoch is checked, and the rows of a cycle that an error shows.
_DEEP, _SHOWN = 64, 6

_Sums = npt.NDArray[np.uint64]


class ClosingRelations(NamedTuple):
    """The relations that close the cycles of a recursion, in one store, by their displayed names."""

    relations: Mapping[str, State]
    interner: Interner


def rest_of(states: Iterable[State]) -> int:
    """Return the last iteration of any row of these relations."""
    return max((run.max_time for state in states for run in state.contents.runs), default=0)


class CycleWatch:
    """Schedules the checks of an epoch; `horizon` is the iteration of the next one."""

    def __init__(self, rest: int) -> None:
        self._rest, self.horizon = rest, max(_DEEP, 2 * rest)

    def look(self, now: int, parts: Sequence[ClosingRelations]) -> None:
        """Raise IterationLimitError if an iteration before `now` equals an earlier one. Schedule the next check."""
        self.horizon = 2 * now
        times, sums = self._sums(now, parts)
        order = np.argsort(sums, kind="stable")
        for first, second in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
            start, end = int(times[first]), int(times[second])
            if sums[first] == sums[second] and _is_same(parts, start, end):
                raise oscillation_error(sorted(parts[0].relations), end, end - start, _rows(parts, start, end))

    def _sums(self, now: int, parts: Sequence[ClosingRelations]) -> tuple[npt.NDArray[np.int64], _Sums]:
        """Return the iterations with changes after the rest, and the rest, with a hash of the rows at each."""
        times, amounts = [np.array([self._rest])], [np.zeros(1, np.uint64)]
        for number, (_, state) in enumerate(_states(parts)):
            for run in state.contents.runs:
                past = np.flatnonzero((run.times > self._rest) & (run.times < now)) if run.times.size else ()
                if len(past):
                    weights = run.all_weights()[past].astype(np.uint64)
                    times.append(run.times[past].astype(np.int64))
                    amounts.append(_mixed(run.words[:, past], number) * weights)
        result, where = np.unique(np.concatenate(times), return_inverse=True)
        sums = np.zeros(len(result), np.uint64)
        np.add.at(sums, where, np.concatenate(amounts))
        return result, np.cumsum(sums, dtype=np.uint64)


def _states(parts: Iterable[ClosingRelations]) -> Iterator[tuple[str, State]]:
    """Yield the relations of all parts, with their displayed names."""
    return ((name, state) for part in parts for name, state in part.relations.items())


def _is_same(parts: Iterable[ClosingRelations], start: int, end: int) -> bool:
    """Return whether the changes of the histories after iteration `start`, until `end`, sum to zero."""
    changes = (_between(state, start, end) for _, state in _states(parts))
    return not any(consolidate(*change)[0].shape[1] for change in changes)


def _between(state: State, start: int, end: int) -> tuple[Words, npt.NDArray[np.int64]]:
    """Return the changes of a history after iteration `start`, until `end`."""
    words, weights = [state.layout.no_rows()[0]], [np.empty(0, np.int64)]
    for run in state.contents.runs:
        between = (run.times > start) & (run.times <= end)
        words.append(run.words[:, between])
        weights.append(run.all_weights()[between].astype(np.int64))
    return np.concatenate(words, axis=1), np.concatenate(weights)


def _rows(parts: Iterable[ClosingRelations], start: int, end: int) -> list[str]:
    """Return the rows that change between two iterations, as facts, with the number of those left out."""
    shown, count = list[str](), 0
    each = ((name, state, part.interner) for part in parts for name, state in part.relations.items())
    for name, state, interner in sorted(each, key=lambda one: one[0]):
        words, _ = consolidate(_between(state, start, end)[0])
        some, count = words[:, : _SHOWN - len(shown)], count + words.shape[1]
        ones = np.ones(some.shape[1], np.int64)
        table = decode_rows(state.relation.schema, state.layout, some, interner, ones)
        for row in zip(*(column.to_pylist() for column in table.columns[:-1]), strict=True):
            shown.append(f"{name}({', '.join('NULL' if v is None else str(v) for v in row)})")
    return [*shown, *([f"{count - len(shown):,} more"] if count > len(shown) else [])]


def _mixed(words: Words, number: int) -> _Sums:
    """Return a hash of 64 bits of each row of a relation."""
    mixed = np.full(words.shape[1], number << 32, np.uint64)
    for word in words:
        mixed = (mixed + word + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
