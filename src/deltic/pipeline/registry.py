"""The functions of all languages by their names, and what computes each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from deltic.datalog.ddlog import library
from deltic.datalog.ddlog.natives import NATIVES
from deltic.datalog.souffle import functions as _of_souffle  # noqa: F401 - it enters Soufflé's own into the table
from deltic.errors import CatalogError, did_you_mean
from deltic.functions import FUNCTIONS
from deltic.functions.names import DDLOG, SOUFFLE
from deltic.sql.scalars.functions import RULES
from deltic.sql.scalars.functions.definitions import DEFINED
from deltic.sql.scalars.functions.lookup import calls, known

TIERS = ("core", "numpy", "Arrow", "DuckDB", "Python")
"""What computes functions, from the first choice to the last."""


@dataclass(frozen=True)
class Listed:
    """A function: its names in each language, and the functions of the table that compute it, none for the core's."""

    sql: tuple[str, ...]
    souffle: tuple[str, ...]
    ddlog: tuple[str, ...]
    entries: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names; those of DDlog also without their module."""
        return *self.sql, *self.souffle, *self.ddlog, *(name.rpartition("::")[2] for name in self.ddlog)

    @property
    def tiers(self) -> tuple[str, ...]:
        """What computes it in SQL and Soufflé, the last choice last."""
        if not self.sql and not self.souffle:
            return ("Python",)
        found = {"core" if entry == "core" else FUNCTIONS[entry].tier for entry in self.entries} or {"core"}
        return tuple(tier for tier in TIERS if tier in found)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why Python computes it, where it does."""
        own = (FUNCTIONS[entry].reason for entry in self.entries if entry != "core")
        return tuple(dict.fromkeys(filter(None, own)))


@cache
def listed() -> Sequence[Listed]:
    """All functions in the order of their names; other names of one function stand beside it."""
    together: dict[object, list[str]] = {}
    for name in known():
        together.setdefault(_meaning(name), []).append(name)
    found = [_of_sql(tuple(names)) for names in together.values()]
    beside = {name for function in found for name in (*function.souffle, *function.ddlog)}
    found += [
        Listed((), (name,), (), (entry,) if entry else ()) for name, (_, entry) in SOUFFLE.items() if name not in beside
    ]
    found += [Listed((), (), (name,), ()) for name in _natives() if name not in beside]
    return sorted(found, key=lambda function: function.names[0])


def _meaning(name: str) -> object:
    """What is equal for names of one function."""
    return tuple((one.parameters, one.body) for one in DEFINED.get(name, ())), RULES.get(name), calls(name)


def _of_sql(names: tuple[str, ...]) -> Listed:
    """A function of SQL, with those of Soufflé that are it and are computed by the same."""
    entries = tuple(dict.fromkeys(entry for name in names for entry in calls(name)))
    of_souffle = (name for name, (own, entry) in SOUFFLE.items() if own in names and entry in ("", *entries))
    return Listed(names, tuple(of_souffle), tuple(name for name, own in DDLOG.items() if own in names), entries)


def _natives() -> Iterable[str]:
    """The functions of DDlog's libraries."""
    for module in walk_packages(library.__path__, f"{library.__name__}."):
        import_module(module.name)
    return NATIVES


def named(name: str) -> list[Listed]:
    """The functions of a name in any language; CatalogError where there is none."""
    wanted = name.lower()
    found = [function for function in listed() if wanted in map(str.lower, function.names)]
    if not found:
        hint = did_you_mean(wanted, {n for function in listed() for n in function.names})
        raise CatalogError(f"there is no function {name}" + (f"; {hint}" if hint else ""))
    return found
