"""Reports of epochs and state: records of Python's logging, and sizes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import pyarrow as pa

from deltic.engine.maintenance import Size
from deltic.engine.result import EpochResult
from deltic.pipeline.epochs.report import report_of

LOGGER = logging.getLogger("deltic")


@contextmanager
def logged(as_json: bool) -> Iterator[None]:
    """Log epochs to standard error during the block."""
    handler, level = logging.StreamHandler(), LOGGER.level
    handler.setFormatter(JsonLines() if as_json else logging.Formatter("%(asctime)s %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)


def unlogged() -> None:
    """Let no record go to standard error by default, in a process that prints what epochs report."""
    LOGGER.addHandler(logging.NullHandler())


def log_epoch(number: int, result: EpochResult) -> None:
    """Log an epoch at level INFO, where the record's attribute `deltic` has the numbers, and late rows as a warning."""
    for each in result.late:
        LOGGER.warning("epoch %d left out %s", number, each)
    if LOGGER.isEnabledFor(logging.INFO):
        report = report_of(result, number)
        changed = {name: [c.inserted, c.deleted] for name, c in report.changed.items()}
        recursions = [
            {"relations": list(c.relations), "strategy": c.strategy, "action": c.action, "reason": c.reason}
            | ({"way": c.way} if c.way else {})
            for c in report.components
        ]
        late = {each.table: {"rows": each.count, "watermark": str(each.watermark)} for each in report.late}
        phases = {phase: round(seconds, 6) for phase, seconds in report.phases.items()}
        fields = {**report.facts, "phases": phases, "changed": changed, "recursions": recursions, "late": late}
        LOGGER.info("epoch %d: %s", number, report, extra={"deltic": fields})


class JsonLines(logging.Formatter):
    """Each record as a line of JSON: time, level, message, and the numbers of an epoch."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat()
        fields = {"time": time, "level": record.levelname, "message": record.getMessage()}
        return json.dumps({**fields, **getattr(record, "deltic", {})}, ensure_ascii=False)


def sizes_table(sizes: Sequence[Size]) -> pa.Table:
    """Return the memory of relations: a row for each, and each order in which it is kept."""
    columns = {
        "relation": pa.array([size.relation for size in sizes], pa.string()),
        "role": pa.array([size.role for size in sizes], pa.string()),
        "columns": pa.array([", ".join(size.columns) for size in sizes], pa.string()),
        "entries": pa.array([size.entries for size in sizes], pa.int64()),
        "bytes": pa.array([size.bytes for size in sizes], pa.int64()),
    }
    return pa.table(columns)
