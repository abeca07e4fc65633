"""Publications of views, and places outside as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deltic.catalog import External


@dataclass(frozen=True)
class Publication:
    """A view, and where it is published. The `id` is written there, so that the place shows its owner."""

    view: str
    to: External
    id: str

    def __str__(self) -> str:
        return f"{self.view} to {self.to}"


def to_json(place: External) -> dict[str, Any]:
    """Return a place as JSON."""
    return {"kind": place.kind, "options": dict(place.options)}


def of_json(kept: Mapping[str, Any]) -> External:
    """Return a place from its JSON."""
    return External(kept["kind"], **kept["options"])
