"""The parts of a pipeline that its methods share."""

from __future__ import annotations

from deltic.circuit.graph import Circuit
from deltic.engine.protocol import Engine
from deltic.pipeline.definitions.evolving import DefinitionChanger
from deltic.pipeline.durability.state_keeper import StateKeeper
from deltic.pipeline.engines import Engines
from deltic.pipeline.epochs.active_transactions import ActiveTransactions
from deltic.pipeline.epochs.clock import Clock
from deltic.pipeline.epochs.epochs import Epochs
from deltic.pipeline.reading.reading import EpochSource, PublishedEpoch, Reading


class LiveEpochs(EpochSource):
    """The last committed epoch of a pipeline."""

    def __init__(self, epochs: Epochs, engines: Engines, keeping: StateKeeper) -> None:
        self._epochs, self._engines, self._keeping = epochs, engines, keeping

    @property
    def place(self) -> str | None:
        """Where the state is kept; None for memory."""
        return self._keeping.place

    def last(self) -> PublishedEpoch:
        """The last epoch."""
        return self._epochs.last

    def present(self) -> PublishedEpoch:
        """The last epoch; rows that follow from facts alone are derived before the first transaction."""
        if not self._epochs.have_begun:
            self._engines.recursion.check(self._epochs.last.definitions.catalog)
            with self._epochs.writing():
                self._epochs.begin()
        return self._epochs.last


class PipelineParts(Reading):
    """The parts of a pipeline: epochs, definitions, engines, state."""

    _epochs: Epochs
    _evolving: DefinitionChanger
    _engines: Engines
    _keeping: StateKeeper
    _opened: ActiveTransactions
    _clock: Clock

    def _engine_of(self, circuit: Circuit) -> Engine:
        """An engine for one answer."""
        return self._clock.show(self._engines.for_answer(circuit), circuit)
