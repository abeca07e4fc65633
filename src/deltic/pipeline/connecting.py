"""Methods of a pipeline for external sources of tables and publications of views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltic.catalog import External
from deltic.errors import CatalogError, DelticError
from deltic.pipeline.definitions.altering import adding_columns
from deltic.pipeline.names import find
from deltic.pipeline.watching import Watching
from deltic.values.types import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltic.pipeline.connectors.refreshing import Refresher, RefreshReport


class Connecting(Watching):
    """Attaches sources to tables and refreshes these, and publishes views."""

    @cached_property
    def _refreshing(self) -> Refresher:
        """Refreshes tables from their sources, and publishes views."""
        from deltic.pipeline.connectors.refreshing import Refresher
        from deltic.pipeline.connectors.tasks import Tasks

        tasks = Tasks(self.spark, self._epochs.site, self._epochs.compared)
        return Refresher(self, lambda: self._keeping.files, tasks, self._add_columns)

    def _add_columns(self, table: str, columns: Sequence[Column]) -> None:
        """Add columns to a table because its source has them."""
        self._evolving.evolve(lambda now: adding_columns(now, table, columns))

    def attach(self, name: str, source: External | DataFrame | str | Path) -> None:
        """Give a table another source from the next refresh on; the difference is inserted and deleted.

        A DataFrame must be attached again in each process. Raises CatalogError.
        """
        find(name, "table", self.tables)
        place, frame = self._refreshing.place_of(source)
        if self.sources.get(name) != place:
            self._evolving.evolve(lambda now: now.attaching(name, place))
        self._refreshing.give(name, frame)

    def detach(self, name: str) -> None:
        """Give a table back the source of its definition, or none; its rows stay.

        Raises CatalogError where none was attached.
        """
        find(name, "table", self.tables)
        if name not in self.attached:
            raise CatalogError(f"{name} has no source that was attached to it")
        self._evolving.evolve(lambda now: now.attaching(name, None))
        self._refreshing.give(name, None)

    @property
    def attached(self) -> Mapping[str, External]:
        """The sources that `attach` gave to tables, by table; sources of definitions are not included."""
        return self._definitions.attached

    def refresh(self, full: bool = False, tables: Iterable[str] | None = None) -> RefreshReport:
        """Read the new rows of all sources, or of those of the named tables, in one epoch; publish views.

        A source reads what is new since the last refresh, as far as it can tell; `full` reads and compares all rows.
        The positions of the sources are part of the epoch, so that a refresh after a crash continues after it.

        A source that fails is left out: its table stays as it is, and the report's `failed` says why. The next refresh
        tries it again; from the second failure in a row on it waits one minute, two, four, up to an hour, unless you
        name the table. Where all sources fail, the first error is raised and all tables stay as they are: DataError
        where rows do not fit their table, ChangeError where they conflict, CatalogError where columns are missing.
        """
        self._keeping.refuse_change()
        return self._refreshing.refresh(full, None if tables is None else list(tables))

    def publish(self, view: str, to: External | str | Path) -> None:
        """Publish a view with each refresh from now on; part of the state.

        `to` is an External: a Delta table, a table of a database, a temporary view of Spark, a folder of Parquet files;
        or the path of such a folder. Present rows there stay. Raises CatalogError for an impossible target.
        """
        self._check_view(view)
        publication = self._refreshing.publication(view, to)
        if not self._definitions.published(view, publication.to):
            self._evolving.evolve(lambda now: now.publishing(publication))

    def unpublish(self, view: str, to: External | str | Path | None = None) -> None:
        """Stop publishing a view, to one target or to all. What was published stays. Raises DelticError."""
        place = None if to is None else self._refreshing.publication(view, to).to
        if not self._definitions.published(view, place):
            raise DelticError(f"{view} is not published{'' if place is None else f' to {place}'}")
        self._evolving.evolve(lambda now: now.unpublishing(view, place))

    def pending(self, positions: Mapping[str, Any] | None = None) -> dict[str, str]:
        """What the next `refresh` would read of each source, without reading it.

        With the `positions` of another pipeline of this program: what that pipeline would read.
        """
        return self._refreshing.pending(positions)
