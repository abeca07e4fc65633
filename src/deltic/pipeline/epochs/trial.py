"""Epochs over the tables of one version, in an engine of their own, to try changes of a past epoch or a preview."""

from __future__ import annotations

from deltic.catalog import Catalog
from deltic.catalog.definitions import CLOCK
from deltic.circuit.operators import Delay, Differentiate, Integrate
from deltic.errors import UnsupportedError
from deltic.pipeline.engines import on_demand
from deltic.pipeline.epochs.clock import AnswerEngine, Clock
from deltic.pipeline.epochs.epochs import Epochs
from deltic.pipeline.reading.reading import PublishedEpoch


def trial(published: PublishedEpoch, engine_of: AnswerEngine) -> Epochs:
    """Epochs of a new engine that holds the tables of a version; raises UnsupportedError where they do not suffice."""
    catalog, version = published.definitions.catalog, published.version
    _check_suffices(catalog, version.epoch)
    circuit, _ = on_demand(catalog)
    clock = Clock.of(catalog, version)
    engine = engine_of(circuit, clock)
    tables = catalog.tables.keys() - {CLOCK.name}
    engine.apply({name: version.read(name, table=True, counted=True) for name in tables}, "trust")
    engine.epoch = engine.version.epoch = max(version.epoch, 1)
    return Epochs(engine, published.definitions, 1, None, lambda _: None, lambda _: None, lambda _, __: None, clock)


def _check_suffices(catalog: Catalog, epoch: int) -> None:
    """Raise UnsupportedError if the views of an epoch do not follow from its tables alone."""
    for view in catalog.view_schemas:
        if catalog.circuit_of(view).kinds & {Delay, Integrate, Differentiate}:
            raise UnsupportedError(
                f"changes of epoch {epoch} cannot be tried: {view} depends on earlier epochs too, and its tables do "
                "not have them; try them in the last epoch"
            )
    for table in catalog.tables.values():
        if table.lateness is not None:
            raise UnsupportedError(
                f"changes of epoch {epoch} cannot be tried: {table.name} has a lateness, and what was computed of "
                "forgotten rows cannot be computed again; try them in the last epoch"
            )
