"""The functions of all languages by their names, and what computes each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from deltic.errors import CatalogError, did_you_mean
from deltic.functions import FUNCTIONS
from deltic.pipeline.definitions.front_end import FrontEnd, FunctionName
from deltic.pipeline.definitions.front_ends import front_ends
from deltic.sql.scalars.functions import RULES
from deltic.sql.scalars.functions.bodies import calls
from deltic.sql.scalars.functions.definitions import DEFINED
from deltic.sql.scalars.functions.lookup import known
from deltic.sql.statements.program import FRONT as SQL

TIERS = ("core", "numpy", "Arrow", "DuckDB", "Python")
"""What computes functions, from the first choice to the last."""


@dataclass(frozen=True)
class ListedFunction:
    """A function: its names in each language, and its implementation.

    `entries` are its functions in the table, empty for the compiled core; `beside` names languages with an
    implementation of their own.
    """

    languages: Mapping[str, tuple[str, ...]]
    entries: tuple[str, ...]
    beside: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """All names; those with a module also without it."""
        whole = [name for names in self.languages.values() for name in names]
        return *whole, *(name.rpartition("::")[2] for name in whole if "::" in name)

    @property
    def in_table(self) -> bool:
        """Whether the core or the function table computes it in a language."""
        return not self.languages.keys() <= self.beside.keys()

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers that compute it, the last resort last."""
        if not self.in_table:
            return tuple(dict.fromkeys(self.beside.values()))
        result = {"core" if entry == "core" else FUNCTIONS[entry].tier for entry in self._computing} or {"core"}
        return tuple(tier for tier in TIERS if tier in result)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons where Python computes it."""
        own = (FUNCTIONS[entry].reason for entry in self._computing if entry != "core")
        return tuple(dict.fromkeys(filter(None, own)))

    @property
    def _computing(self) -> tuple[str, ...]:
        """The entries that compute its values; an error is computed for rows without one alone."""
        return tuple(entry for entry in self.entries if entry != "raised") or self.entries


@cache
def listed() -> Sequence[ListedFunction]:
    """Return all functions in the order of their names; other names of one function stand beside it."""
    others = [(front, tuple(front.functions())) for front in front_ends()]
    together: dict[object, list[str]] = {}
    for name in known():
        together.setdefault(_meaning(name), []).append(name)
    result = [_of_sql(tuple(names), others) for names in together.values()]
    beside = {(language, name) for function in result for language, own in function.languages.items() for name in own}
    for front, functions in others:
        alone = {front.title: front.computed_by} if front.computed_by else {}
        for own in functions:
            if (front.title, own.name) not in beside:
                result.append(ListedFunction({front.title: (own.name,)}, (own.entry,) if own.entry else (), alone))
    return sorted(result, key=lambda function: function.names[0])


def _meaning(name: str) -> object:
    """Return the key that names of one function share."""
    return tuple((one.parameters, one.body) for one in DEFINED.get(name, ())), RULES.get(name), calls(name)


def _of_sql(names: tuple[str, ...], others: Sequence[tuple[FrontEnd, Sequence[FunctionName]]]) -> ListedFunction:
    """Return a function of SQL, with those of other languages that are it and are computed by the same."""
    entries = tuple(dict.fromkeys(entry for name in names for entry in calls(name)))
    languages = {SQL: names}
    for front, functions in others:
        if same := tuple(own.name for own in functions if own.same_as in names and own.entry in ("", *entries)):
            languages[front.title] = same
    beside = {front.title: front.computed_by for front, _ in others if front.computed_by and front.title in languages}
    return ListedFunction(languages, entries, beside)


def named(name: str) -> list[ListedFunction]:
    """Return the functions of a name in any language; CatalogError where there is none."""
    wanted = name.lower()
    result = [function for function in listed() if wanted in map(str.lower, function.names)]
    if not result:
        hint = did_you_mean(wanted, {n for function in listed() for n in function.names})
        raise CatalogError(f"there is no function {name}" + (f"; {hint}" if hint else ""))
    return result
