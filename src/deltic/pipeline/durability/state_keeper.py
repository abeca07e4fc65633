"""Connects a pipeline with the directory of its state: logs epochs and definitions, and makes checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltic.engine.files.files import Files
from deltic.engine.prepared import Prepared
from deltic.errors import DelticError, ReadOnlyError
from deltic.pipeline.connectors.written import Edit
from deltic.pipeline.durability.log import Record
from deltic.pipeline.durability.manifest import CheckpointContents
from deltic.pipeline.durability.state import StateDirectory
from deltic.pipeline.epochs.epochs import Epochs, LoggedEpoch


class StateKeeper:
    """Keeps the epochs of a pipeline in its `state`. Without a state, it does nothing.

    `options` are the pipeline options on which a state depends.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        self.state: StateDirectory | None = None
        self._is_closed = False

    @property
    def files(self) -> Files | None:
        """The files of the state; None without a state."""
        return None if self.state is None else self.state.files

    @property
    def place(self) -> str | None:
        """The address of the state; None without a state."""
        return None if self.state is None else self.state.files.place

    def before_epoch(self, epochs: Epochs) -> None:
        """Start a checkpoint that is due."""
        if self.state is not None and not self.state.readonly and self.state.is_due:
            self.state.begin_checkpoint(self.moment(self.state, epochs))

    def log_epoch(self, epoch: Prepared, logged: LoggedEpoch) -> None:
        """Write an epoch to the log, just before it is committed."""
        state = self.state
        if state is not None and not state.readonly:
            number = state.sequence + 1
            state.write(Record(number, epoch.number, epoch.token, logged.conflicts, logged.positions, logged.batches))

    def log_edits(self, edits: tuple[Edit, ...], epoch: int) -> None:
        """Write a change of definitions to the log, which applies from this epoch on."""
        if self.state is not None and not self.state.readonly and edits:
            self.state.write(Record(self.state.sequence + 1, epoch, edits=edits))

    def checkpoint(self, epochs: Epochs) -> None:
        """Write what the last checkpoint lacks."""
        with epochs.writing():
            state = self._writable("checkpoint")
            state.checkpoint(self.moment(state, epochs))

    def compact(self, epochs: Epochs) -> None:
        """Rewrite the whole state, and merge the engine's runs in files."""
        with epochs.writing():
            if epochs.engine.compact() and self.state is None:
                return
            state = self._writable("compact")
            state.checkpoint(self.moment(state, epochs), compact=True)

    def close(self, epochs: Epochs) -> None:
        """Write what the last checkpoint lacks, and close the directory: nothing may change after that.

        If epochs are broken, nothing is written: the log has all that was committed.
        """
        if epochs.failure is not None:
            state, self.state, self._is_closed = self.state, None, True
            if state is not None:
                state.close()
            return
        with epochs.writing():
            state, self.state = self.state, None
            if state is None:
                return
            self._is_closed = True
            try:
                if not state.readonly and not state.is_current:
                    state.checkpoint(self.moment(state, epochs))
            finally:
                state.close()

    @property
    def is_readonly(self) -> bool:
        """Whether the state is open for reading alone."""
        return self.state is not None and self.state.readonly

    def refuse_change(self) -> None:
        """Raise DelticError if nothing may change: the pipeline is closed, or its state is read-only."""
        if self._is_closed or self.state is not None:
            self._writable("a change")

    def moment(self, state: StateDirectory, epochs: Epochs) -> CheckpointContents:
        """Return the contents of a checkpoint of a state now."""
        engine = epochs.engine
        image = engine.capture() if epochs.have_begun else None
        facts = dict(epochs.positions), self.options, epochs.last.definitions.history
        return CheckpointContents(state.sequence, engine.epoch, engine.token, *facts, image)

    def _writable(self, what: str) -> StateDirectory:
        """Return the state for writing. DelticError if there is none."""
        if self._is_closed:
            raise DelticError("the pipeline is closed: open its state with another one")
        if self.state is None:
            raise DelticError(f"{what}: the pipeline keeps no state; open it with state=DIRECTORY")
        if self.state.readonly:
            raise ReadOnlyError(
                f"{what}: state {self.state.files.place} was opened with Durability(readonly=True); change it where it "
                f"is written: {self.state.writer}"
            )
        return self.state
