"""The boundary of an engine: encodes batches for its tables, and decodes the changes of its views."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deltic.engine.batches import Changed
from deltic.engine.changes import Changes, ViewChange
from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.constants import constant_change, is_constant
from deltic.engine.executors.evolution import difference
from deltic.engine.storage.arrow import Encoded, encode_batch, make_room, table_change, view_change
from deltic.engine.storage.run import Weights
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Store
from deltic.engine.storage.unique import check_unique
from deltic.program.program import Program
from deltic.values.types import Schema


@dataclass
class Boundary:
    """The tables, constants and views of a program over the states of a store."""

    program: Program
    store: Store
    keys: Mapping[str, Sequence[int]]
    """The key columns of each relation with a key."""

    @cached_property
    def constants(self) -> list[State]:
        """The relations whose rows are constant, without those whose rows a committed epoch has added."""
        return [state for state in self.store.states.values() if is_constant(state.relation)]

    def table(self, name: str) -> State:
        """Return the state of a table."""
        return self.store.states[self.program.tables[name]]

    def view(self, name: str, schema: Schema) -> State | None:
        """Return the state of a view; None if there is none with this name and these columns."""
        result = self.store.states[self.program.sinks[name]] if name in self.program.sinks else None
        return result if result is not None and result.relation.schema == schema else None

    def encoded(self, changes: Mapping[str, Changed]) -> dict[str, Encoded]:
        """Return the encoded batches of tables."""
        return {n: encode_batch(n, batch, self.table(n), self.store.interner) for n, batch in changes.items()}

    def make_room(self, batches: Mapping[str, Encoded]) -> None:
        """Extend the domains of tables to the values of batches."""
        for name, (columns, _) in batches.items():
            make_room(self.table(name), columns)

    def change_tables(self, batches: Mapping[str, Encoded], conflicts: Conflicts) -> None:
        """Start an epoch: set the changes of tables, and of constants whose rows have not been added yet.

        Raises ChangeError if a batch conflicts with its table, or if rows share a key and are not trusted.
        """
        alike: dict[str, Weights] = {}
        for name, (columns, weights) in batches.items():
            state = self.table(name)
            given = columns, weights, conflicts, self.store.interner, self._key(state)
            state.delta, alike[name] = table_change(name, state, *given)
        for state in self.pending_constants():
            state.delta = constant_change(state, self.store.interner)
        for state in self.store.changed():
            assert state.delta is not None
            state.append(state.delta)
        for name, weights in alike.items() if conflicts != "trust" else ():
            state = self.table(name)
            check_unique(name, self._key(state), state, weights, self.store.interner)

    def _key(self, state: State) -> Sequence[int]:
        return self.keys.get(state.relation.name, ())

    def pending_constants(self) -> list[State]:
        """Return the constants whose rows have not been added yet."""
        return [state for state in self.constants if not state.contents.runs]

    def view_changes(self) -> Changes:
        """Return the changes of the views in the epoch."""
        changed = {
            state.relation.name: (state, delta) for state in self.store.changed() if (delta := state.delta) is not None
        }
        sinks = sorted((*sink, relation) for relation in changed for sink in self._sinks.get(relation, ()))
        return Changes({view: view_change(*changed[relation], self.store.interner) for _, view, relation in sinks})

    @cached_property
    def _sinks(self) -> Mapping[str, Sequence[tuple[int, str]]]:
        """The views of each relation that is one, with their numbers."""
        result = defaultdict[str, list[tuple[int, str]]](list)
        for number, (view, relation) in enumerate(self.program.sinks.items()):
            result[relation].append((number, view))
        return result

    def changes_from(self, old: Boundary, kept: Mapping[str, str]) -> Changes:
        """Return the changes of the views since before an evolution; `kept` maps new names of relations to old ones."""
        result: dict[str, ViewChange] = {}
        for view, name in self.program.sinks.items():
            state = self.store.states[name]
            before = old.view(view, state.relation.schema)
            is_kept = before is not None and kept.get(name) == before.relation.name
            change = state.delta if is_kept else difference(before, state)
            if change is not None:
                result[view] = view_change(state, change, self.store.interner)
        return Changes(result)
