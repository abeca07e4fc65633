"""Endpoints as data: path, role, input and output; OpenAPI and the docs are made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from starlette.responses import Response

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
