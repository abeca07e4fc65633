"""Changing definitions while tables hold rows: new views are computed, unchanged ones are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from deltic.calculus.planning.magic import PushedDemand
from deltic.catalog import Catalog, CatalogDifference, CatalogTable
from deltic.catalog.definitions import CLOCK, FormerTable
from deltic.circuit.operators import Delay, Differentiate, Integrate
from deltic.collecting import RareCollections
from deltic.engine.image import Saved
from deltic.engine.result import EpochResult
from deltic.errors import CatalogError
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.front_end import NO_OPTIONS, SourceOptions
from deltic.pipeline.definitions.growing import grown
from deltic.pipeline.definitions.programs import program_of
from deltic.pipeline.durability.state_keeper import StateKeeper
from deltic.pipeline.engines import Engines
from deltic.pipeline.epochs.active_transactions import ActiveTransactions
from deltic.pipeline.epochs.clock import both
from deltic.pipeline.epochs.epochs import Epochs, LoggedEpoch
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.rows.carrying import carried, formers
from deltic.sql.statements.program import FRONT as SQL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DefinitionChanger:
    """Changes the definitions of a pipeline; after an exception definitions and rows are unchanged."""

    def __init__(
        self,
        epochs: Epochs,
        engines: Engines,
        keeping: StateKeeper,
        opened: ActiveTransactions,
        spark: SparkSession | None,
    ) -> None:
        self.epochs, self.engines = epochs, engines
        self._keeping, self._opened, self._spark = keeping, opened, spark
        self.pushed: tuple[PushedDemand, ...] = ()
        """The recursions that derive demanded rows alone."""

    def evolve(self, change: Callable[[Definitions], Definitions]) -> Evolution:
        """Switch to other definitions; where the first view reads the time, one more epoch sets the clock."""
        self._keeping.refuse_change()
        self._opened.refuse("definitions are changed before or after it")
        with self.epochs.writing():
            before = self._catalog
            difference, result = self.go_on(change)
            if self.epochs.have_begun and CLOCK.name in self._catalog.tables.keys() - before.tables.keys():
                with self.epochs.prepare({}, "error") as epoch:
                    committed = self.epochs.commit(epoch, LoggedEpoch({}, "error"))
                result = replace(result, changes=both(result.changes, committed.changes))
            return self._evolution(difference, result)

    def redefine(self, program: str | Path, options: SourceOptions = NO_OPTIONS, language: str = "") -> Evolution:
        """Switch to the definitions of a program alone; raises CatalogError where this would drop a table with rows."""
        now = self.epochs.last
        wanted = program_of(program, now.definitions, options, language)
        difference = CatalogDifference.between(now.definitions.catalog, wanted.catalog)
        carried_on = {former.table.name for former in formers(now.definitions.catalog, wanted.catalog).values()}
        if wanted.history == now.definitions.history:
            return self._evolution(difference, EpochResult())
        for name in difference.dropped:
            if name not in now.definitions.catalog.shown_tables or not self.epochs.have_begun or name in carried_on:
                continue
            if now.version.count(name, table=True):
                raise CatalogError(
                    f"table {name} holds rows, and the program does not declare it; declare it, or drop {name} first"
                )
        return self.evolve(lambda _: wanted)

    def nothing(self) -> Evolution:
        """Return the evolution that changes nothing."""
        return Evolution(CatalogDifference(), self._catalog.view_schemas, EpochResult(), self._spark)

    def restore(self, definitions: Definitions, saved: Saved | None, tables_alone: bool) -> None:
        """Restore the definitions and rows of a checkpoint."""
        circuit, self.pushed = self.engines.asked(definitions.catalog)
        engines = self.engines
        engine = engines.new(circuit) if saved is None else engines.restored(circuit, saved, tables_alone)
        self.epochs.restore(engine, definitions)

    @RareCollections()
    def go_on(self, change: Callable[[Definitions], Definitions]) -> tuple[CatalogDifference, EpochResult]:
        """Switch to other definitions as one epoch, while no other thread writes."""
        before = self.epochs.last.definitions
        definitions = change(before)
        difference = CatalogDifference.between(before.catalog, definitions.catalog)
        circuit, pushed = self.engines.asked(definitions.catalog)
        log = partial(self._keeping.log_edits, definitions.since(before))
        if self.epochs.have_begun:
            self.engines.recursion.check(definitions.catalog)
            altered = formers(before.catalog, definitions.catalog)
            self._refuse_lost_rows(definitions.catalog, difference, altered)
            rows = carried(self.epochs.last.version, definitions.catalog, altered)

            def checked_log(epoch: int, made: EpochResult) -> None:
                _refuse_forgotten(made, difference)
                log(epoch)

            result = self.epochs.extend(circuit, definitions, checked_log, rows)
        else:
            result, engine = EpochResult(), self.engines.new(circuit)
            log(self.epochs.engine.epoch)
            self.epochs.replace(engine, definitions)
        self.pushed = pushed
        return difference, result

    def _refuse_lost_rows(
        self, catalog: Catalog, difference: CatalogDifference, altered: Mapping[str, FormerTable]
    ) -> None:
        """Raise CatalogError where a table with rows would be dropped or have other columns.

        `altered` tables keep their rows in a new form.
        """
        tables, version = self._catalog.tables, self.epochs.last.version
        for name in difference.replaced:
            if name in altered:
                continue
            if name not in self._catalog.shown_tables or not version.count(name, table=True):
                continue
            if name not in catalog.tables:
                raise CatalogError(
                    f"{name} is a table and holds rows; the program's rules would make it a view without them. "
                    f"Add `.input {name}` to the program, so that it is both"
                )
            if catalog.tables[name] != tables[name]:
                raise CatalogError(_why_not(tables[name], catalog, name))

    @property
    def _catalog(self) -> Catalog:
        return self.epochs.last.definitions.catalog

    def _evolution(self, difference: CatalogDifference, result: EpochResult) -> Evolution:
        epoch, catalog = self.epochs.last.version.epoch, self._catalog
        shown = [name for name in (*difference.added, *difference.replaced) if name in catalog.view_schemas]
        pastless = tuple(v for v in shown if epoch and catalog.circuit_of(v).kinds & {Delay, Integrate, Differentiate})
        return Evolution(difference, catalog.view_schemas, result, self._spark, epoch, pastless)


def _why_not(former: CatalogTable, catalog: Catalog, name: str) -> str:
    """Return why a table with rows cannot have its new declaration."""
    table = catalog.tables[name]
    if catalog.front(name) == SQL:
        try:
            grown(former, table)
        except CatalogError as error:
            return f"table {name} holds rows: {error}"
    return (
        f"{name} is a table and holds rows, and {table} could not hold them; ALTER TABLE {name}, as by deltic sql "
        f"--state DIR, changes it and keeps its rows; or drop {name} first"
    )


def _refuse_forgotten(made: EpochResult, difference: CatalogDifference) -> None:
    """Raise CatalogError where an unchanged view would lose rows that its tables have forgotten."""
    partial = made.extension.partial if made.extension is not None else {}
    for view in set(difference.kept) - set(difference.dependent):
        if view in partial:
            raise CatalogError(
                f"with these definitions view {view} would be planned again, and rows of {', '.join(partial[view])} "
                "that it was computed from have been forgotten; nothing was changed. Define what is new over tables "
                "alone, or in a pipeline of its own"
            )
