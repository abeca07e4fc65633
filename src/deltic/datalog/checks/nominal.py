"""Declared types by name: the subtype relation, and common subtypes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from deltic.datalog.syntax.program import Subtype, TypeDeclaration, UnionType

Names: TypeAlias = frozenset[str]


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
        """The type that a name is an alias of."""
        while len(self._members.get(name, ())) == 1:
            (name,) = self._members[name]
        return name

    def is_root(self, name: str) -> bool:
        """Whether a type is no subtype or union: a base type, a record or an algebraic data type."""
        return name not in self._bases and name not in self._members

    def is_subtype(self, lesser: str, greater: str) -> bool:
        """Whether the declarations make one type a subtype of the other."""
        lesser, greater = self.plain(lesser), self.plain(greater)
        if lesser == greater or (lesser in self._bases and self.is_subtype(self._bases[lesser], greater)):
            return True
        if lesser in self._members:
            return all(self.is_subtype(member, greater) for member in self._members[lesser])
        return any(self.is_subtype(lesser, member) for member in self._members.get(greater, ()))

    def common(self, first: Names, second: Names) -> Names:
        """The greatest common subtypes of the first types and the second; empty where they are disjoint."""
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
