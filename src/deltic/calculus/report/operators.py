"""The derivative of each operator of a circuit: which, why, what state it needs, and how its cost grows."""

from __future__ import annotations

from collections.abc import Iterator

from deltic.calculus.derivatives import Derivative, derivative_of
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit

_SHOWN = 12


def operator_lines(circuit: Circuit) -> Iterator[str]:
    """Two lines for each row of the derivative table that the circuit needs, and a last one for what falls back."""
    places: dict[type[ops.Operator], list[str]] = {}
    for place, operator in _places(circuit, ""):
        places.setdefault(type(operator), []).append(place)
    for row, kinds in _by_row(places).items():
        where = "; ".join(f"{kind.keyword} {_some(places[kind])}" for kind in kinds)
        yield f"{where}: {row.formula}  [{row.source}]"
        yield f"  {row.why}; {row.cost.value}; keeps {row.keeps}"
    fallen = [f"{kind.keyword} {_some(where)}" for kind, where in places.items() if derivative_of(kind).is_fallback]
    yield f"computed anew from whole inputs: {'; '.join(fallen) or 'none'}"


def _by_row(kinds: dict[type[ops.Operator], list[str]]) -> dict[Derivative, list[type[ops.Operator]]]:
    """The kinds of operators that have the same derivative."""
    rows: dict[Derivative, list[type[ops.Operator]]] = {}
    for kind in kinds:
        rows.setdefault(derivative_of(kind), []).append(kind)
    return rows


def _some(places: list[str]) -> str:
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return ", ".join(places[:_SHOWN]) + more


def _places(circuit: Circuit, prefix: str) -> Iterator[tuple[str, ops.Operator]]:
    """The operators of a circuit and of those inside it, each with its number after those of what it stands in."""
    for number, operator in enumerate(circuit.operators):
        place = f"{prefix}%{number}"
        yield place, operator
        for _, body in operator.bodies():
            yield from _places(body, f"{place}/")
