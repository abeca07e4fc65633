"""A recursion inside a recursion: its result, at each iteration of the outer one, for the inputs there.

It has an engine of its own, whose state is that of one iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deltic.engine.operators.custom import decoded, encoded
from deltic.engine.operators.query import Environment
from deltic.engine.protocol import Engine
from deltic.engine.recursion.signed.relation_function import Following
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.histories import Nested
from deltic.program.nested import alone


class InnerFixpoint(Following):
    """The inner fixpoint with these inputs; it computes all of its relations that are read."""

    def __init__(self, definition: Nested, sources: Sequence[State], environment: Environment) -> None:
        super().__init__(sources, environment)
        self.circuit = alone(definition.fixpoint, [source.relation.schema for source in sources])
        self._engine: Engine | None = None

    def restart(self) -> None:
        super().restart()
        self._engine = None

    def follow(self, changes: Sequence[Run]) -> Mapping[str, Run]:
        given = {
            str(number): decoded(source, change, self.environment)
            for number, (source, change) in enumerate(zip(self.sources, changes, strict=True))
            if len(change)
        }
        if self._engine is None:
            self._engine = self.environment.inner_engine(self.circuit)
        elif not given:
            return {}
        result = self._engine.apply(given, "trust")
        self.environment.visits.rows += result.rows_visited
        found = {
            name: encoded(target, result.changes[name], self.environment).run()
            for name, target in self.targets.items()
            if name in result.changes
        }
        return {name: run for name, run in found.items() if run is not None}
