"""User-defined operators, and operators without a derivative: converts between packed rows and Python arguments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from deltic.circuit.custom import Change, CustomOperator
from deltic.circuit.tables import WEIGHT
from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.query import Environment
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.codec import decode_rows, encode
from deltic.engine.storage.columns import placed
from deltic.engine.storage.run import Run, merge_runs
from deltic.engine.storage.state import State
from deltic.errors import EvaluationError
from deltic.program.operators.custom import Maintained, Recomputed


class OperatorCalls:
    """Converts between the runs of relations and the arguments and results of the functions of an operator."""

    def __init__(
        self, custom: CustomOperator, sources: Sequence[State], target: State, environment: Environment
    ) -> None:
        self.custom, self._sources, self._target, self._environment = custom, sources, target, environment

    def value(self, inputs: Sequence[Run | None]) -> Run:
        """Return the operator's value for these inputs."""
        return self._made(self.custom.table, self.custom.body, [self._given(i, run) for i, run in enumerate(inputs)])

    def of_nothing(self) -> Run:
        """Return the operator's value for empty inputs."""
        return self.value([None] * len(self._sources))

    def derived(self, deltas: Sequence[Run | None], present: Callable[[int], Run]) -> Run:
        """Return the derivative's result for these changes, which lead to the inputs that are `present`, by number."""
        return self._made(self.custom.derived, [self._change(i, delta, present) for i, delta in enumerate(deltas)])

    def _change(self, number: int, delta: Run | None, present: Callable[[int], Run]) -> Change:
        old, new = partial(self._before, number, delta, present), partial(self._before, number, None, present)
        return Change(self._given(number, delta), old, new)

    def _before(self, number: int, delta: Run | None, present: Callable[[int], Run]) -> Any:
        """Return an input before a change that led to the present one."""
        return self._given(number, _less(present(number), delta))

    def updated(self, state: Any, deltas: Sequence[Run | None]) -> Run:
        """Update the operator's state, and return the change of the result."""
        return self._made(self.custom.updated, state, [self._given(i, delta) for i, delta in enumerate(deltas)])

    def _given(self, number: int, run: Run | None) -> Any:
        """Return rows of an input as an argument of the functions."""
        return self.custom.given(decoded(self._sources[number], run, self._environment), number)

    def _made(self, function: Callable[..., pa.Table], *arguments: Any) -> Run:
        """Return a function's result as a run. EvaluationError, which names the relation, if it fails.

        DomainOverflow if a value has no place yet.
        """
        try:
            found = function(*arguments)
        except EvaluationError as error:
            raise EvaluationError(f"{self._target.relation.name}: {error}") from error.__cause__
        return encoded(self._target, found, self._environment).run() or Run(self._target.layout.no_rows()[0])


def decoded(state: State, run: Run | None, environment: Environment) -> pa.Table:
    """Return rows of a relation with their weights."""
    words, weights = (run.words, run.all_weights()) if run is not None else state.layout.no_rows()
    environment.visits.rows += len(weights)
    return decode_rows(state.relation.schema, state.layout, words, environment.interner, weights)


def encoded(target: State, found: pa.Table, environment: Environment) -> CountChanges:
    """Return a result as rows of a relation. DomainOverflow if a value has no place yet."""
    environment.visits.rows += len(found)
    schema, interner = target.relation.schema, environment.interner
    columns = [encode(found.column(i), column.type, interner) for i, column in enumerate(schema)]
    weights = np.ascontiguousarray(found.column(WEIGHT).to_numpy(), dtype=np.int64)
    batch = CountChanges()
    batch.add(target.layout.pack((), len(weights), placed(target.domains, columns)), weights)
    return batch


class _UserOperator(RelationUpdater):
    """Applies a user's operator to whole relations."""

    def __init__(
        self, recomputed: Recomputed, states: Mapping[str, State], target: State, environment: Environment
    ) -> None:
        self.sources, self.target = [states[name] for name in recomputed.inputs], target
        self.calls = OperatorCalls(recomputed.operator.custom, self.sources, target, environment)

    def change(self) -> Run | None:
        batch = CountChanges()
        for run in self._changes():
            batch.add_run(run)
        return batch.run()

    @abstractmethod
    def _changes(self) -> Iterator[Run]:
        """Return the changes whose sum is that of the relation."""


@kernel_of(Recomputed)
class Recomputing(_UserOperator):
    """The fallback f(a ⊕ δ) ⊖ f(a): the new value of a user's operator minus the stored one."""

    def __init__(
        self, recomputed: Recomputed, states: Mapping[str, State], target: State, environment: Environment
    ) -> None:
        super().__init__(recomputed, states, target, environment)
        self._why = f"{recomputed.called} has no derivative"

    @property
    def recomputes(self) -> str:
        return self._why

    def _changes(self) -> Iterator[Run]:
        yield self.calls.value([source.whole() for source in self.sources])
        yield self.target.whole().negated()


@kernel_of(Maintained)
class Maintaining(_UserOperator):
    """A user's operator, maintained by its derivative or by its state.

    A state cannot be rolled back. So a mark is stored beside the target, and each change replaces it. If the store does
    not have this kernel's last mark, there was an error or a restart, and the state is rebuilt.
    """

    def __init__(
        self, maintained: Maintained, states: Mapping[str, State], target: State, environment: Environment
    ) -> None:
        super().__init__(maintained, states, target, environment)
        self.mark = target.keep("mark", (), ())
        self._first = states[maintained.begins] if maintained.begins else None
        self._state: Any = None
        self._left: tuple[Run, ...] | None = None

    def _changes(self) -> Iterator[Run]:
        """Return the result of the derivative, or of the state for the sources' changes, and that for empty inputs at
        first.
        """
        deltas = [source.delta for source in self.sources]
        if self.calls.custom.state is None:
            yield self.calls.derived(deltas, lambda number: self.sources[number].whole())
        else:
            yield self._updated(self.calls.custom.state, deltas)
        if self._first is not None and self._first.delta is not None:
            yield self.calls.of_nothing()

    def _updated(self, make: Callable[[], Any], deltas: Sequence[Run | None]) -> Run:
        state, self._state = self._state, None
        if state is None or self.mark.runs is not self._left:
            state = make()
            self.calls.updated(state, [_less(source.whole(), source.delta) for source in self.sources])
        result = self.calls.updated(state, deltas)
        self.mark.runs = self._left = (Run(self.mark.layout.pack([], 1)),)
        self._state = state
        return result


def _less(run: Run, delta: Run | None) -> Run:
    return run if delta is None else merge_runs(run, delta.negated())
