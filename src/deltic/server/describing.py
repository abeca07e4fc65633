"""A pipeline and what its server does, as JSON: what the console and other tools show."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltic import __version__
from deltic.catalog import Catalog
from deltic.pipeline.registry import listed
from deltic.pipeline.session import Pipeline
from deltic.server.activity import LoggedError, RelationWork
from deltic.server.following import Follower
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.server.service import Service


def described_catalog(pipeline: Pipeline) -> dict[str, Any]:
    """The tables and views that can be read, with what defines them; and the names of functions of SQL."""
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
    """How a view is kept fresh: as text, and by relation with what each query has cost."""
    return {
        "view": view,
        "text": str(pipeline.explain(view)),
        "full": str(pipeline.explain(view, full=True)),
        "relations": [asdict(plan) for plan in pipeline.maintenance(view)],
    }


def described_status(service: Service, program: str, since: int) -> dict[str, Any]:
    """What the server does, with the epochs after one."""
    pipeline, activity, sizes = service.pipeline, service.activity, service.sizes()
    return {
        "program": program,
        "version": __version__,
        "started": activity.started,
        "now": datetime.now(UTC),
        "epoch": pipeline.epoch,
        "relations": _costs(service, sizes),
        "epochs": activity.epochs(since),
        "memory": {"resident": _resident(), "state": sum(sizes.values()), "limit": None},
        "disk": _disk(pipeline.place),
        "waiting": service.writer.waiting,
        "errors": list(map(_error, activity.errors())),
        "sources": service.sources(),
        "subscriptions": [_subscription(each, pipeline.epoch) for each in service.following()],
    }


def _costs(service: Service, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Each relation, hidden ones too, with its rows, its memory, and what it has cost."""
    pipeline, work = service.pipeline, service.activity.work()
    seen = pipeline.snapshot()
    kinds = dict.fromkeys(seen.tables, "table") | dict.fromkeys(seen.views, "view")
    kinds |= {name: "hidden" for name in (*sizes, *work) if name not in kinds}
    result = []
    for name, kind in kinds.items():
        done = work.get(name, RelationWork())
        rows = None if kind == "hidden" else service.counts.of(name, done.last_epoch, seen)
        result.append({"name": name, "kind": kind, "rows": rows, "bytes": sizes.get(name, 0), **vars(done)})
    return result


def _error(error: LoggedError) -> dict[str, Any]:
    return {**vars(error)}


def _subscription(follower: Follower, epoch: int) -> dict[str, Any]:
    return {
        "view": follower.view,
        "client": follower.client,
        "position": follower.position,
        "queued": epoch - follower.position,
        "since": follower.begun,
    }


def sizes_of(pipeline: Pipeline) -> dict[str, int]:
    """The bytes of memory of each relation."""
    result = Counter[str]()
    for row in pipeline.sizes():
        result[row.relation] += row.bytes
    return dict(result)


def _resident() -> int | None:
    """The memory of this process in bytes, where the system tells."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _disk(place: str | None) -> dict[str, int] | None:
    """The bytes of a state on the local disk."""
    if place is None or not Path(place).is_dir():
        return None
    used = 0
    for path in Path(place).rglob("*"):
        try:
            used += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # a file that was removed meanwhile
            continue
    return {"used": used}
