"""How the columns of a table are stored: event time (how late rows may be), length, padding, default, collation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from deltic.errors import CatalogError, did_you_mean
from deltic.values.types import Schema, Type

TYPES = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
"""The types of columns whose values are times."""
_REMEDY = 'write lateness={"ts": timedelta(hours=1)}, or for integers {"number": 100}'
_MICROSECOND, _DAY = timedelta(microseconds=1), timedelta(days=1)


@dataclass(frozen=True)
class Lateness:
    """A row may have a value of `column` at most `length` less than the greatest so far.

    The length is in the unit of the column: days for dates, microseconds for timestamps.
    """

    column: str
    length: int

    @classmethod
    def of(cls, table: str, schema: Schema, given: Any) -> Lateness | None:
        """Make a lateness from a column and a timedelta or an integer. Raises CatalogError."""
        if given is None or (isinstance(given, Mapping) and not given):
            return None
        if not isinstance(given, Mapping) or len(given) > 1:
            message = "one column has its lateness" if isinstance(given, Mapping) else f"{given!r} is no lateness"
            raise CatalogError(f"table {table}: {message}; {_REMEDY}")
        ((name, length),) = given.items()
        result = next((column for column in schema if column.name == name), None)
        if result is None:
            hint = did_you_mean(str(name), schema.names) or f"the columns are {schema}"
            raise CatalogError(f"table {table}: it has no column {name!r} to have a lateness; {hint}")
        is_number = isinstance(length, int) and not isinstance(length, bool)
        units = length if is_number else in_units(result.type, length) if isinstance(length, timedelta) else None
        if units is None or (is_number and result.type in _OF_TIME):
            raise CatalogError(f"table {table}: {length!r} is no lateness of column {name} {result.type}; {_REMEDY}")
        return cls(name, units)

    def check(self, table: str, schema: Schema) -> None:
        """Raise CatalogError where the table cannot have this lateness."""
        type_ = schema.types.get(self.column)
        if type_ is None:
            raise CatalogError(f"table {table}: it has no column {self.column} to have a lateness")
        if type_ not in TYPES:
            raise CatalogError(
                f"table {table}: column {self.column} has a lateness, and {type_} is no time; "
                f"the types that have one are {', '.join(map(str, TYPES))}"
            )
        if self.length < 0:
            raise CatalogError(f"table {table}: the lateness of column {self.column} is below zero")

    def sentence(self, schema: Schema) -> str:
        """Return the lateness as a sentence for users."""
        return f"rows whose {self.column} is more than {self.shown(schema)} behind the latest are late"

    def shown(self, schema: Schema) -> str:
        """Return the length in the longest unit of which it is a whole number: `90 minutes`, or `100`."""
        type_ = schema.types[self.column]
        if type_ not in _OF_TIME:
            return str(self.length)
        length = self.length * (_DAY if type_ is Type.DATE else _MICROSECOND)
        name, unit = next((name, unit) for name, unit in _UNITS if not length % unit)
        return f"{length // unit} {name}{'s' * (length != unit)}"


_UNITS = [(name, timedelta(**{f"{name}s": 1})) for name in ("day", "hour", "minute", "second", "millisecond")]
_UNITS.append(("microsecond", _MICROSECOND))
_OF_TIME = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)


def in_units(type_: Type, length: timedelta) -> int | None:
    """Return an interval in the unit of a column of times; None where it is no whole number of them."""
    unit = {Type.DATE: _DAY, Type.TIMESTAMP: _MICROSECOND, Type.TIMESTAMP_NTZ: _MICROSECOND}.get(type_)
    return None if unit is None or length % unit else length // unit


@dataclass(frozen=True)
class ColumnStorage:
    """The longest text that a column stores, and its default.

    Texts that are `fixed`, CHAR(n), lose the blanks at their end. `default` is a constant as SQL has it, "" for NULL.
    Only SQL's INSERT, UPDATE and MERGE use it; other rows are stored as they are, with the default in
    columns that they leave out. `collation` says how SQL compares its texts, "" for by their bytes.
    """

    column: str
    limit: int | None = None
    fixed: bool = False
    default: str = ""
    collation: str = ""
