"""The base types of Datalog, with their types in circuits and their names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from deltic.datalog.souffle.functions.structures import KINDS, LETTERS
from deltic.values.types import Type

BASE_TYPES = {"number": Type.INT64, "unsigned": Type.UINT64, "float": Type.FLOAT64, "symbol": Type.STRING}


@dataclass(eq=False)
class Structure:
    """A record type or an algebraic data type. The fields of its branches may have the type itself.

    A record has one branch, without a name. The type `None` of a field stands for a reported error and matches every
    type. Its numbers have `word_size` bits.
    """

    name: str
    branches: dict[str, tuple[tuple[str, Base | None], ...]] = field(default_factory=dict)
    word_size: int = 64

    def __str__(self) -> str:
        return self.name

    @property
    def is_record(self) -> bool:
        """Whether it is a record, so that `nil` is one of its values."""
        return "" in self.branches

    def shape(self, branch: str) -> str:
        """Return the shape of the values of a branch, see `deltic.datalog.souffle.functions.structures`."""
        letters = "".join(_LETTERS.get(self._sized(type_), ".") for _, type_ in self.branches[branch])
        return f"[{letters}]" if not branch else f"${branch}({letters})" if letters else f"${branch}"

    @property
    def members(self) -> list[Structure]:
        """The type and all structure types that its fields contain."""
        members = [self]
        for member in members:
            of = (type_ for fields in member.branches.values() for _, type_ in fields)
            members += dict.fromkeys(t for t in of if isinstance(t, Structure) and t not in members)
        return members

    @property
    def family(self) -> str:
        """The text of the type and its members, see `deltic.datalog.souffle.functions.structures`."""
        return ";".join(f"{member.name}={member._definition()}" for member in self.members)

    def _definition(self) -> str:
        names = {
            branch: " ".join(_IN_FAMILIES.get(self._sized(type_), str(type_)) for _, type_ in fields)
            for branch, fields in self.branches.items()
        }
        if self.is_record:
            return f"[{names['']}]|nil"
        return "|".join(f"${branch}({listed})" if listed else f"${branch}" for branch, listed in names.items())

    def _sized(self, type_: Base | None) -> Base | None:
        return sized(type_, self.word_size) if isinstance(type_, Type) else type_


Base = Type | Structure
"""The type of a value: one of the circuit's types, or a structure, which circuits store as text."""

NARROW = {Type.INT64: Type.INT32, Type.UINT64: Type.UINT32, Type.FLOAT64: Type.FLOAT32}
"""The number types of programs with a word size of 32. During the checks they are those of 64 bits."""

NAMES: dict[Base | None, str] = {type_: name for name, type_ in BASE_TYPES.items()}
NAMES |= {narrow: NAMES[wide] for wide, narrow in NARROW.items()}

Types = frozenset[Base]
ANY: Types = frozenset(BASE_TYPES.values())
NUMERIC: Types = ANY - {Type.STRING}
INTEGER: Types = NUMERIC - {Type.FLOAT64}

OPAQUE = {
    str(type_): type_
    for type_ in (
        *(Type.BOOLEAN, Type.BINARY, Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.TIME),
        *(Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL),
    )
}
"""Types without literals and functors: their values can only be joined and copied."""

_LETTERS: dict[Base | None, str] = {type_: letter for letter, type_ in KINDS.items() if letter != "."}
_IN_FAMILIES: dict[Base | None, str] = {KINDS[letter]: name for name, letter in LETTERS.items()}
_ARTICLES = {Type.INT64: "a", Type.UINT64: "an", Type.FLOAT64: "a", Type.STRING: "a"}


def seen(type_: Type, word_size: int = 64) -> Type:
    """Return the type by which rules see a column of the catalog: narrow numbers are widened."""
    if type_.is_integer:
        return sized(Type.INT64 if type_.signed else Type.UINT64, word_size)
    return sized(Type.FLOAT64, word_size) if type_.is_float else type_


def sized(type_: Type, word_size: int) -> Type:
    """Return a 64-bit number type reduced to the word size."""
    return NARROW.get(type_, type_) if word_size == 32 else type_


def stored(type_: Base) -> Type:
    """Return the circuit's type for the values of a type."""
    return Type.STRING if isinstance(type_, Structure) else type_


def preferred(types: Types) -> Base:
    """Return the type of a value with several possible types: number if possible."""
    return next((type_ for type_ in BASE_TYPES.values() if type_ in types), None) or min(types, key=str)


def phrase(types: Iterable[Base]) -> str:
    """Return the types in words, such as "a number, an unsigned or a float"."""
    result = set(types)
    words = [f"{_ARTICLES[type_]} {name}" for name, type_ in BASE_TYPES.items() if type_ in result]
    words += sorted(f"of type {type_}" for type_ in result - ANY)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
