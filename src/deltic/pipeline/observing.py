"""Reports of epochs and state: records of Python's logging, numbers in Prometheus' text format, sizes."""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any

import pyarrow as pa

from deltic.engine.result import EpochResult
from deltic.engine.size import Size
from deltic.errors import DelticError
from deltic.pipeline.epochs.report import report_of

LOGGER = logging.getLogger("deltic")


@contextmanager
def logged(as_json: bool) -> Iterator[None]:
    """Let records of epochs go to standard error while the block lasts."""
    handler, level = logging.StreamHandler(), LOGGER.level
    handler.setFormatter(JsonLines() if as_json else logging.Formatter("%(asctime)s %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)


Labels = tuple[tuple[str, str], ...]


def log_epoch(number: int, result: EpochResult) -> None:
    """One record for an epoch, on level INFO; its `deltic` has the numbers."""
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
    """The memory of relations: a row for each, and each order in which it is kept."""
    columns = {
        "relation": pa.array([size.relation for size in sizes], pa.string()),
        "role": pa.array([size.role for size in sizes], pa.string()),
        "columns": pa.array([", ".join(size.columns) for size in sizes], pa.string()),
        "entries": pa.array([size.entries for size in sizes], pa.int64()),
        "bytes": pa.array([size.bytes for size in sizes], pa.int64()),
    }
    return pa.table(columns)


class Metrics:
    """Sums over the epochs of a pipeline, and the sizes of its state when they are asked for."""

    def __init__(
        self,
        rows: Mapping[str, int],
        sizes: Callable[[], list[Size]],
        watermarks: Callable[[], Mapping[str, Any]],
        observers: list[Callable[[int, EpochResult], None]],
    ) -> None:
        self._lock, self._sizes, self._watermarks, self._observers = Lock(), sizes, watermarks, observers
        observers.append(self.epoch)
        self._sums: dict[str, defaultdict[Labels, float]] = {name: defaultdict(float) for name in _FAMILIES}
        self._sums["deltic_view_rows"].update({(("view", view),): count for view, count in rows.items()})

    def close(self) -> None:
        """Add no more epochs."""
        self._observers.remove(self.epoch)

    def epoch(self, number: int, result: EpochResult) -> None:
        """Add an epoch."""
        report = report_of(result, number)
        with self._lock:
            self._sums["deltic_epoch"][()] = number
            self._sums["deltic_epochs_total"][()] += 1
            self._sums["deltic_rows_in_total"][()] += report.rows_in
            self._sums["deltic_rows_visited_total"][()] += report.rows_visited
            self._sums["deltic_bytes_read_total"][()] += report.bytes_read
            self._sums["deltic_bytes_written_total"][()] += report.bytes_written
            self._sums["deltic_seconds_total"][()] += report.seconds
            for phase, seconds in report.phases.items():
                self._sums["deltic_phase_seconds_total"][(("phase", phase),)] += seconds
            for view in result.extension.ended if result.extension is not None else ():
                self._sums["deltic_view_rows"].pop((("view", view),), None)
            for view, changed in report.changed.items():
                label = ("view", view)
                self._sums["deltic_view_rows"][(label,)] += changed.inserted - changed.deleted
                for sign, count in (("inserted", changed.inserted), ("deleted", changed.deleted)):
                    self._sums["deltic_view_changes_total"][(label, ("change", sign))] += count
            for late in report.late:
                self._sums["deltic_late_rows_total"][(("table", late.table),)] += late.count
            for component in report.components:
                labels = (("recursion", ",".join(component.relations)), ("action", component.action))
                self._sums["deltic_recursion_seconds_total"][labels] += component.seconds

    def text(self) -> str:
        """All metrics in Prometheus' text format."""
        sizes: Counter[Labels] = Counter()
        for size in self._sizes():
            sizes[(("relation", size.relation), ("role", size.role))] += size.bytes
        marks: dict[Labels, float] = {
            (("table", name),): _number(mark) for name, mark in self._watermarks().items() if mark is not None
        }
        with self._lock:
            families: dict[str, Mapping[Labels, float]] = {
                **self._sums,
                "deltic_watermark": marks,
                "deltic_state_bytes": sizes,
            }
            return "".join(f"{line}\n" for name, values in families.items() for line in _family(name, values))


_FAMILIES = {
    "deltic_epoch": ("gauge", "The number of the last epoch."),
    "deltic_epochs_total": ("counter", "Epochs since the metrics are served."),
    "deltic_rows_in_total": ("counter", "Rows of tables that changed."),
    "deltic_rows_visited_total": ("counter", "Rows and index entries that epochs read."),
    "deltic_bytes_read_total": ("counter", "Bytes of files that Spark jobs of epochs have read."),
    "deltic_bytes_written_total": ("counter", "Bytes that Spark jobs of epochs have put into files."),
    "deltic_seconds_total": ("counter", "Seconds that epochs took."),
    "deltic_phase_seconds_total": ("counter", "Seconds that epochs took, by what they were spent on."),
    "deltic_view_rows": ("gauge", "Rows of a view."),
    "deltic_view_changes_total": ("counter", "Rows of a view that came or went."),
    "deltic_late_rows_total": ("counter", "Changes of a table that came too late and were left out."),
    "deltic_recursion_seconds_total": ("counter", "Seconds that a recursion took, updated or recomputed."),
    "deltic_watermark": ("gauge", "The time before which rows of a table are late: seconds since 1970, or an integer."),
    "deltic_state_bytes": ("gauge", "Bytes that are kept of a relation, by what for."),
}


def _number(mark: date | int) -> float:
    """A watermark as a number."""
    if isinstance(mark, int):
        return mark
    at = mark if isinstance(mark, datetime) else datetime(mark.year, mark.month, mark.day, tzinfo=UTC)
    return (at.replace(tzinfo=UTC) if at.tzinfo is None else at).timestamp()


def _family(name: str, values: Mapping[Labels, float]) -> Iterator[str]:
    kind, help_text = _FAMILIES[name]
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in sorted(values.items()):
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        yield f"{name}{{{shown}}} {value:.15g}" if shown else f"{name} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class MetricsServer:
    """Serves metrics by HTTP until `close`, or the end of a with-block. `port` is where."""

    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        self._metrics = metrics

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path not in ("/", "/metrics"):
                    self.send_error(404)
                    return
                body = metrics.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except (OSError, OverflowError) as error:
            metrics.close()
            raise DelticError(f"metrics cannot be served at {host}:{port}: {error}; choose another port") from error
        self.port: int = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, daemon=True, name="deltic-metrics")
        self._thread.start()

    def close(self) -> None:
        """Serve no more."""
        self._metrics.close()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
