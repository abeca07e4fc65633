"""Type inference variables: each slot is a set of possible types, and slots can be merged."""

from __future__ import annotations

from dataclasses import dataclass

from deltic.datalog.checks.kinds import Types
from deltic.datalog.syntax.source import Span


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
        """A new slot."""
        self._parents.append(len(self._parents))
        self._types.append(types)
        self._evidence.append(evidence)
        return len(self._parents) - 1

    def types(self, slot: Slot) -> Types:
        """The possible types of the slot, at least one."""
        return self._types[self._root(slot)]

    def evidence(self, slot: Slot) -> Evidence | None:
        """The reason for the first restriction of the slot."""
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
