"""Endpoints that read: tables, views, plans, explanations, status."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from deltic.errors import DataError, DelticError, Diagnostic
from deltic.pipeline.epochs.snapshot import Snapshot
from deltic.pipeline.rows.rows import Rows
from deltic.server.describing import described_catalog, described_plan, described_status
from deltic.server.http.answers import json_response, respond
from deltic.server.http.call import HttpCall
from deltic.server.json_rows import pattern_of, plain


async def catalog(call: HttpCall) -> Response:
    """Return all tables and views, with columns and definitions."""
    return json_response(await call.service.in_thread(described_catalog, call.service.pipeline))


async def view(call: HttpCall) -> Response:
    """Return the rows of a view or table; the header Deltic-Epoch says as of which epoch."""
    name, limit = call.name, call.number("limit")

    def read(seen: Snapshot) -> Rows:
        return seen[name].rows()

    answer = await call.service.in_thread(call.service.look, read, None, limit)
    return await call.service.in_thread(respond, call.request, answer)


async def plan(call: HttpCall) -> Response:
    """Return how a view is kept fresh, and what its queries have cost."""
    return json_response(await call.service.in_thread(described_plan, call.service.pipeline, call.name))


async def why(call: HttpCall) -> Response:
    """Return why a row is there: the rules that make it, down to rows of tables."""
    name, schema, pipeline = call.name, call.schema(), call.service.pipeline
    pattern = pattern_of(name, schema, _json_of(call.text("row") or "{}"))
    depth, budget, is_not = call.number("depth", 1), call.number("budget", 1), call.truth("not")

    def explain() -> Any:
        with call.service.asking():
            if is_not:
                result = pipeline.why_not(name, pattern)
                return {**result.to_dict(), "text": str(result)}
            explanation = pipeline.why(name, pattern, depth=depth, budget=min(budget or 10_000, 100_000))
            return {**explanation.to_dict(), "text": str(explanation)}

    return json_response(plain(await call.service.in_thread(explain)))


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError([Diagnostic(f"row is not JSON: {error}", hint='it is an object, as {"who": "ada"}')]) from None


async def status(call: HttpCall) -> Response:
    """Return the server's state: relations with rows, memory and cost, epochs, errors, sources, subscriptions."""
    since = call.number("since") or 0
    return json_response(await call.service.in_thread(described_status, call.service, call.program, since))


async def health(call: HttpCall) -> Response:
    """Return 200 while the process answers."""
    return json_response({"status": "ok"})


async def ready(call: HttpCall) -> Response:
    """Return 200 while changes are taken, or followed; else 503."""
    try:
        call.service.check_ready()
    except DelticError as error:
        return json_response({"status": "not ready", "reason": str(error)}, 503)
    return json_response({"status": "ready", "epoch": call.service.pipeline.epoch})
