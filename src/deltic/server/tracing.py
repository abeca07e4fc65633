"""Traces by OpenTelemetry where it is installed: spans of requests, statements and epochs.

Spans go to the exporter that the process has configured; without one they cost next to nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from deltic.passwords import redacted
from deltic.pipeline.epochs.report import EpochReport

try:
    from opentelemetry import context, propagate, trace
except ModuleNotFoundError:
    _TRACER = None
else:
    _TRACER = trace.get_tracer("deltic")

Note = Callable[[str, Any], object]
"""What adds an attribute to a span."""

_LONGEST = 500
"""Characters of a statement in a span."""


@contextmanager
def span(name: str, text: str = "", headers: Mapping[str, str] | None = None) -> Iterator[Note]:
    """A span for a statement with its text, or for a request in the trace that its headers name, if any."""
    if _TRACER is None:
        yield lambda *_: None
        return
    kind = trace.SpanKind.INTERNAL if headers is None else trace.SpanKind.SERVER
    parent = propagate.extract(headers) if headers else None
    with _TRACER.start_as_current_span(name, parent, kind) as begun:
        if text and begun.is_recording():
            begun.set_attribute("db.query.text", redacted(text)[:_LONGEST])
        yield begun.set_attribute


def trace_epoch(report: EpochReport) -> None:
    """Add a span for an epoch that ends now, within the current span of this thread."""
    if _TRACER is None:
        return
    end = time.time_ns()
    attributes = {
        "deltic.epoch": report.epoch,
        "deltic.rows_in": report.rows_in,
        "deltic.rows_out": report.rows_out,
        "deltic.rows_visited": report.rows_visited,
        "deltic.seconds": report.total_seconds,
        **{f"deltic.seconds.{phase}": seconds for phase, seconds in report.phases.items()},
    }
    start = end - int(report.total_seconds * 1e9)
    _TRACER.start_span("epoch", attributes=attributes, start_time=start).end(end)


def here() -> Any:
    """Return the current span context of this thread, for `within`."""
    return None if _TRACER is None else context.get_current()


@contextmanager
def within(other: Any) -> Iterator[None]:
    """Continue the span of another thread, which `here` returned there."""
    if _TRACER is None:
        yield
        return
    token = context.attach(other)
    try:
        yield
    finally:
        context.detach(token)
