"""Traces by OpenTelemetry, where its package is there: spans of requests, statements and epochs.

The package hands spans on to what the process has configured; where that is nothing, spans are nothing.
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
def request_span(name: str, headers: Mapping[str, str] | None = None) -> Iterator[Note]:
    """The span of a request, in the trace that its headers name, if they do."""
    if _TRACER is None:
        yield _ignored
        return
    with _TRACER.start_as_current_span(name, propagate.extract(headers or {}), trace.SpanKind.SERVER) as span:
        yield span.set_attribute


@contextmanager
def statement_span(text: str) -> Iterator[Note]:
    """The span of a statement of SQL."""
    if _TRACER is None:
        yield _ignored
        return
    with _TRACER.start_as_current_span("statement", attributes={"db.query.text": redacted(text)[:_LONGEST]}) as span:
        yield span.set_attribute


def trace_epoch(report: EpochReport) -> None:
    """Add the span of an epoch that ends now, to what this thread does."""
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
    """The span of this thread, for `within`."""
    return None if _TRACER is None else context.get_current()


@contextmanager
def within(span: Any) -> Iterator[None]:
    """Work for a span of another thread, as `here` gave it there."""
    if _TRACER is None:
        yield
        return
    token = context.attach(span)
    try:
        yield
    finally:
        context.detach(token)


def _ignored(_name: str, _value: Any) -> None:
    """No span: no attribute."""
