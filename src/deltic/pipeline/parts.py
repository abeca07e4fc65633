"""What a pipeline is made of."""

from __future__ import annotations

from deltic.circuit.graph import Circuit
from deltic.engine.protocol import Engine
from deltic.engine.version import Version
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.evolving import DefinitionChanger
from deltic.pipeline.durability.state_keeper import StateKeeper
from deltic.pipeline.engines import Engines
from deltic.pipeline.epochs.active_transactions import ActiveTransactions
from deltic.pipeline.epochs.clock import Clock
from deltic.pipeline.epochs.epochs import Epochs
from deltic.pipeline.reading.reading import Reading


class PipelineParts(Reading):
    """Tables and views by name, and the parts of a pipeline that keep them, for all that is done with it."""

    _epochs: Epochs
    _evolving: DefinitionChanger
    _engines: Engines
    _keeping: StateKeeper
    _opened: ActiveTransactions
    _clock: Clock

    @property
    def _definitions(self) -> Definitions:
        return self._epochs.last.definitions

    @property
    def _place(self) -> str | None:
        return self._keeping.place

    def _version(self) -> Version:
        """The rows as they are now; what facts alone give is derived before the first transaction."""
        if not self._epochs.have_begun:
            self._engines.recursion.check(self.catalog)
            with self._epochs.writing():
                self._epochs.begin()
        return self._epochs.last.version

    def _displayed(self) -> Version:
        return self._epochs.last.version

    def _engine_of(self, circuit: Circuit) -> Engine:
        """An engine for one answer."""
        return self._clock.show(self._engines.for_answer(circuit), circuit)
