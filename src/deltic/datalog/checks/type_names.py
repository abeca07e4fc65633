"""The types of values: base types, structures, and declared names of them, which have an order of subtypes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from deltic.datalog.souffle.functions.structures import KINDS, LETTERS
from deltic.datalog.syntax.expressions import TypeName
from deltic.datalog.syntax.program import Attribute, StructureType, Subtype, TypeDeclaration, UnionType
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic, did_you_mean
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


Findings = list[Diagnostic]
Names: TypeAlias = frozenset[str]

# What other languages call the base types.
_ELSEWHERE = {
    **dict.fromkeys(("string", "str", "text", "varchar", "char"), "symbol"),
    **dict.fromkeys(("int", "integer", "long", "bigint", "i64", "int64"), "number"),
    **dict.fromkeys(("uint", "ulong", "u64", "uint64"), "unsigned"),
    **dict.fromkeys(("double", "real", "f64", "float64", "decimal"), "float"),
}


class TypeTable:
    """The types that can be mentioned. `None` is the base of a type with a reported error."""

    def __init__(self, declarations: Sequence[TypeDeclaration], word_size: int, findings: Findings) -> None:
        self._findings = findings
        self.declared = _by_name(declarations, findings)
        """The declarations of the types, by name."""
        self._bases: dict[str, Base | None] = dict(BASE_TYPES)
        structures = [item for item in self.declared.values() if isinstance(item, StructureType)]
        made = {item.name: Structure(item.name, word_size=word_size) for item in structures}
        self._bases |= made
        for name in self.declared:
            self._resolve(name)
        for item in structures:
            self._define(made[item.name], item)
        self.structures = tuple(made.values())
        self.lattice = None if None in self._bases.values() else Lattice(self.declared.values())
        """The subtype order of the types, None if a declaration is wrong."""
        self._fields = {(i.name, b.name): tuple(f.type.name for f in b.fields) for i in structures for b in i.branches}

    def fields(self, structure: str, branch: str) -> tuple[str, ...]:
        """Return the names of the types of a branch's fields, as declared."""
        return self._fields[structure, branch]

    def _define(self, structure: Structure, declaration: StructureType) -> None:
        """Set the branches of a structure and their fields."""
        for branch in declaration.branches:
            if branch.name in structure.branches:
                message = f"the type `{declaration.name}` has two branches called `{branch.name}`"
                self._findings.append(branch.span.error(message, "give each branch a name of its own"))
            names = [field.name for field in branch.fields]
            for place, own in enumerate(branch.fields):
                if own.name in names[:place]:
                    message = f"`{branch.name or declaration.name}` has two fields called `{own.name}`"
                    self._findings.append(own.span.error(message, "give each field a name of its own"))
            structure.branches[branch.name] = tuple((field.name, self._field(field)) for field in branch.fields)

    def _field(self, field: Attribute) -> Base | None:
        """Return the type of a field; types without literals are reported."""
        base = self.base(field.type)
        if base in OPAQUE.values():
            message = f"a field cannot be of type {base}"
            self._findings.append(field.span.error(message, "it is a number, unsigned, float, symbol or structure"))
            return None
        return base

    def base(self, mention: TypeName) -> Base | None:
        """Return the base type of a mentioned type; an unknown one is reported."""
        if mention.name not in self._bases and mention.name in OPAQUE:
            return OPAQUE[mention.name]
        if mention.name not in self._bases:
            self._findings.append(mention.span.error(f"there is no type `{mention.name}`", self._remedy(mention.name)))
        return self._bases.get(mention.name)

    def _remedy(self, name: str) -> str:
        if name.lower() in _ELSEWHERE:
            return f"did you mean `{_ELSEWHERE[name.lower()]}`?"
        known = [*BASE_TYPES, *self.declared]
        return did_you_mean(name, known) or "the types are " + ", ".join(known)

    def _resolve(self, name: str) -> None:
        """Resolve the base of a declared type after the types that it mentions."""
        path = [name] if name not in self._bases else []
        while path:
            declaration = self.declared[path[-1]]
            missing = [m for m in _mentions(declaration) if m.name in self.declared and m.name not in self._bases]
            cycle = next((m for m in missing if m.name in path), None)
            if cycle:
                way = " -> ".join([*path[path.index(cycle.name) :], cycle.name])
                self._findings.append(cycle.span.error(f"the type `{cycle.name}` is defined by itself: {way}"))
                self._bases.update(dict.fromkeys(path))
                return
            if missing:
                path.append(missing[0].name)
            else:
                self._bases[path.pop()] = self._common_base(declaration)

    def _common_base(self, declaration: TypeDeclaration) -> Base | None:
        bases = [(mention, self.base(mention)) for mention in _mentions(declaration)]
        first, base = bases[0]
        for mention, other in bases[1:]:
            if base and other and other is not base:
                message = f"`{mention.name}` is {phrase([other])}, but `{first.name}` is {phrase([base])}"
                self._findings.append(mention.span.error(message, "the types of a union have one base type"))
        return base


