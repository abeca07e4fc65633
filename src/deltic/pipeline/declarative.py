"""Views of Spark Declarative Pipelines that Deltic updates: it writes the changed rows, and Spark writes none.

AutoCDC would merge changes into a table, but its targets need row-level operations, and no table format has them on a
version of Spark that has AutoCDC. So the pipeline has a view of the catalog, which merges files of Deltic on reading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deltic.catalog import External
from deltic.circuit.tables import WEIGHT
from deltic.engine.files.address import absolute
from deltic.errors import DelticError
from deltic.extras import required
from deltic.pipeline.connectors.merge_on_read import MergeOnReadTarget
from deltic.pipeline.spark.connect_literals import written_text
from deltic.pipeline.spark.spark import quoted

if TYPE_CHECKING:
    from deltic.pipeline.session import Pipeline


def materialized_view(
    to: str | Path, *, name: str | None = None, comment: str | None = None
) -> Callable[[Callable[[], Pipeline]], None]:
    """Return a decorator that defines a view of Spark Declarative Pipelines, beside `dp.materialized_view`.

    The function returns the pipeline that has the view `name`, which is the function's own name by default. Each run
    refreshes this pipeline, writes the changes of the view to the folder or address `to`, and creates a view of that
    name in Spark's catalog, which merges rows and changes. Nobody else may refresh the pipeline: a view of the catalog
    reads the files of its run, which are removed by the second run after it.

    The refresh takes place where Spark reads the definitions. So a dry run refreshes too, and what the same run writes
    to other tables is read by the next one.
    """
    place = External("merge_on_read", path=absolute(to))

    def define(function: Callable[[], Pipeline]) -> None:
        elements = required("pyspark.pipelines.graph_element_registry", "a declarative pipeline")
        registry, view = elements.get_active_graph_element_registry(), name or function.__name__
        made = function()
        if not hasattr(made, "publish"):
            raise DelticError(f"{view}: return the deltic.Pipeline that has the view, not {made!r}")
        with made as pipeline:
            pipeline.publish(view, place)
            _log(str(pipeline.refresh()))
            columns = pipeline.views[view].names
        text = _definition(view, comment, spark_query(MergeOnReadTarget(place), columns))
        registry.register_sql(text, Path(function.__code__.co_filename))

    return define


def _log(report: str) -> None:
    """Write a report between the lines of the pipeline's own log."""
    log = required("pyspark.pipelines.logging_utils", "a declarative pipeline").log_with_curr_timestamp
    for line in report.splitlines():
        log(f"Deltic: {line}")


def spark_query(target: MergeOnReadTarget, columns: Sequence[str]) -> str:
    """Return the query over the files of a target. DelticError for a path that Spark takes for a pattern."""
    if set(target.address) & set("*?[]{}\\"):
        raise DelticError(f"{target.address}: Spark reads a pattern in it; publish to a path without *?[]{{}}\\")
    rows, changes = target.paths()
    files = None if changes is None else f"parquet.{quoted(changes)}"
    return _merging([quoted(name) for name in columns], f"parquet.{quoted(rows)}", files)


def _merging(columns: Sequence[str], rows: str, changes: str | None) -> str:
    """Return the query of Spark that merges rows and their changes, each at a path; columns are quoted.

    Rows that no change names are taken as they are: a scan with an anti-join. The others are counted.
    """
    names = ", ".join(columns)
    if changes is None:
        return f"SELECT {names} FROM {rows}"
    same = " AND ".join(f"r.{name} <=> c.{name}" for name in columns)
    own = ", ".join(f"r.{name}" for name in columns)
    return (
        f"SELECT {own} FROM {rows} AS r LEFT ANTI JOIN {changes} AS c ON {same} UNION ALL "
        f"SELECT {names} FROM (SELECT {names}, sum({WEIGHT}) AS {WEIGHT} FROM ("
        f"SELECT {own}, 1L AS {WEIGHT} FROM {rows} AS r LEFT SEMI JOIN {changes} AS c ON {same} UNION ALL "
        f"SELECT {names}, {WEIGHT} FROM {changes}) GROUP BY {names}) "
        f"LATERAL VIEW explode(array_repeat(0, CAST({WEIGHT} AS INT))) AS __copy__"
    )


def _definition(view: str, comment: str | None, query: str) -> str:
    """Return the definition of a view of Spark's catalog."""
    described = "" if comment is None else f" COMMENT {written_text(comment)}"
    return f"CREATE VIEW {quoted(view)}{described} AS {query}"
