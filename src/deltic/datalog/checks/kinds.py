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

_ARTICLES = {Type.INT64: "a", Type.UINT64: "an", Type.FLOAT64: "a", Type.STRING: "a"}


def preferred(types: Types) -> Type:
    """The type of what may have several: a number if it can be one."""
    return next(type_ for type_ in NAMES if type_ in types)


def phrase(types: Iterable[Type]) -> str:
    """The types in words: "a number", "a number, an unsigned or a float"."""
    found = set(types)
    words = [f"{_ARTICLES[type_]} {name}" for type_, name in NAMES.items() if type_ in found]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
