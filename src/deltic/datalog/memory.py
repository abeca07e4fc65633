"""Caches of checked clauses and lowered strata, which are reused while a part and its dependencies are unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from deltic.catalog import ViewDefinitions
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.syntax.program import Clause
from deltic.errors import Diagnostic

MadeT = TypeVar("MadeT")


class MadeOnce(Generic[MadeT]):
    """A cache keyed by the identity of objects; entries that are unused between two calls of `forget` are dropped.

    Equal objects are different keys, because clauses at different positions have different messages.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[Sequence[object], MadeT]] = {}
        self._used: dict[tuple[int, ...], tuple[Sequence[object], MadeT]] = {}

    def get(self, *parts: object) -> MadeT | None:
        """Return the cached result for these objects, or None."""
        key = tuple(map(id, parts))
        result = self._known.get(key)
        if result is None:
            return None
        self._used[key] = result
        return result[1]

    def keep(self, made: MadeT, *parts: object) -> None:
        """Cache a result; the objects are kept alive, so that their identities stay unique."""
        self._known[tuple(map(id, parts))] = self._used[tuple(map(id, parts))] = parts, made

    def forget(self) -> None:
        """Drop the entries that were not used since the last call."""
        self._known, self._used = self._used, {}


@dataclass(frozen=True)
class RulesOf:
    """The rules of a clause without errors, and its warnings."""

    reads: tuple[str, ...]
    """The relations that it mentions."""
    given: Any
    """The other dependencies of its check."""
    rules: tuple[CheckedRule, ...]
    warnings: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Defined:
    """The definition of a stratum."""

    reads: tuple[str, ...]
    """The relations that its rules mention."""
    given: Any
    """The other dependencies of the definition."""
    definition: ViewDefinitions


@dataclass(frozen=True)
class ClauseMemory:
    """The caches of clauses and strata, for checks and lowering."""

    resolved: MadeOnce[Clause] = field(default_factory=MadeOnce)
    """Clauses with `exists` as the only quantifier, by the clauses as written."""
    rules: MadeOnce[RulesOf] = field(default_factory=MadeOnce)
    definitions: MadeOnce[Defined] = field(default_factory=MadeOnce)
    """The definitions of strata, by their rules."""
