"""The states of a user's aggregate: one for each group, in memory, updated in time proportional to a change.

A state cannot be rolled back. So all are dropped if the stored values are not those that the last change left, as after
an error or a restart. Each is then rebuilt from all values of its group when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from deltic.circuit.accumulators.own import UserAggregate
from deltic.engine.storage.run import Run

Moves = Sequence[tuple[Any, int]]
"""Values of a group, and the change of each value's weight."""


class States:
    """The states of one aggregate; `left` are the runs of values that they reflect."""

    def __init__(self, own: UserAggregate) -> None:
        assert own.state is not None
        self._own, self._make = own, own.state
        self._states: dict[bytes, _State] = {}
        self.left: tuple[Run, ...] | None = None

    def results(
        self,
        before: tuple[Run, ...],
        groups: Sequence[tuple[bytes, Moves, bool, bool]],
        values: Callable[[Sequence[int]], Sequence[Mapping[Any, int]]],
    ) -> list[Any]:
        """Return the results of changed groups, None for empty ones; `before` are the runs before the change.

        Each group has a key, its changes, and whether it had and has values; `values` returns all values of groups
        after the change. Raises EvaluationError; then all states are dropped.
        """
        states = self._states if before is self.left else {}
        self._states, self.left = {}, None
        unknown = [i for i, (key, _, had, _) in enumerate(groups) if had and key not in states]
        whole = dict(zip(unknown, values(unknown), strict=True)) if unknown else {}
        result = []
        for i, (key, moves, _, has) in enumerate(groups):
            state = None if i in whole else states.pop(key, None)
            if has:
                states[key] = state = state or _State(self._own.guarded(self._make))
                self._update(state, list(whole[i].items()) if i in whole else moves)
            result.append(self._own.made(state.made.result) if has and state and state.size else None)
        self._states = states
        return result

    def _update(self, state: _State, moves: Moves) -> None:
        """Add and remove values, insertions first, so that no missing value is removed."""
        for value, weight in sorted(moves, key=lambda move: move[1] < 0):
            if weight and self._own.counts_row(value):
                self._own.guarded(partial(state.made.update, value, weight))
                state.size += weight


@dataclass
class _State:
    """The user's object for a group, and the number of its values."""

    made: Any
    size: int = 0
