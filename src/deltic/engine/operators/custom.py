"""User-defined operators, and operators without a derivative: converts between packed rows and Python arguments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
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
from deltic.engine.storage.layout import placed
from deltic.engine.storage.run import Run, merge_runs
from deltic.engine.storage.state import State
from deltic.errors import EvaluationError
from deltic.program.operators.custom import Maintained, Recomputed


class _Crossing(RelationUpdater):
    """A kernel that passes rows between the engine and Python functions."""

    def __init__(
        self, recomputed: Recomputed, states: Mapping[str, State], target: State, environment: Environment
    ) -> None:
        self.custom: CustomOperator = recomputed.operator.custom
        self.sources = [states[name] for name in recomputed.inputs]
        self.target, self.environment = target, environment

    def change(self) -> Run | None:
        """Return the functions' result for the changes. EvaluationError, which names the view, if one fails."""
        try:
            return self._change()
        except EvaluationError as error:
            raise EvaluationError(f"{self.target.relation.name}: {error}") from error.__cause__

    @abstractmethod
    def _change(self) -> Run | None:
        """Return the functions' result; None if nothing changes."""

    def _decoded(self, state: State, run: Run | None) -> pa.Table:
        return decoded(state, run, self.environment)

    def _encoded(self, found: pa.Table) -> CountChanges:
        return encoded(self.target, found, self.environment)


def decoded(state: State, run: Run | None, environment: Environment) -> pa.Table:
    """Return rows of a relation with their weights."""
    words, weights = (run.words, run.all_weights()) if run is not None else state.no_rows()
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


@kernel_of(Recomputed)
class Recomputing(_Crossing):
    """The fallback f(a ⊕ δ) ⊖ f(a): the new value of a user's operator minus the stored one."""

    def __init__(
        self, recomputed: Recomputed, states: Mapping[str, State], target: State, environment: Environment
    ) -> None:
        super().__init__(recomputed, states, target, environment)
        self._why = f"{recomputed.called} has no derivative"

    @property
    def recomputes(self) -> str:
        return self._why

    def _change(self) -> Run | None:
        """Return the difference between the new value and the stored one."""
        batch = self._encoded(self._value())
        batch.add_run(self.target.whole().negated())
        return batch.run()

    def _value(self) -> pa.Table:
        given = [self.custom.given(self._decoded(source, source.whole()), i) for i, source in enumerate(self.sources)]
        return self.custom.table(self.custom.body, given)


@kernel_of(Maintained)
class Maintaining(_Crossing):
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

    def _change(self) -> Run | None:
        """Return the result of the derivative, or of the state for the sources' changes, with that for empty inputs at
        first.
        """
        result = self._derived() if self.custom.state is None else self._updated()
        if self._first is not None and self._first.delta is not None:
            result = pa.concat_tables([result, self._of_nothing()])
        return self._encoded(result).run()

    def _of_nothing(self) -> pa.Table:
        """Return the function's value for empty inputs."""
        given = [self.custom.given(self._decoded(source, None), i) for i, source in enumerate(self.sources)]
        return self.custom.table(self.custom.body, given)

    def _derived(self) -> pa.Table:
        return self.custom.derived(
            [Change(self._delta(i), partial(self._old, i), partial(self._new, i)) for i in range(len(self.sources))]
        )

    def _updated(self) -> pa.Table:
        assert self.custom.state is not None
        places = range(len(self.sources))
        if self._state is None or self.mark.runs is not self._left:
            self._state, self._left = self.custom.state(), None
            self.custom.updated(self._state, [self._old(i) for i in places])
        deltas = [self._delta(i) for i in places]
        state, self._state = self._state, None
        result = self.custom.updated(state, deltas)
        self.mark.runs = self._left = (Run(self.mark.layout.pack([], 1)),)
        self._state = state
        return result

    def _delta(self, place: int) -> Any:
        source = self.sources[place]
        return self.custom.given(self._decoded(source, source.delta), place)

    def _new(self, place: int) -> Any:
        source = self.sources[place]
        return self.custom.given(self._decoded(source, source.whole()), place)

    def _old(self, place: int) -> Any:
        source = self.sources[place]
        before = source.whole() if source.delta is None else merge_runs(source.whole(), source.delta.negated())
        return self.custom.given(self._decoded(source, before), place)
