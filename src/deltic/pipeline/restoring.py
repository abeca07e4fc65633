"""Restores the state of a directory: its last checkpoint, the log after it, and a program that may be new."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from deltic.engine.result import EpochResult
from deltic.errors import DelticError, ProgramError, StateError, UnsupportedError
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.replaying import replayed
from deltic.pipeline.durability.log import Record
from deltic.pipeline.durability.state import StateDirectory, check_options
from deltic.pipeline.durability.state_keeper import StateKeeper
from deltic.pipeline.epochs.epochs import Epochs
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.evolving import DefinitionChanger
from deltic.pipeline.options import Durability

TRIES = 5
"""The number of tries of following when the writer removes files that are being read."""


def go_on(
    place: str | Path,
    durability: Durability,
    keeping: StateKeeper,
    evolving: DefinitionChanger,
    program: str | Path | None,
) -> Evolution | None:
    """Take over the state in a directory, and keep it there. Return what the program changed, if there is one.

    Raises StateError, UnsupportedError for an engine without durable state, and the errors of `redefine` for the
    program; the directory is unlocked then.
    """
    if evolving.engines.name == "reference":
        raise UnsupportedError(f"state {place}: the reference engine keeps none; leave out engine, or state")
    state = StateDirectory.open(place, durability)
    try:
        check_options(state, keeping.options)
        restore(state, evolving)
        state.begin()
        keeping.state = state
        return None if program is None else evolving.redefine(program)
    except BaseException as error:
        keeping.state = None
        state.close()
        if durability.readonly and isinstance(error, StateError) and state.is_outdated:
            return go_on(place, durability, keeping, evolving, program)
        raise


def restore(state: StateDirectory, evolving: DefinitionChanger, tables_alone: bool = False) -> None:
    """Restore the pipeline that wrote the state: its last checkpoint, and the log after it.

    With `tables_alone`, views are computed from the tables of the checkpoint.
    """
    begin_with_checkpoint(state, evolving, tables_alone)
    for record in state.records():
        replay(record, state, evolving)
    evolving.epochs.positions = dict(state.positions)


def begin_with_checkpoint(state: StateDirectory, evolving: DefinitionChanger, tables_alone: bool = False) -> None:
    """Restore the checkpoint of the state's manifest, if there is one."""
    if state.manifest is not None:
        evolving.restore(_definitions(state, evolving.epochs), state.saved(), tables_alone)


def follow(state: StateDirectory | None, evolving: DefinitionChanger) -> None:
    """Apply what the writer of a state has logged since. If the log was cut, start from the last checkpoint.

    Raises StateError, and DelticError for a state that is not read-only.
    """
    if state is None or not state.readonly:
        raise DelticError(
            "follow: this pipeline is not a reader; open the state with durability=Durability(readonly=True)"
        )
    for left in reversed(range(TRIES)):
        try:
            _follow(state, evolving)
            return
        except (StateError, FileNotFoundError):
            if not (left and (state.is_behind or state.is_outdated)):
                raise


def _follow(state: StateDirectory, evolving: DefinitionChanger) -> None:
    state.check_there()
    if state.is_behind:
        state.reopen()
        restore(state, evolving)
        return
    for record in state.records():
        replay(record, state, evolving, is_news=True)
    evolving.epochs.positions = dict(state.positions)


def replay(record: Record, state: StateDirectory, evolving: DefinitionChanger, is_news: bool = False) -> EpochResult:
    """Repeat a record of the log. StateError if it becomes another epoch than it was.

    StateError also if rows in files of their own are damaged, which are read when applied. If it `is_news`, followers
    of views are notified.
    """
    epochs = evolving.epochs
    with epochs.writing():
        if record.tables is None:
            _, result = evolving.go_on(partial(replayed, edits=record.edits))
        else:
            try:
                result = epochs.replay(record.tables, record.conflicts, record.token, is_news)
            except DelticError:
                record.check_rows()  # a task names its own link to a damaged file; this names the file of the log
                raise
    state.check_epoch(record, epochs.last.version.epoch)
    return result


def _definitions(state: StateDirectory, epochs: Epochs) -> Definitions:
    """Return the definitions of the last checkpoint, with the Python functions of the pipeline."""
    assert state.manifest is not None
    try:
        given = epochs.last.definitions
        result = replayed(Definitions(functions=given.functions, pragmas=given.pragmas), state.manifest.definitions)
        result.check()
        return result
    except ProgramError as error:
        raise StateError(
            f"state {state.files.place}: its definitions cannot be read: {error}\n"
            "functions of Python that they call are given with functions=[…], or by --functions"
        ) from error
