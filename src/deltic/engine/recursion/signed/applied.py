"""User-defined operators inside a recursion: maintained by state, by derivative, or recomputed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from deltic.circuit.custom import Change, CustomOperator
from deltic.engine.operators.custom import decoded, encoded
from deltic.engine.operators.query import Environment
from deltic.engine.recursion.signed.relation_function import Following, RelationFunction, total
from deltic.engine.recursion.signed.timeline import BEGINNING, Timeline
from deltic.engine.storage.run import Run, add_runs, merge_runs
from deltic.engine.storage.state import State
from deltic.errors import EvaluationError
from deltic.program.histories import Applied


class _Crossing:
    """Converts between the runs of relations and the arguments and results of a Python function."""

    def __init__(self, applied: Applied, sources: Sequence[State], target: State, environment: Environment) -> None:
        self.custom: CustomOperator = applied.operator.custom
        self._sources, self._target, self._environment = sources, target, environment

    def given(self, number: int, run: Run) -> Any:
        """Return rows of an input as arguments of the function."""
        return self.custom.given(decoded(self._sources[number], run, self._environment), number)

    def value(self, inputs: Sequence[Run]) -> Run:
        """Return the operator's value for these inputs."""
        given = [self.given(number, run) for number, run in enumerate(inputs)]
        return self.made(partial(self.custom.table, self.custom.body, given))

    def of_nothing(self) -> Run:
        """Return the operator's value for empty inputs."""
        return self.value([Run(source.no_rows()[0]) for source in self._sources])

    def made(self, call: Callable[[], pa.Table]) -> Run:
        """Return the function's result as a run. EvaluationError, which names the relation, if it fails."""
        try:
            result = encoded(self._target, call(), self._environment).run()
        except EvaluationError as error:
            raise EvaluationError(f"{self._target.relation.name}: {error}") from error.__cause__
        return Run(self._target.no_rows()[0]) if result is None else result


class Recompute(RelationFunction):
    """An operator without a derivative: its value less its history's contents at the iteration [FIX Prop. 7]."""

    def __init__(self, crossing: _Crossing, sources: Sequence[State], target: State, environment: Environment) -> None:
        super().__init__(sources, environment)
        self._crossing, self._result = crossing, Timeline(target, environment)

    def look(self, name: str, now: int) -> Run:
        return merge_runs(self._crossing.value(self.present(now)), self._result.between(BEGINNING, now).negated())


class ByDerivative(RelationFunction):
    """An operator with a derivative, which is applied at each iteration to the epoch's changes so far.

    An epoch that computes from nothing goes from iteration to iteration instead, since its changes are all rows.
    """

    def __init__(self, crossing: _Crossing, sources: Sequence[State], target: State, environment: Environment) -> None:
        super().__init__(sources, environment)
        self._crossing, self._target = crossing, target

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
            change = merge_runs(change, self._crossing.of_nothing())
        self._at = now
        return change

    def _derived(self, deltas: Sequence[Run], now: int) -> Run:
        """Return the derivative's result for these changes, which lead to the inputs at an iteration."""
        changes = [
            Change(self._crossing.given(i, delta), partial(self._old, i, delta, now), partial(self._new, i, now))
            for i, delta in enumerate(deltas)
        ]
        return self._crossing.made(partial(self._crossing.custom.derived, changes))

    def _new(self, number: int, now: int) -> Any:
        return self._crossing.given(number, self.timelines[number].between(BEGINNING, now))

    def _old(self, number: int, delta: Run, now: int) -> Any:
        present = self.timelines[number].between(BEGINNING, now)
        return self._crossing.given(number, merge_runs(present, delta.negated()))


class Stateful(Following):
    """An operator with a state."""

    def __init__(self, crossing: _Crossing, sources: Sequence[State], environment: Environment) -> None:
        super().__init__(sources, environment)
        self._crossing = crossing
        self._state: Any = None

    def restart(self) -> None:
        super().restart()
        self._state = None

    def follow(self, changes: Sequence[Run]) -> Mapping[str, Run]:
        (name,) = self.targets
        first = Run(self.targets[name].no_rows()[0])
        if self._state is None:
            make = self._crossing.custom.state
            assert make is not None
            self._state, first = make(), self._crossing.of_nothing()
            self._crossing.made(partial(self._updated, [Run(source.no_rows()[0]) for source in self.sources]))
        return {name: merge_runs(first, self._crossing.made(partial(self._updated, changes)))}

    def _updated(self, changes: Sequence[Run]) -> pa.Table:
        given = [self._crossing.given(number, run) for number, run in enumerate(changes)]
        return self._crossing.custom.updated(self._state, given)


def applied_of(applied: Applied, sources: Sequence[State], target: State, environment: Environment) -> RelationFunction:
    """Return the function that computes a relation by a user-defined operator."""
    crossing = _Crossing(applied, sources, target, environment)
    if crossing.custom.state is not None:
        return Stateful(crossing, sources, environment)
    kind = Recompute if crossing.custom.derivative is None else ByDerivative
    return kind(crossing, sources, target, environment)
