"""Sums over epochs, and the sizes of the state, as metrics of Prometheus; a server of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from threading import Lock
from typing import Any

from prometheus_client import generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from deltic.engine.maintenance import Size
from deltic.engine.result import EpochResult
from deltic.errors import DelticError
from deltic.pipeline.epochs.report import report_of

_COUNTER, _GAUGE = CounterMetricFamily, GaugeMetricFamily

Labels = tuple[str, ...]
"""The values of a metric's labels."""


class Metrics(Collector):
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
        self._sums: dict[str, defaultdict[Labels, float]] = {name: defaultdict(float) for name in FAMILIES}
        self._sums["deltic_view_rows"].update({(view,): count for view, count in rows.items()})

    def close(self) -> None:
        """Stop adding epochs."""
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
                self._sums["deltic_phase_seconds_total"][phase,] += seconds
            for view in result.extension.ended if result.extension is not None else ():
                self._sums["deltic_view_rows"].pop((view,), None)
            for view, changed in report.changed.items():
                self._sums["deltic_view_rows"][view,] += changed.inserted - changed.deleted
                for sign, count in (("inserted", changed.inserted), ("deleted", changed.deleted)):
                    self._sums["deltic_view_changes_total"][view, sign] += count
            for late in report.late:
                self._sums["deltic_late_rows_total"][late.table,] += late.count
            for component in report.components:
                recursion = ",".join(component.relations)
                self._sums["deltic_recursion_seconds_total"][recursion, component.action] += component.seconds

    def collect(self) -> list[CounterMetricFamily | GaugeMetricFamily]:
        """Return all metrics."""
        sizes: Counter[Labels] = Counter()
        for size in self._sizes():
            sizes[size.relation, size.role] += size.bytes
        marks: dict[Labels, float] = {
            (name,): _number(mark) for name, mark in self._watermarks().items() if mark is not None
        }
        with self._lock:
            values: dict[str, Mapping[Labels, float]] = {
                **self._sums,
                "deltic_watermark": marks,
                "deltic_state_bytes": sizes,
            }
            return [_family(name, values[name]) for name in FAMILIES]

    def text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self).decode()


FAMILIES: dict[str, tuple[type[CounterMetricFamily | GaugeMetricFamily], str, Labels]] = {
    "deltic_epoch": (_GAUGE, "The number of the last epoch.", ()),
    "deltic_epochs_total": (_COUNTER, "Epochs since the metrics are served.", ()),
    "deltic_rows_in_total": (_COUNTER, "Rows of tables that changed.", ()),
    "deltic_rows_visited_total": (_COUNTER, "Rows and index entries that epochs read.", ()),
    "deltic_bytes_read_total": (_COUNTER, "Bytes of files that Spark jobs of epochs have read.", ()),
    "deltic_bytes_written_total": (_COUNTER, "Bytes that Spark jobs of epochs have put into files.", ()),
    "deltic_seconds_total": (_COUNTER, "Seconds that epochs took.", ()),
    "deltic_phase_seconds_total": (_COUNTER, "Seconds that epochs took, by phase.", ("phase",)),
    "deltic_view_rows": (_GAUGE, "Rows of a view.", ("view",)),
    "deltic_view_changes_total": (_COUNTER, "Rows of a view that came or went.", ("view", "change")),
    "deltic_late_rows_total": (_COUNTER, "Changes of a table that came too late and were left out.", ("table",)),
    "deltic_recursion_seconds_total": (
        _COUNTER,
        "Seconds that a recursion took, updated or recomputed.",
        ("recursion", "action"),
    ),
    "deltic_watermark": (
        _GAUGE,
        "The time before which rows of a table are late: seconds since 1970, or an integer.",
        ("table",),
    ),
    "deltic_state_bytes": (_GAUGE, "Bytes that are kept of a relation, by their role.", ("relation", "role")),
}
"""The kind of each metric, what it says, and its labels."""


def _number(mark: date | int) -> float:
    """Return a watermark as a number."""
    if isinstance(mark, int):
        return mark
    at = mark if isinstance(mark, datetime) else datetime(mark.year, mark.month, mark.day, tzinfo=UTC)
    return (at.replace(tzinfo=UTC) if at.tzinfo is None else at).timestamp()


def _family(name: str, values: Mapping[Labels, float]) -> CounterMetricFamily | GaugeMetricFamily:
    kind, help_text, labels = FAMILIES[name]
    family = kind(name, help_text, labels=labels)
    for of, value in sorted(values.items()):
        family.add_metric(of, value)
    return family


class MetricsServer:
    """Serves metrics by HTTP until `close`, or the end of a with-block. `port` is where."""

    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        self._metrics = metrics
        try:
            self._server, _ = start_http_server(port, host, metrics)
        except (OSError, OverflowError) as error:
            metrics.close()
            raise DelticError(f"metrics cannot be served at {host}:{port}: {error}; choose another port") from error
        self.port = self._server.server_port

    def close(self) -> None:
        """Stop serving."""
        self._metrics.close()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
