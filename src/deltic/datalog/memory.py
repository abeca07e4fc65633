"""What was made of the parts of programs, so that it need not be made again where a part, and what it reads, stays."""

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
    """What was made of objects; what is not asked for between two calls of `forget` is forgotten.

    Objects are told apart as such: clauses are equal that stand at several places, which messages name.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[Sequence[object], MadeT]] = {}
        self._used: dict[tuple[int, ...], tuple[Sequence[object], MadeT]] = {}

    def get(self, *parts: object) -> MadeT | None:
        """What was made of these objects."""
        key = tuple(map(id, parts))
        result = self._known.get(key)
        if result is None:
            return None
        self._used[key] = result
        return result[1]

    def keep(self, made: MadeT, *parts: object) -> None:
        """Remember what was made of these objects, which are kept so that their identities are theirs alone."""
        self._known[tuple(map(id, parts))] = self._used[tuple(map(id, parts))] = parts, made

    def forget(self) -> None:
        """Forget what was not asked for."""
        self._known, self._used = self._used, {}


@dataclass(frozen=True)
class RulesOf:
    """The rules of a clause in which nothing is wrong, and what is likely wrong."""

    reads: tuple[str, ...]
    """The relations that it mentions."""
    given: Any
    """What else its check depends on."""
    rules: tuple[CheckedRule, ...]
    warnings: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Defined:
    """The definition of a stratum."""

    reads: tuple[str, ...]
    """The relations that its rules mention."""
    given: Any
    """What else it depends on."""
    definition: ViewDefinitions


@dataclass(frozen=True)
class ClauseMemory:
    """What was made of clauses and of strata, by checks and by lowering."""

    resolved: MadeOnce[Clause] = field(default_factory=MadeOnce)
    """Clauses in which `exists` is the only quantifier, of those that were written."""
    rules: MadeOnce[RulesOf] = field(default_factory=MadeOnce)
    definitions: MadeOnce[Defined] = field(default_factory=MadeOnce)
    """The definitions of strata, of their rules."""
