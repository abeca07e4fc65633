"""Answers in the form that a client accepts: JSON, JSON lines, CSV, Arrow's stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response

from deltic.engine.arrow_stream import to_stream
from deltic.errors import DelticError
from deltic.pipeline.io.render import header_line, json_lines, text_lines
from deltic.server.http.bodies import ALIASES, ARROW, CSV, JSON, JSON_LINES
from deltic.server.json_rows import columns_of, dumped, listed
from deltic.server.service import Answer

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
