"""The endpoints as a document of OpenAPI 3.1."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from deltic import __version__
from deltic.server.http.endpoints import Endpoint, EndpointParameter


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_ERROR = _object(error=_object(kind={"type": "string"}, message={"type": "string"}))
ERRORS = {
    "400": "A query parameter is unknown, or the request, the statement or a row is wrong; the message says which.",
    "401": "No token, or an unknown one.",
    "403": "The user's role may not do this.",
    "404": "There is no such relation.",
    "406": "Answers are not given in that form.",
    "409": "The change does not fit the tables; nothing was changed.",
    "410": "The changes since that epoch are no longer retained.",
    "413": "The body is too large.",
    "415": "Bodies are not read in that form.",
    "503": "Too many changes, clients or subscriptions, or the server stops: try again after Retry-After seconds.",
    "504": "The statement took longer, or more memory, than it may, and was stopped.",
}
"""What status codes of errors mean."""


def document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return all endpoints, in the order of the table."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Deltic", "version": __version__, "description": "SQL and Datalog views that stay fresh."},
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    words = (endpoint.method.lower(), *re.findall(r"\w+", endpoint.path))
    in_path = [EndpointParameter(name, "A table or view.") for name in re.findall(r"\{(\w+)\}", endpoint.path)]
    fields: dict[str, Any] = {
        "operationId": "_".join(words),
        "summary": endpoint.about,
        "parameters": [
            *(_parameter(each, "path", required=True) for each in in_path),
            *(_parameter(each, each.place, required=False) for each in endpoint.parameters),
        ],
        "responses": {"200": {"description": "Done.", "content": {kind: {} for kind in endpoint.gives}}} | _errors(),
    }
    if endpoint.takes:
        fields["requestBody"] = {"required": True, "content": {kind: {} for kind in endpoint.takes}}
    if endpoint.role is not None:
        fields["security"] = [{"token": []}]
    return fields


def _parameter(parameter: EndpointParameter, place: str, required: bool) -> dict[str, Any]:
    about = {"name": parameter.name, "in": place, "description": parameter.about}
    return {**about, "required": required, "schema": {"type": parameter.type}}


def _errors() -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: {"description": description, "content": content} for status, description in ERRORS.items()}