def _by_name(declarations: Sequence[TypeDeclaration], findings: Findings) -> Mapping[str, TypeDeclaration]:
    declared: dict[str, TypeDeclaration] = {}
    for declaration in declarations:
        first = declared.setdefault(declaration.name, declaration)
        if first is not declaration:
            hint = f"it was declared at {first.span.place}"
            findings.append(declaration.span.error(f"the type `{declaration.name}` is declared twice", hint))
    return declared


def _mentions(declaration: TypeDeclaration) -> tuple[TypeName, ...]:
    """Return the types that a declaration mentions; a structure mentions none."""
    if isinstance(declaration, UnionType):
        return declaration.members
    return (declaration.base,) if isinstance(declaration, Subtype) else ()


class Lattice:
    """The subtype order of the declared types, which must not be cyclic. Aliases are the same type."""

    def __init__(self, declarations: Iterable[TypeDeclaration]) -> None:
        self._bases: dict[str, str] = {}
        self._members: dict[str, Sequence[str]] = {}
        for item in declarations:
            if isinstance(item, Subtype):
                self._bases[item.name] = item.base.name
            elif isinstance(item, UnionType):
                self._members[item.name] = [member.name for member in item.members]

    def plain(self, name: str) -> str:
        """Return the type that a name is an alias of."""
        while len(self._members.get(name, ())) == 1:
            (name,) = self._members[name]
        return name

    def is_root(self, name: str) -> bool:
        """Return whether a type is no subtype or union: a base type, a record or an algebraic data type."""
        return name not in self._bases and name not in self._members

    def is_subtype(self, lesser: str, greater: str) -> bool:
        """Return whether the declarations make one type a subtype of the other."""
        lesser, greater = self.plain(lesser), self.plain(greater)
        if lesser == greater or (lesser in self._bases and self.is_subtype(self._bases[lesser], greater)):
            return True
        if lesser in self._members:
            return all(self.is_subtype(member, greater) for member in self._members[lesser])
        return any(self.is_subtype(lesser, member) for member in self._members.get(greater, ()))

    def common(self, first: Names, second: Names) -> Names:
        """Return the greatest common subtypes of the first types and the second; empty where they are disjoint."""
        return frozenset(name for a in first for b in second for name in self._common(a, b))

    def _common(self, first: str, second: str) -> Iterator[str]:
        if self.is_subtype(first, second):
            yield self.plain(first)
        elif self.is_subtype(second, first):
            yield self.plain(second)
        elif self.plain(first) in self._members and self.plain(second) in self._members:
            for member in self._members[self.plain(first)]:
                if self.is_subtype(member, second):
                    yield self.plain(member)
                elif self.plain(member) in self._members:
                    yield from self._common(member, second)


@dataclass(frozen=True)
class Evidence:
    """The reason for a type: a phrase, and its position."""

    phrase: str
    span: Span


Slot = int


class TypeSlots:
    """A union-find structure of slots.

    An operation that would leave a slot without types returns False and changes nothing.
    """

    def __init__(self) -> None:
        self._parents: list[Slot] = []
        self._types: list[Types] = []
        self._evidence: list[Evidence | None] = []

    def new(self, types: Types, evidence: Evidence | None = None) -> Slot:
        """Return a new slot."""
        self._parents.append(len(self._parents))
        self._types.append(types)
        self._evidence.append(evidence)
        return len(self._parents) - 1

    def types(self, slot: Slot) -> Types:
        """Return the possible types of the slot, at least one."""
        return self._types[self._root(slot)]

    def evidence(self, slot: Slot) -> Evidence | None:
        """Return the reason for the first restriction of the slot."""
        return self._evidence[self._root(slot)]

    def restrict(self, slot: Slot, types: Types, evidence: Evidence | None = None) -> bool:
        """Restrict the slot to `types`; False if none would be left."""
        return self.merge(slot, self.new(types, evidence))

    def merge(self, first: Slot, second: Slot) -> bool:
        """Merge two slots; False if they have no type in common."""
        one, other = self._root(first), self._root(second)
        common = self._types[one] & self._types[other]
        if not common:
            return False
        self._evidence[one] = self._evidence[one] or self._evidence[other]
        self._parents[other] = one
        self._types[one] = common
        return True

    def _root(self, slot: Slot) -> Slot:
        while self._parents[slot] != slot:
            self._parents[slot] = self._parents[self._parents[slot]]
            slot = self._parents[slot]
        return slot
