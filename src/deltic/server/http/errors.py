"""Errors as responses: status, message and remedy."""

from __future__ import annotations

from starlette.responses import Response

from deltic.errors import BrokenError, BusyError, ChangeError, DelticError, ReadOnlyError, StateError, StoppedError
from deltic.server.following import CutOffError
from deltic.server.http.answers import NotAcceptableError, json_response
from deltic.server.http.bodies import MediaTypeError
from deltic.server.http.call import MissingError, TooLargeError
from deltic.server.users import NotAllowedError

_STATUS: tuple[tuple[type[DelticError], int], ...] = (
    (NotAllowedError, 403),
    (ReadOnlyError, 403),
    (MissingError, 404),
    (NotAcceptableError, 406),
    (ChangeError, 409),
    (CutOffError, 410),
    (TooLargeError, 413),
    (MediaTypeError, 415),
    (BusyError, 503),
    (BrokenError, 500),
    (StateError, 500),
    (StoppedError, 504),
)
_PAUSE = "1"
"""Seconds after which a client that was too much may come again."""


def status_of(error: DelticError) -> int:
    """Return the HTTP status for an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)


def error_response(error: DelticError) -> Response:
    """Return an error as an answer."""
    return told(type(error).__name__, str(error), status_of(error))


def told(kind: str, message: str, status: int) -> Response:
    """Return an error as an answer, by its kind."""
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": _PAUSE}}.get(status)
    return json_response({"error": {"kind": kind, "message": message}}, status, headers)
