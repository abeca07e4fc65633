"""The histories of a recursion in rounds: what comes of groups at an iteration, on the shard that has their rows.

All rows of a group are on one shard, with what comes of them. So the examinations of the local engine
(`engine.local.recursion.signed`) are those of a shard. What the epoch has changed of a relation so far, the drift of
its groups, is kept with the relation: an examination has it from there when rows are repacked, or between jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from deltic.engine.local.operators.query import Environment
from deltic.engine.local.recursion.signed.choosing import examination_of
from deltic.engine.local.recursion.signed.examination import Examination
from deltic.engine.local.storage.arrangement import Arrangement
from deltic.engine.local.storage.layout import Layout
from deltic.engine.local.storage.run import Run, Times, Words
from deltic.engine.local.storage.state import State
from deltic.program.histories import Examined

# The change of a relation that looks at groups, and the rows of what it looks at that are due again, each when.
Looked = tuple[str, Run, Words, Times]


class Histories:
    """The examinations of a recursion on one shard; `changed` has what the epoch has changed of a relation."""

    def __init__(
        self, homes: Mapping[str, State], environment: Environment, changed: Callable[[State], Arrangement]
    ) -> None:
        self._changed = changed
        self._examined: dict[str, Examination] = {}
        for state in homes.values():
            definition = state.relation.definition
            if isinstance(definition, Examined):
                source = homes[definition.source]
                self._examined[definition.source] = examination_of(definition, source, state, environment)
        kept = [index for each in self._examined.values() for index in each.by_iteration]
        self._by_iteration = {index.state.relation.name: index for index in kept}
        self.forget()

    def forget(self) -> None:
        """Have nothing of the epoch in memory."""
        self._packed: dict[str, tuple[Layout, ...]] = {}

    def build(self) -> None:
        """Build the orders in which groups are read."""
        for examination in self._examined.values():
            examination.build()

    def keep_up(self) -> None:
        """Have the drift of all groups, packed as their rows are now."""
        for name, examination in self._examined.items():
            packed = tuple(part.layout for part in (examination.source, examination.target, examination.order))
            known = self._packed.get(name, ())
            if len(known) != len(packed) or any(a is not b for a, b in zip(known, packed, strict=True)):
                examination.begin()
                for run in self._changed(examination.source).runs:
                    examination.drifts(run)
                self._packed[name] = packed

    def enter(self, state: State, change: Run, now: int) -> None:
        """Enter a change that a history has now."""
        name = state.relation.name
        if name in self._by_iteration:
            self._by_iteration[name].add(change, now)
        if name in self._examined:
            self._examined[name].drifts(change)

    def examine(self, state: State, words: Words, now: int) -> Iterator[Looked]:
        """Look at the groups of some rows of a history, sorted and distinct, where anybody does."""
        examination = self._examined.get(state.relation.name)
        if examination is not None and words.shape[1]:
            change = Run(state.no_rows()[0]) if state.delta is None else state.delta
            found = examination.examine(words, change, now)
            yield examination.target.relation.name, found.change, found.again, found.times
