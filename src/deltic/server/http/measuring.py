"""Metrics in Prometheus' text format: of the pipeline's epochs and state, and of requests and clients."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.responses import Response

from deltic.server.http.call import HttpCall
from deltic.server.service import Service

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class ServerMetrics:
    """Counts requests; `text` has all metrics of a server."""

    def __init__(self, service: Service) -> None:
        self._pipeline = service.pipeline.metrics()
        self._registry = CollectorRegistry()
        self._registry.register(self._pipeline)
        labels = ("method", "path", "status")
        self._requests = Counter("deltic_http_requests", "Requests by HTTP.", labels, registry=self._registry)
        self._seconds = Histogram(
            "deltic_http_request_seconds",
            "Seconds until a request was answered.",
            ("method", "path"),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        for name, about, read in (
            ("changes_waiting", "Changes that wait for the writer.", lambda: service.writer.waiting),
            ("subscriptions", "Subscriptions.", lambda: len(service.followers)),
            ("subscriptions_behind", "Epochs that the slowest subscriber is behind.", service.epochs_behind),
        ):
            Gauge(f"deltic_{name}", about, registry=self._registry).set_function(read)
        ProcessCollector(registry=self._registry)

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, path, status).inc()
        self._seconds.labels(method, path).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics; reading the sizes of the state waits briefly for the writer."""
        return generate_latest(self._registry)

    def close(self) -> None:
        """Stop counting epochs."""
        self._pipeline.close()

    async def respond(self, call: HttpCall) -> Response:
        """Return metrics in Prometheus' text format."""
        return Response(await call.service.in_thread(self.text), headers={"Content-Type": _TYPE})
