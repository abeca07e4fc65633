"""Memory and disk space of a pipeline."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from deltic.pipeline.durability.status import Status, status_of
from deltic.pipeline.session import Pipeline

_PATIENCE = 0.05
"""Seconds for which sizes wait for the epoch that is run."""


def sizes_of(pipeline: Pipeline) -> dict[str, int]:
    """The bytes of memory of each table and view, with their shares of hidden relations; raises BusyError."""
    result, views = Counter[str](), pipeline.views_by_relation()
    for row in pipeline.sizes(timeout=_PATIENCE):
        owners = views.get(row.relation, (row.relation,))
        for owner in owners:
            result[owner] += row.bytes // len(owners)
    return dict(result)


def disk_of(pipeline: Pipeline) -> Status | None:
    """The state's files on the local disk; None where it has none there."""
    place = pipeline.place
    return None if place is None or not Path(place).is_dir() else status_of(place)
