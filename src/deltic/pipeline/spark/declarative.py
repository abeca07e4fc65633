"""Views of Spark Declarative Pipelines that Deltic updates: it writes the files with changed rows, and Spark none.

AutoCDC would merge changes into a table, but its targets need row-level operations, and no table format has them on a
version of Spark that has AutoCDC. So the pipeline has a view of the catalog over the files that Deltic publishes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from deltic.catalog import External
from deltic.engine.files.address import absolute
from deltic.errors import DelticError
from deltic.extras import required
from deltic.pipeline.connectors.source import filled
from deltic.pipeline.spark.spark import quoted

if TYPE_CHECKING:
    from deltic.pipeline.session import Pipeline

_FORMATS = ("parquet", "delta")


def materialized_view(
    to: External | str | Path, *, name: str | None = None, comment: str | None = None
) -> Callable[[Callable[[], Pipeline]], None]:
    """Return a decorator that defines a view of Spark Declarative Pipelines, beside `dp.materialized_view`.

    The function returns the pipeline that has the view `name`, which is the function's own name by default. Each run
    refreshes this pipeline, publishes the view to the folder or Delta table `to`, and creates a view of that name over
    the files in Spark's catalog. Deltic writes only the files with changed rows, and Spark writes none.

    The refresh takes place where Spark reads the definitions. So a dry run refreshes too, and what the same run writes
    to other tables is read by the next one. Raises DelticError for a target that is neither.
    """
    place = to if isinstance(to, External) else External("parquet", path=absolute(to))
    if place.kind not in _FORMATS:
        raise DelticError(f"{place}: a view of a declarative pipeline is published as {' or '.join(_FORMATS)}")

    def define(function: Callable[[], Pipeline]) -> None:
        elements = required("pyspark.pipelines.graph_element_registry", "a declarative pipeline")
        registry, view = elements.get_active_graph_element_registry(), name or function.__name__
        with function() as pipeline:
            pipeline.publish(view, place)
            _log(str(pipeline.refresh()))
        registry.register_sql(_definition(view, place, comment), Path(function.__code__.co_filename))

    return define


def _log(report: str) -> None:
    """Write a report between the lines of the pipeline's own log."""
    log = required("pyspark.pipelines.logging_utils", "a declarative pipeline").log_with_curr_timestamp
    for line in report.splitlines():
        log(f"Deltic: {line}")


def _definition(view: str, place: External, comment: str | None) -> str:
    """Return the view over the published files, in Spark SQL."""
    told = "" if comment is None else " COMMENT '" + comment.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"CREATE VIEW {quoted(view)}{told} AS SELECT * FROM {place.kind}.{quoted(filled(place['path']))}"
