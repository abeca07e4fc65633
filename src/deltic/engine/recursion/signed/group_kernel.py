"""Applies an incremental kernel to all rows of a relation at once."""

from __future__ import annotations

from deltic.engine.operators.kernel import KERNELS
from deltic.engine.operators.query import Environment
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.definitions import Definition


class GroupKernel:
    """A kernel between two relations that are empty before and after each use, with the layouts of other relations."""

    def __init__(self, definition: Definition, source: State, target: State, environment: Environment) -> None:
        self._source, self._target = _like(source), _like(target)
        (read,) = definition.sources
        self._kernel = KERNELS[type(definition)](definition, {read: self._source}, self._target, environment)

    def apply(self, rows: Run) -> Run:
        """Return the value of the definition for these rows."""
        nothing = Run(self._target.no_rows()[0])
        if not len(rows):
            return nothing
        self._source.delta, self._source.contents.runs = rows, (rows,)
        try:
            return self._kernel.change() or nothing
        finally:
            self._source.delta, self._source.contents.runs = None, ()
            for arrangement in self._target.auxiliary.values():
                arrangement.runs = arrangement.before = ()


def _like(state: State) -> State:
    """Return an empty relation with the layout of another."""
    made = State(state.relation, RelationKind.TRANSIENT, state.domains, state.is_set)
    made.contents.layout = state.layout
    return made
