"""The base types of Datalog, as the circuit knows them and as people call them."""

from __future__ import annotations

from collections.abc import Iterable

from deltic.circuit.types import Type

BASE_TYPES = {"number": Type.INT64, "unsigned": Type.UINT64, "float": Type.FLOAT64, "symbol": Type.STRING}
NAMES = {type_: name for name, type_ in BASE_TYPES.items()}

Types = frozenset[Type]
ANY: Types = frozenset(NAMES)
NUMERIC: Types = ANY - {Type.STRING}
INTEGER: Types = NUMERIC - {Type.FLOAT64}

OPAQUE = {
    str(type_): type_
    for type_ in (
        *(Type.BOOLEAN, Type.BINARY, Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ),
        *(Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL),
    )
}
"""Types of which Datalog has no literals and no functors: their values join and are handed on."""

_ARTICLES = {Type.INT64: "a", Type.UINT64: "an", Type.FLOAT64: "a", Type.STRING: "a"}


def seen(type_: Type) -> Type:
    """As which type a rule sees a column of the catalog: narrow numbers are numbers, unsigneds and floats."""
    if type_.is_integer:
        return Type.INT64 if type_.signed else Type.UINT64
    return Type.FLOAT64 if type_.is_float else type_


def preferred(types: Types) -> Type:
    """The type of what may have several: a number if it can be one."""
    return next((type_ for type_ in NAMES if type_ in types), None) or min(types, key=str)


def phrase(types: Iterable[Type]) -> str:
    """The types in words: "a number", "a number, an unsigned or a float"."""
    found = set(types)
    words = [f"{_ARTICLES[type_]} {name}" for type_, name in NAMES.items() if type_ in found]
    words += sorted(f"of type {type_}" for type_ in found.difference(NAMES))
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
