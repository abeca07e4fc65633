"""Changes of definitions in their stored form: tables, places outside, publications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltic.catalog import CatalogTable, External
from deltic.catalog.lateness import ColumnStorage, Lateness
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.operators import Source

Edit = Mapping[str, Any]
"""A change of definitions as what was written, in JSON: what is done by `do`, and its arguments."""


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


def table_to_json(table: CatalogTable) -> dict[str, Any]:
    """Convert a table defined in Python to JSON."""
    node = Node(Source(table.name, table.schema, not table.is_bag), (), table.type)
    late = {} if table.lateness is None else {"lateness": [table.lateness.column, table.lateness.length]}
    source = {} if table.source is None else {"source": to_json(table.source)}
    storing = [[one.column, one.limit, one.fixed, "", one.collation] for one in table.storing]
    bounds = {"bounds": storing} if storing else {}
    return {"text": str(Circuit((node,))), "key": table.key, "bag": table.is_bag, **late, **source, **bounds}


def table_of_json(
    text: str,
    key: Sequence[str],
    bag: bool,
    lateness: tuple[str, int] | None = None,
    source: Mapping[str, Any] | None = None,
    bounds: Sequence[tuple[Any, ...]] = (),
) -> CatalogTable:
    """Return the inverse of `table_to_json`."""
    from deltic.circuit.reading.parser import parse_circuit

    (result,) = parse_circuit(text, "<table>").operators
    assert isinstance(result, Source)
    late = None if lateness is None else Lateness(*lateness)
    outside = None if source is None else of_json(source)
    storing = tuple(ColumnStorage(*bound) for bound in bounds)
    return CatalogTable(result.name, result.schema, tuple(key), bag, lateness=late, source=outside, storing=storing)
