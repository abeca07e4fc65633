"""The kinds of sources and targets. Each is imported on demand, because many need a library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltic.catalog import External
from deltic.pipeline.connectors.source import ExternalSource, filled
from deltic.pipeline.connectors.target import ViewTarget
from deltic.pipeline.connectors.written import Publication

if TYPE_CHECKING:
    from deltic.pipeline.connectors.tasks import Tasks


def source_of(place: External, given: Any, spark: Any, pieces: Any, tasks: Tasks | None) -> ExternalSource:
    """Return the source of a table: `given` is its DataFrame, `pieces` store copies of files.

    Large ones may be read by `tasks`.
    """
    match place.kind:
        case "delta":
            from deltic.pipeline.connectors.delta import DeltaSource

            return DeltaSource(place, tasks)
        case "iceberg":
            from deltic.pipeline.connectors.iceberg import IcebergSource

            return IcebergSource(place, tasks)
        case "database" if place.get("slot"):
            from deltic.pipeline.connectors.replication import ReplicationSlot

            return ReplicationSlot(place)
        case "database" if place["url"].startswith("postgresql:") and place.get("changed") == "xmin":
            from deltic.pipeline.connectors.row_versions import RowVersions

            return RowVersions(place)
        case "database" if not place["url"].startswith("jdbc:"):
            from deltic.pipeline.connectors.database import DatabaseQuery

            return DatabaseQuery(place)
        case "spark" if not place.get("changed"):
            from deltic.pipeline.connectors.spark_tables import spark_source

            return spark_source(place, spark, tasks)
        case "database" | "spark" | "dataframe":
            from deltic.pipeline.connectors.frames import frame_source

            return frame_source(place, given, spark, tasks)
        case _:
            from deltic.pipeline.connectors.folder import FolderSource

            return FolderSource(place, pieces, tasks)


def target_of(publication: Publication, spark: Any) -> ViewTarget:
    """Return the target of a publication."""
    place = publication.to
    match place.kind:
        case "parquet":
            from deltic.pipeline.connectors.parquet_target import ParquetTarget

            return ParquetTarget(place)
        case "delta":
            from deltic.pipeline.connectors.delta_target import DeltaTarget

            return DeltaTarget(place)
        case "merge_on_read":
            from deltic.pipeline.connectors.merge_on_read import MergeOnReadTarget

            return MergeOnReadTarget(place)
        case "database":
            from deltic.pipeline.connectors.database import DatabaseTarget

            return DatabaseTarget(place, publication.id)
        case _:
            from deltic.pipeline.connectors.frames import SparkTarget

            return SparkTarget(filled(place["table"]), spark)
