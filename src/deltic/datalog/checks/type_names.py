"""Declared types: each is a name for a base type, or a structure. They have an order by name, of subtypes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from deltic.datalog.checks.kinds import BASE_TYPES, OPAQUE, Base, Structure, phrase
from deltic.datalog.syntax.expressions import TypeName
from deltic.datalog.syntax.program import Attribute, StructureType, Subtype, TypeDeclaration, UnionType
from deltic.errors import Diagnostic, did_you_mean

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
            for place, field in enumerate(branch.fields):
                if field.name in names[:place]:
                    message = f"`{branch.name or declaration.name}` has two fields called `{field.name}`"
                    self._findings.append(field.span.error(message, "give each field a name of its own"))
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
