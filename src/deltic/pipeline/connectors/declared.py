"""Sources that were attached to tables after their definition, and the publications of views."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
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


@dataclass(frozen=True)
class Attachments:
    """Sources that were attached to tables, by name, and publications. Immutable."""

    attached: Mapping[str, External] = field(default_factory=lambda: MappingProxyType({}))
    publications: tuple[Publication, ...] = ()

    def of(self, view: str, to: External | None) -> tuple[Publication, ...]:
        """Return the publications of a view, or the one to a place."""
        return tuple(p for p in self.publications if p.view == view and to in (None, p.to))

    def attaching(self, table: str, source: External | None) -> Attachments:
        """Return a copy with a source for a table; None removes it."""
        attached = {**self.attached, table: source}
        return Attachments(
            MappingProxyType({name: place for name, place in attached.items() if place is not None}), self.publications
        )

    def publishing(self, publication: Publication) -> Attachments:
        """Return a copy with one more publication."""
        return Attachments(self.attached, (*self.publications, publication))

    def unpublishing(self, view: str, to: External | None) -> Attachments:
        """Return a copy without the publications of a view, or the one to a place."""
        gone = self.of(view, to)
        return Attachments(self.attached, tuple(p for p in self.publications if p not in gone))

    def without(self, names: Collection[str]) -> Attachments:
        """Return a copy without these tables and views."""
        attached = {name: source for name, source in self.attached.items() if name not in names}
        return Attachments(MappingProxyType(attached), tuple(p for p in self.publications if p.view not in names))


def to_json(place: External) -> dict[str, Any]:
    """Return a place as JSON."""
    return {"kind": place.kind, "options": dict(place.options)}


def of_json(kept: Mapping[str, Any]) -> External:
    """Return a place from its JSON."""
    return External(kept["kind"], **kept["options"])
