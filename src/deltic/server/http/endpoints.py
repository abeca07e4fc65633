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
    role: Role | None = Role.READER
    parameters: tuple[EndpointParameter, ...] = ()
    takes: tuple[str, ...] = ()
    """The media types of bodies; none where there is no body."""
    gives: tuple[str, ...] = ("application/json",)
    """The media types of answers."""

    @property
    def about(self) -> str:
        """What it does, in the words of its handler."""
        return (self.handler.__doc__ or "").strip()

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
    json_body, writer = (bodies.JSON,), Role.WRITER
    since = EndpointParameter("since", "The epoch after which changes are sent; without it, from now on.", "integer")
    snapshot = EndpointParameter("snapshot", "true: first an event `rows` with all rows.", "boolean")
    last = EndpointParameter("Last-Event-ID", "As since, for a client that comes again.", "integer", "header")
    pattern = (
        EndpointParameter("row", 'Values of columns: {"who": "ada"}.'),
        EndpointParameter("not", "true: why there is no such row.", "boolean"),
        EndpointParameter("depth", "Steps from the row down.", "integer"),
        EndpointParameter("budget", "The most rows that are explained.", "integer"),
    )
    seen = (EndpointParameter("since", "Epochs after this one.", "integer"),)
    reader, events, text = Role.READER, ("text/event-stream",), ("text/plain",)
    return (
        Endpoint("POST", "/tables/{name}/changes", writing.table_changes, writer, (_OPERATION, _KEY), bodies.FORMS),
        Endpoint("POST", "/changes", writing.changes, writer, (_KEY,), json_body),
        Endpoint("POST", "/query", writing.query, reader, (_FORMAT, _KEY), json_body, answers.FORMS),
        Endpoint("GET", "/catalog", reading.catalog),
        Endpoint("GET", "/views/{name}", reading.view, parameters=(_LIMIT, _FORMAT), gives=answers.FORMS),
        Endpoint("GET", "/views/{name}/changes", changes, parameters=(since, snapshot, last), gives=events),
        Endpoint("GET", "/views/{name}/plan", reading.plan),
        Endpoint("GET", "/views/{name}/why", reading.why, parameters=pattern),
        Endpoint("GET", "/status", reading.status, parameters=seen),
        Endpoint("GET", "/metrics", metrics, gives=text),
        Endpoint("GET", "/openapi.json", openapi, None),
        Endpoint("GET", "/healthz", reading.health, None),
        Endpoint("GET", "/readyz", reading.ready, None),
    )
