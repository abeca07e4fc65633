"""Answers in the form that a client accepts: JSON, JSON lines, CSV, Arrow's stream; and errors, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response

from deltic.engine.batches import to_stream
from deltic.errors import BrokenError, BusyError, ChangeError, DelticError, ReadOnlyError, StateError, StoppedError
from deltic.pipeline.io.render import header_line, json_lines, text_lines
from deltic.server.following import CutOffError
from deltic.server.http.bodies import ALIASES, ARROW, CSV, JSON, JSON_LINES, MediaTypeError
from deltic.server.http.call import MissingError, TooLargeError
from deltic.server.json_rows import columns_of, dumped, listed
from deltic.server.service import Answer
from deltic.server.users import NotAllowedError

_BY_NAME = {"json": JSON, "jsonl": JSON_LINES, "csv": CSV, "arrow": ARROW}


class NotAcceptableError(DelticError):
    """The client accepts only unsupported formats."""


def respond(request: Request, answer: Answer) -> Response:
    """Make a response in the format of `?format=` or Accept, JSON by default; raises NotAcceptableError."""
    kind = _wanted(request)
    headers = {"Deltic-Epoch": str(answer.epoch), "Deltic-Truncated": str(answer.truncated).lower()}
    return Response(_FORMS[kind](answer), media_type=kind, headers=headers)


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON."""
    return Response(dumped(value), status, headers, JSON)


def _wanted(request: Request) -> str:
    name = request.query_params.get("format")
    if name is not None:
        if name not in _BY_NAME:
            raise NotAcceptableError(f"there is no format {name!r}; it is one of {', '.join(_BY_NAME)}")
        return _BY_NAME[name]
    accepted = [part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "*/*").split(",")]
    for kind in accepted:
        if ALIASES.get(kind, kind) in _FORMS:
            return ALIASES.get(kind, kind)
    if any(kind in ("*/*", "application/*", "text/html") for kind in accepted):
        return JSON
    raise NotAcceptableError(f"answers are not given as {', '.join(accepted)}; Accept names one of {', '.join(_FORMS)}")


def _json(answer: Answer) -> bytes:
    rows = answer.rows.to_arrow()
    return dumped(
        {
            "columns": columns_of(rows),
            "rows": listed(rows),
            "epoch": answer.epoch,
            "seconds": answer.seconds,
            "truncated": answer.truncated,
        }
    )


def _json_lines(answer: Answer) -> bytes:
    return _lines(json_lines(answer.rows.to_arrow()))


def _csv(answer: Answer) -> bytes:
    rows = answer.rows.to_arrow()
    header = header_line(rows.column_names, ",", signed=False).encode()
    return header + b"\n" + _lines(text_lines(rows, ",", rfc4180=True))


def _lines(lines: pa.ChunkedArray) -> bytes:
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _arrow(answer: Answer) -> bytes:
    return bytes(to_stream(answer.rows.to_arrow()))


_FORMS: Mapping[str, Callable[[Answer], bytes]] = {JSON: _json, JSON_LINES: _json_lines, CSV: _csv, ARROW: _arrow}
FORMS = tuple(_FORMS)
"""The types of answers."""

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


def error_response(error: DelticError) -> Response:
    """Return an error as an answer."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
    return told(type(error).__name__, str(error), status)


def told(kind: str, message: str, status: int) -> Response:
    """Return an error as an answer, by its kind."""
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": _PAUSE}}.get(status)
    return json_response({"error": {"kind": kind, "message": message}}, status, headers)
