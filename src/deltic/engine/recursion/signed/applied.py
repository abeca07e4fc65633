"""User-defined operators inside a recursion: maintained by state, by derivative, or recomputed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltic.engine.operators.custom import OperatorCalls
from deltic.engine.operators.query import Environment
from deltic.engine.recursion.signed.relation_function import BEGINNING, Following, RelationFunction, Timeline, total
from deltic.engine.storage.run import Run, add_runs, merge_runs
from deltic.engine.storage.state import State
from deltic.program.histories import Applied


class Recompute(RelationFunction):
    """An operator without a derivative: its value less its history's contents at the iteration [FIX Prop. 7]."""

    def __init__(self, calls: OperatorCalls, sources: Sequence[State], target: State, environment: Environment) -> None:
        super().__init__(sources, environment)
        self._calls, self._result = calls, Timeline(target, environment)

    def look(self, name: str, now: int) -> Run:
        return merge_runs(self._calls.value(self.present(now)), self._result.between(BEGINNING, now).negated())


class ByDerivative(RelationFunction):
    """An operator with a derivative, which is applied at each iteration to the epoch's changes so far.

    An epoch that computes from nothing goes from iteration to iteration instead, since its changes are all rows.
    """

    def __init__(self, calls: OperatorCalls, sources: Sequence[State], target: State, environment: Environment) -> None:
        super().__init__(sources, environment)
        self._calls, self._target = calls, target

    def begin(self) -> None:
        super().begin()
        self._at = None if self.is_begun else BEGINNING
        self._given: tuple[Run, ...] = ()

    def look(self, name: str, now: int) -> Run:
        if self._at is None:
            deltas = [total(*pair) for pair in zip(self.drifts, self.sources, strict=True)]
            change = merge_runs(self._derived(deltas, now), total(self._given, self._target).negated())
            self._given = add_runs(self._given, change)
            return change
        deltas = [timeline.between(self._at, now) for timeline in self.timelines]
        change = self._derived(deltas, now)
        if self._at == BEGINNING:
            change = merge_runs(change, self._calls.of_nothing())
        self._at = now
        return change

    def _derived(self, deltas: Sequence[Run], now: int) -> Run:
        """Return the derivative's result for these changes, which lead to the inputs at an iteration."""
        return self._calls.derived(deltas, lambda number: self.timelines[number].between(BEGINNING, now))


class Stateful(Following):
    """An operator with a state."""

    def __init__(self, calls: OperatorCalls, sources: Sequence[State], environment: Environment) -> None:
        super().__init__(sources, environment)
        self._calls = calls
        self._state: Any = None

    def restart(self) -> None:
        super().restart()
        self._state = None

    def follow(self, changes: Sequence[Run]) -> Mapping[str, Run]:
        (name,) = self.targets
        first = Run(self.targets[name].layout.no_rows()[0])
        if self._state is None:
            make = self._calls.custom.state
            assert make is not None
            self._state, first = make(), self._calls.of_nothing()
            self._calls.updated(self._state, [None] * len(self.sources))
        return {name: merge_runs(first, self._calls.updated(self._state, changes))}


def applied_of(applied: Applied, sources: Sequence[State], target: State, environment: Environment) -> RelationFunction:
    """Return the function that computes a relation by a user-defined operator."""
    calls = OperatorCalls(applied.operator.custom, sources, target, environment)
    if calls.custom.state is not None:
        return Stateful(calls, sources, environment)
    kind = Recompute if calls.custom.derivative is None else ByDerivative
    return kind(calls, sources, target, environment)
