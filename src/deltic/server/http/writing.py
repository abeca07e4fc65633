"""Endpoints that change tables, and those of statements."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from deltic.errors import DataError, Diagnostic, count_of
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.names import find
from deltic.server.http import bodies
from deltic.server.http.answers import json_response, respond
from deltic.server.http.call import HttpCall, MissingError
from deltic.server.service import Answer, Service
from deltic.server.writer import Committed


async def table_changes(call: HttpCall) -> Response:
    """Change a table by the rows of the body: one transaction, durable once it is answered."""
    name, body = call.name, await call.body()
    service = call.service
    if name not in service.pipeline.catalog.shown_tables:
        raise MissingError(f"{name} is a view: its definition alone changes it; change the tables that it reads")
    media_type = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    transaction = service.begin()
    table = find(name, "table", service.pipeline.catalog.shown_tables)
    await service.in_thread(bodies.change, transaction, table, call.text("op"), media_type, body)
    return _committed(await asyncio.wrap_future(service.submit(transaction, call.key, call.digest(body))))


async def changes(call: HttpCall) -> Response:
    """Change several tables in one transaction: {"orders": [{"op": "+", …}], …}."""
    body = await call.body()
    value = bodies.json_value(body)
    if not isinstance(value, dict):
        raise DataError([Diagnostic("the body is an object of JSON: the rows of each table by its name")])
    transaction = await call.service.in_thread(_changing, call.service, value)
    return _committed(await asyncio.wrap_future(call.service.submit(transaction, call.key, call.digest(body))))


def _changing(service: Service, changes: Mapping[str, Any]) -> Transaction:
    """Return a transaction that changes tables by rows of JSON, by their names."""
    transaction, tables = service.begin(), service.pipeline.catalog.shown_tables
    for name, rows in changes.items():
        transaction.change(name, bodies.json_rows(find(name, "table", tables), rows))
    return transaction


async def query(call: HttpCall) -> Response:
    """Run SQL: {"text": "SELECT …", "args": […], "limit": 100}. Changes take a writer, definitions an owner."""
    body = await call.body()
    asked = bodies.json_value(body)
    if not isinstance(asked, dict) or not isinstance(asked.get("text"), str):
        raise DataError([Diagnostic('the body is an object of JSON: {"text": "SELECT …", "args": […], "limit": 100}')])
    _check(asked)
    call.audited(asked["text"])
    result = await call.service.in_thread(
        call.service.execute,
        asked["text"],
        asked.get("args") or None,
        user=call.user,
        key=call.key,
        digest=call.digest(body),
        most=asked.get("limit"),
    )
    if isinstance(result, Answer):
        return await call.service.in_thread(respond, call.request, result)
    if isinstance(result, Committed):
        return _committed(result)
    return json_response({"message": str(result.evolution), "epoch": result.epoch})


def _check(asked: Mapping[str, Any]) -> None:
    """Raise DataError for members of a statement that are not such."""
    limit, args = asked.get("limit"), asked.get("args")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise DataError([Diagnostic(f"limit is {limit!r}; it is a number of rows")])
    if not isinstance(args, list | dict | None):
        raise DataError([Diagnostic("args are a list, for `?`, or an object, for `:name`")])
    for name in asked.keys() - {"text", "args", "limit"}:
        raise DataError([Diagnostic(f"a statement has text, args and limit, and no {name!r}")])


def _committed(result: Committed) -> Response:
    """Return the response for a durable change."""
    rows = sum(result.affected)
    message = "it was applied before" if result.was_applied else f"{count_of(rows, 'row')} changed"
    if result.late:
        message = f"{message} or left out: {result.warning}"
    fields = {
        "message": message,
        "epoch": result.epoch,
        "affected": result.affected,
        "applied_before": result.was_applied,
        **({"late": {each.table: each.count for each in result.late}} if result.late else {}),
    }
    return json_response(fields, headers={"Deltic-Epoch": str(result.epoch)})
