"""What an endpoint is: a path, who may use it, what it takes and gives; data, from which OpenAPI and docs are made."""

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
    """A parameter of the address, or a header."""

    name: str
    about: str
    type: ParameterType = "string"
    place: Literal["query", "header"] = "query"


@dataclass(frozen=True)
class Endpoint:
    """A method of a path. Without a `role` nobody is asked who they are."""

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
