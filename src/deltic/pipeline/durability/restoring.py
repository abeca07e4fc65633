"""Going on with the state of a directory: its last checkpoint, the log after it, and a program that may be new."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from deltic.engine.result import EpochResult
from deltic.errors import DelticError, ProgramError, StateError, UnsupportedError
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.evolution import Evolution
from deltic.pipeline.definitions.evolving import DefinitionChanger
from deltic.pipeline.definitions.replaying import replayed
from deltic.pipeline.durability.log import Record
from deltic.pipeline.durability.state import StateDirectory, check_options
from deltic.pipeline.durability.state_keeper import StateKeeper
from deltic.pipeline.epochs.epochs import Epochs
from deltic.pipeline.options import Durability

TRIES = 5
"""How often following restarts, when the writer has removed what was being read."""


def go_on(
    place: str | Path,
    durability: Durability,
    keeping: StateKeeper,
    evolving: DefinitionChanger,
    program: str | Path | None,
) -> Evolution | None:
    """Take the state in a directory, which is kept there from then on; what the program changed, where there is one.

    Raises StateError, UnsupportedError for an engine that keeps none, and what `redefine` raises for the program; the
    directory is free then.
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
    """Be as the pipeline was that wrote the state: what its last checkpoint has, and the log after it.

    With `tables_alone` views are computed from the tables of the checkpoint.
    """
    begin_with_checkpoint(state, evolving, tables_alone)
    for record in state.records():
        replay(record, state, evolving)
    evolving.epochs.positions = dict(state.positions)


def begin_with_checkpoint(state: StateDirectory, evolving: DefinitionChanger, tables_alone: bool = False) -> None:
    """Be as what the state's manifest has, where it has one."""
    if state.manifest is not None:
        evolving.restore(_definitions(state, evolving.epochs), state.saved(), tables_alone)


def follow(state: StateDirectory | None, evolving: DefinitionChanger) -> None:
    """Apply what the writer of a state has logged since; where the log was cut, begin with the last checkpoint.

    Raises StateError, and DelticError for a state that is not only read.
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
    """Repeat what a record of the log says; raises StateError where it becomes another epoch than it was.

    So it does where rows in files of their own are damaged, which are read by who applies them. Where it `is_news`
    those are told who follow views.
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
    """Those of the last checkpoint, with the functions of Python that the pipeline has been given."""
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
