"""The table of all endpoints: path, role, input and output; OpenAPI and the docs are made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from starlette.responses import Response

from deltic.errors import DelticError
from deltic.server.http import answers, bodies, reading, writing
from deltic.server.http.call import HttpCall
from deltic.server.users import Role

Handler = Callable[[HttpCall], Awaitable[Response]]
ParameterType = Literal["string", "integer", "boolean"]


@dataclass(frozen=True)
class EndpointParameter:
    """A query parameter or a header."""

    name: str
    about: str
    type: ParameterType = "string"
    place: Literal["query", "header"] = "query"


@dataclass(frozen=True)
class Endpoint:
    """A method of a path. Without a `role` it needs no authentication."""

    method: Literal["GET", "POST"]
    path: str
    handler: Handler
    about: str
    role: Role | None = Role.READER
    parameters: tuple[EndpointParameter, ...] = ()
    takes: tuple[str, ...] = ()
    """The media types of bodies; none where there is no body."""
    gives: tuple[str, ...] = ("application/json",)
    """The media types of answers."""

    def check_parameters(self, given: Iterable[str]) -> None:
        """Raise DelticError for query parameters that it does not have."""
        known = [each.name for each in self.parameters if each.place == "query"]
        if unknown := [name for name in given if name not in known]:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise DelticError(f"{self.method} {self.path} has no parameter {unknown[0]!r}; {has}")


_LIMIT = EndpointParameter("limit", "Rows at most; the header Deltic-Truncated says whether there are more.", "integer")
_FORMAT = EndpointParameter("format", "json, jsonl, csv or arrow, in place of Accept.")
_KEY = EndpointParameter(
    "Idempotency-Key", "A change that comes again with its key is not applied again.", place="header"
)
_OPERATION = EndpointParameter(
    "op", "What all rows do: insert, delete, upsert, update. Without it each row says it in a column op: + - u d."
)


def endpoints(changes: Handler, metrics: Handler, openapi: Handler) -> tuple[Endpoint, ...]:
    """Return all endpoints; `changes`, `metrics` and `openapi` are handlers of the whole server."""
    return (
        Endpoint(
            "POST",
            "/tables/{name}/changes",
            writing.table_changes,
            "Change a table by the rows of the body: one transaction, durable once it is answered.",
            Role.WRITER,
            (_OPERATION, _KEY),
            bodies.FORMS,
        ),
        Endpoint(
            "POST",
            "/changes",
            writing.changes,
            'Change several tables in one transaction: {"orders": [{"op": "+", …}], …}.',
            Role.WRITER,
            (_KEY,),
            (bodies.JSON,),
        ),
        Endpoint(
            "POST",
            "/query",
            writing.query,
            'Run SQL: {"text": "SELECT …", "args": […], "limit": 100}. Changes take a writer, definitions an owner.',
            Role.READER,
            (_FORMAT, _KEY),
            (bodies.JSON,),
            answers.FORMS,
        ),
        Endpoint("GET", "/catalog", reading.catalog, "All tables and views, with columns and definitions."),
        Endpoint(
            "GET",
            "/views/{name}",
            reading.view,
            "The rows of a view or table; the header Deltic-Epoch says as of which epoch.",
            parameters=(_LIMIT, _FORMAT),
            gives=answers.FORMS,
        ),
        Endpoint(
            "GET",
            "/views/{name}/changes",
            changes,
            "How each epoch changes a view, as server-sent events `change`; `error` where the subscriber is cut off.",
            parameters=(
                EndpointParameter(
                    "since", "The epoch after which changes are sent; without it, from now on.", "integer"
                ),
                EndpointParameter("snapshot", "true: first an event `rows` with all rows.", "boolean"),
                EndpointParameter("Last-Event-ID", "As since, for a client that comes again.", "integer", "header"),
            ),
            gives=("text/event-stream",),
        ),
        Endpoint(
            "GET", "/views/{name}/plan", reading.plan, "How a view is kept fresh, and what its queries have cost."
        ),
        Endpoint(
            "GET",
            "/views/{name}/why",
            reading.why,
            "Why a row is there: the rules that make it, down to rows of tables.",
            parameters=(
                EndpointParameter("row", 'Values of columns: {"who": "ada"}.'),
                EndpointParameter("not", "true: why there is no such row.", "boolean"),
                EndpointParameter("depth", "Steps from the row down.", "integer"),
                EndpointParameter("budget", "The most rows that are explained.", "integer"),
            ),
        ),
        Endpoint(
            "GET",
            "/status",
            reading.status,
            "What the server does: relations with rows, memory and cost, epochs, errors, sources, subscriptions.",
            parameters=(EndpointParameter("since", "Epochs after this one.", "integer"),),
        ),
        Endpoint("GET", "/metrics", metrics, "Metrics in Prometheus' text format.", gives=("text/plain",)),
        Endpoint("GET", "/openapi.json", openapi, "This table as OpenAPI.", None),
        Endpoint("GET", "/healthz", reading.health, "200 while the process answers.", None),
        Endpoint("GET", "/readyz", reading.ready, "200 while changes are taken, or followed; else 503.", None),
    )
