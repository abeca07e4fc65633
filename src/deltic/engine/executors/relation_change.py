"""The change of a relation in an epoch: set for its readers, and added to its rows."""

from __future__ import annotations

from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State


def add_derivations(state: State, derivations: CountChanges, is_stored: bool = True) -> None:
    """Set a relation's change by derivations, which are added to the counts of a set."""
    if state.kind is not RelationKind.SET:
        set_change(state, derivations.run(), is_stored)
    elif (total := derivations.total()) is not None:
        set_change(state, state.change_set(*total), is_stored)


def set_change(state: State, change: Run | None, is_stored: bool = True) -> None:
    """Set the change of a relation, and add it to its rows if these are stored. An empty change is none."""
    if change is not None and len(change):
        state.delta = change
        if is_stored and state.kind is not RelationKind.TRANSIENT:
            state.append(change)
