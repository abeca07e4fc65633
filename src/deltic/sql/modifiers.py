"""What types alone do not say: fields of intervals and collations of texts, in composite values of each part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from deltic.sql.collations import Collation
from deltic.values.types import Type

Fields = tuple[str, str]
"""The first and the last of YEAR and MONTH, or of DAY, HOUR, MINUTE and SECOND."""


@dataclass(frozen=True)
class Within:
    """The modifiers of the parts of an array, a map or a struct."""

    parts: tuple[Modifier | None, ...]


Modifier = Fields | Collation | Within
"""What a type alone does not say: the fields of an interval, the collation of a text that is not compared by bytes."""


def within(*parts: Modifier | None) -> Within | None:
    """Return the modifier of a composite value whose parts have these."""
    return Within(parts) if any(parts) else None


def part(modifier: Modifier | None, place: int = 0) -> Modifier | None:
    """Return the modifier of a part of a composite value, such as the elements of an array."""
    return modifier.parts[place] if isinstance(modifier, Within) else None


def texts_of(type_: Type, modifier: Modifier | None) -> Iterator[Collation | None]:
    """Yield the collation of each text in a value of a type."""
    if type_ is Type.STRING:
        yield modifier if isinstance(modifier, Collation) else None
    for place, own in enumerate(type_.parts):
        yield from texts_of(own.type, part(modifier, place))


def everywhere(type_: Type, collation: Collation | None) -> Modifier | None:
    """Return the modifier of a value whose texts all have one collation."""
    if type_ is Type.STRING:
        return collation
    return within(*(everywhere(own.type, collation) for own in type_.parts))


def implied(modifier: Modifier | None) -> Modifier | None:
    """Return the modifier of the values of a column, which no COLLATE beside them names."""
    if isinstance(modifier, Within):
        return Within(tuple(map(implied, modifier.parts)))
    return modifier.as_explicit(False) if isinstance(modifier, Collation) else modifier
