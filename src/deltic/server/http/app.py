"""The ASGI application of a service: access rules, routes, and error responses."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from deltic.errors import DelticError
from deltic.passwords import redacted
from deltic.server.http.answers import error_response, json_response, told
from deltic.server.http.call import HttpCall
from deltic.server.http.endpoints import Endpoint, endpoints
from deltic.server.http.events import ChangeEvents
from deltic.server.http.measuring import ServerMetrics
from deltic.server.http.openapi import document
from deltic.server.service import Service
from deltic.server.tracing import span
from deltic.server.users import ANYONE, User, Users, require

AUDIT = logging.getLogger("deltic.audit")
"""A record for each request that changes something, or is refused: user, address, what, and how it ended."""
CONSOLE = Path(__file__).parents[1] / "console"
_LOCAL = ("localhost", "127.0.0.1", "::1")
_SAFE = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True)
class AccessRules:
    """Access to a server: its `users`, or everyone if None; its host names, or any if empty."""

    users: Users | None = None
    hosts: Sequence[str] = _LOCAL

    def user(self, request: Request) -> User | None:
        """Return the user of a request; None for an unknown one."""
        if self.users is None:
            return ANYONE
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self.users.with_token(token.strip()) if scheme.lower() == "bearer" else None

    def refusal(self, request: Request) -> str:
        """Return the reason to refuse a request of any user; "" where there is none.

        A page of another site may send requests here through a browser, and its name may resolve to this server. So
        the host must be a name of this server, and the origin one of its own pages.
        """
        host = request.url.hostname or ""
        if self.hosts and host not in self.hosts:
            return f"this server is not {host!r}: --host-name lets it have that name"
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            return f"pages of {origin} may not use this server"
        return ""


class HttpApplication:
    """The endpoints of a service; `asgi` is the application, and `close` ends its metrics."""

    def __init__(self, service: Service, access: AccessRules = AccessRules(), program: str = "") -> None:
        self._service, self._access, self._program = service, access, program
        self._metrics = ServerMetrics(service)
        self.endpoints = endpoints(ChangeEvents().respond, self._metrics.respond, self.openapi)
        routes: list[Any] = [Route(e.path, self._answering(e), methods=[e.method]) for e in self.endpoints]
        self.asgi = Starlette(
            routes=[*routes, *_console()], exception_handlers={HTTPException: self._not_found, Exception: self._failed}
        )

    def close(self) -> None:
        """Stop counting."""
        self._metrics.close()

    async def openapi(self, _: HttpCall) -> Response:
        """Return this table as OpenAPI."""
        return json_response(document(self.endpoints))

    def _answering(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            begun = time.perf_counter()
            with span(f"{endpoint.method} {endpoint.path}", headers=request.headers) as note:
                response = await self._answer(endpoint, request)
                note("http.response.status_code", response.status_code)
            for name, value in _SAFE.items():
                response.headers.setdefault(name, value)
            self._metrics.answered(endpoint.method, endpoint.path, response.status_code, time.perf_counter() - begun)
            return response

        return answer

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        user = self._access.user(request)
        if refusal := self._access.refusal(request):
            return self._audited(request, user, told("NotAllowedError", refusal, 403))
        if user is None and endpoint.role is not None:
            message = "say who you are: Authorization: Bearer TOKEN, as `deltic user` has made it"
            return self._audited(request, user, told("UnauthorizedError", message, 401))
        call = HttpCall(self._service, request, user or ANYONE, self._program)
        try:
            if endpoint.role is not None:
                require(call.user, endpoint.role, endpoint.path)
            endpoint.check_parameters(request.query_params)
            response = await endpoint.handler(call)
        except DelticError as error:
            self._service.activity.error("statement", str(error), request.path_params.get("name"))
            response = error_response(error)
        return self._audited(request, user, response)

    @staticmethod
    def _audited(request: Request, user: User | None, response: Response) -> Response:
        if request.method != "GET" or response.status_code in (401, 403):
            client = request.client.host if request.client else "unknown"
            AUDIT.info(
                "%s@%s %s %s: %d, epoch %s%s",
                user.name if user else "somebody",
                client,
                request.method,
                redacted(request.url.path),
                response.status_code,
                response.headers.get("deltic-epoch", "-"),
                redacted(getattr(request.state, "statement", "")),
            )
        return response

    def _failed(self, request: Request, error: Exception) -> Response:
        """Return the response for an internal error; the log has the details."""
        self._service.activity.error("statement", f"{type(error).__name__}: {error}")
        return told("InternalError", "the server has failed at this request; its log says more", 500)

    def _not_found(self, request: Request, error: Exception) -> Response:
        """Return the response for an unknown path or method, with the endpoints that begin like it."""
        assert isinstance(error, HTTPException)
        asked = request.url.path.split("/")[1]
        near = [f"{each.method} {each.path}" for each in self.endpoints if each.path.split("/")[1] == asked]
        hint = f"like it: {', '.join(near)}" if near else "/openapi.json lists the endpoints"
        return told("MissingError", f"{request.method} {request.url.path}: {error.detail}; {hint}", error.status_code)


class _Page(StaticFiles):
    """The files of the console, with headers that forbid loading anything from other hosts."""

    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        for name, value in _SAFE.items():
            response.headers[name] = value
        return response


def _console() -> Iterable[Mount]:
    """Yield the console, at / and /console/."""
    if CONSOLE.is_dir():
        yield Mount("/console", _Page(directory=CONSOLE, html=True))
        yield Mount("/", _Page(directory=CONSOLE, html=True))
