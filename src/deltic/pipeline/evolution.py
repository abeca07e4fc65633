"""The result of a change of definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltic.catalog import CatalogDifference
from deltic.engine.result import EpochResult
from deltic.errors import count_of
from deltic.html import facts
from deltic.pipeline.epochs.report import EpochReport, report_of
from deltic.pipeline.epochs.snapshot import change_of
from deltic.pipeline.io.rounding import RoundedValues
from deltic.pipeline.rows.rows import Delta
from deltic.values.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.pipeline.connectors.source import SourceReport


class Evolution:
    """The tables and views that were added, dropped or redefined, and the epoch of the change.

    Before a pipeline holds rows, all numbers of `report` are zero.
    """

    def __init__(
        self,
        difference: CatalogDifference,
        views: Mapping[str, Schema],
        result: EpochResult,
        spark: SparkSession | None,
        epoch: int = 0,
        pastless: tuple[str, ...] = (),
    ) -> None:
        self.pastless = pastless
        """New views of earlier epochs (`delayed`, `last`, `changes`, `total`), over tables that had epochs already.

        They begin with this epoch, except for what another view remembers of the same flow.
        """
        self._difference, self._views, self._result, self._spark = difference, views, result, spark
        self.loaded: Mapping[str, SourceReport] = {}
        """What SQL's CREATE TABLE … USING has read at once, by table, in the epoch after this one."""
        self.rounded: Mapping[str, RoundedValues] = {}
        """The values of first rows that `coerce` has rounded, by "table.column"."""
        self.report: EpochReport = report_of(result, epoch)
        """The epoch in numbers; `report.extension` says what the engine built, kept and dropped for it."""

    @property
    def added(self) -> tuple[str, ...]:
        """The new tables and views."""
        return self._difference.added

    @property
    def replaced(self) -> tuple[str, ...]:
        """The tables and views whose definition changed."""
        return self._difference.replaced

    @property
    def dropped(self) -> tuple[str, ...]:
        """The dropped tables and views."""
        return self._difference.dropped

    @property
    def dependent(self) -> tuple[str, ...]:
        """The views whose own definition stayed and that read a replaced one."""
        return self._difference.dependent

    def of(self, view: str) -> Delta:
        """Return the changed rows of a view; of a new view, all rows."""
        return change_of(view, self._result, self._views, {}, self._spark)

    def _repr_html_(self) -> str:
        named = {kind: getattr(self, kind) for kind in ("added", "replaced", "dropped", "dependent")}
        summary = facts({kind: ", ".join(names) for kind, names in named.items() if names})
        return summary + (self.report._repr_html_() if self.report.epoch else "")

    def __repr__(self) -> str:
        notes = self.report.extension.notes if self.report.extension is not None else []
        notes += [f"{view} knows no epoch before {self.report.epoch}" for view in self.pastless]
        notes += [f"{table}: {count_of(report.inserted, 'row')} read" for table, report in self.loaded.items()]
        rounded = {f"{table}.{c}": each for table, of in self.loaded.items() for c, each in of.rounded.items()}
        notes += [f"{column}: {each}" for column, each in {**rounded, **self.rounded}.items()]
        return "; ".join([str(self._difference), *notes])
