"""A pipeline and its server as JSON, for the console and other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from deltic import __version__
from deltic.catalog import Catalog
from deltic.engine.resources import memory_held, memory_limit
from deltic.pipeline.durability.status import Status
from deltic.pipeline.registry import listed
from deltic.pipeline.session import Pipeline
from deltic.pipeline.streaming.rejected import tables_of_rejects
from deltic.server.activity import RelationWork
from deltic.server.following import Follower
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.server.service import Service


def described_catalog(pipeline: Pipeline) -> dict[str, Any]:
    """Return the readable tables and views with their definitions, and the names of SQL functions."""
    seen = pipeline.snapshot()
    relations = [_relation(pipeline, seen.catalog, name, schema) for name, schema in (seen.tables | seen.views).items()]
    functions = sorted({name for each in listed() for name in each.languages.get("SQL", ())})
    return {"epoch": seen.epoch, "relations": relations, "functions": functions}


def _relation(pipeline: Pipeline, catalog: Catalog, name: str, schema: Schema) -> dict[str, Any]:
    table, view = catalog.tables.get(name), catalog.views.get(name)
    reads = next((list(d.reads) for d in catalog.definitions if name in d.names), [])
    source = pipeline.sources.get(name)
    return {
        "name": name,
        "kind": "table" if view is None else "view",
        "columns": [{"name": c.name, "type": str(c.type), "nullable": c.nullable} for c in schema],
        "key": list(table.key) if table is not None else [],
        "reads": [other for other in reads if other in catalog.table_schemas or other in catalog.views],
        "language": catalog.front(name),
        "place": (view or table).place if view or table else "",  # type: ignore[union-attr]
        "text": (view or table).text if view or table else "",  # type: ignore[union-attr]
        "source": None if source is None else str(source),
        "published": [str(each.to) for each in pipeline.publications if each.view == name],
    }


def described_plan(pipeline: Pipeline, view: str) -> dict[str, Any]:
    """Return the plan of a view: as text, and by relation with the costs of each query."""
    return {
        "view": view,
        "text": str(pipeline.explain(view)),
        "full": str(pipeline.explain(view, full=True)),
        "relations": [asdict(plan) for plan in pipeline.maintenance(view)],
    }


def described_status(service: Service, program: str, since: int) -> dict[str, Any]:
    """Return the status of the server, with the epochs after a given one."""
    pipeline, activity, sizes, disk = service.pipeline, service.activity, service.sizes(), service.disk()
    return {
        "program": program,
        "version": __version__,
        "started": activity.started,
        "now": datetime.now(UTC),
        "epoch": pipeline.epoch,
        "relations": list(_costs(service, sizes, disk)),
        "epochs": activity.epochs(since),
        "minutes": activity.minutes(since),
        "memory": {"resident": memory_held(), "state": sum(sizes.values()), "limit": memory_limit()},
        "disk": None if disk is None else {"used": disk.file_bytes, "log": disk.log_bytes},
        "waiting": service.writer.waiting,
        "errors": list(map(vars, activity.errors())),
        "sources": service.sources(),
        "rejected": list(_rejected(service)),
        "subscriptions": [_subscription(each, pipeline.epoch) for each in service.following()],
    }


def _costs(service: Service, sizes: Mapping[str, int], disk: Status | None) -> Iterator[dict[str, Any]]:
    """Yield each table and view with its rows, memory, disk space and costs."""
    work, seen = service.activity.work(), service.pipeline.snapshot()
    kept = {relation.name: relation.bytes for relation in disk.relations} if disk else {}
    for name, kind in (dict.fromkeys(seen.tables, "table") | dict.fromkeys(seen.views, "view")).items():
        done = work.get(name, RelationWork())
        yield {
            "name": name,
            "kind": kind,
            "rows": service.counts.of(name, done.last_epoch, seen),
            "bytes": sizes.get(name, 0),
            "disk_bytes": kept.get(name),
            **vars(done),
        }


def _rejected(service: Service) -> Iterator[dict[str, Any]]:
    """Yield the number of rejected rows of streams, and the tables that hold them."""
    work, seen = service.activity.work(), service.pipeline.snapshot()
    for table, kept in tables_of_rejects(seen.tables).items():
        last = work.get(kept, RelationWork()).last_epoch
        yield {"table": table, "in": kept, "rows": service.counts.of(kept, last, seen), "last_epoch": last}


def _subscription(follower: Follower, epoch: int) -> dict[str, Any]:
    return {
        "view": follower.view,
        "client": follower.client,
        "position": follower.position,
        "queued": epoch - follower.position,
        "since": follower.begun,
    }
