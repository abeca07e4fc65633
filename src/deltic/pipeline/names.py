"""Checks of names, choices and numbers from users, with errors that suggest the nearest name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import nan
from operator import index
from pathlib import Path
from typing import SupportsIndex, TypeVar

from deltic.errors import DelticError, did_you_mean
from deltic.values.words import some_of

T = TypeVar("T")
# How many names an error lists.
_NAMED = 20


def find(name: str, kind: str, known: Mapping[str, T], why: Mapping[str, str] | None = None, within: str = "") -> T:
    """Look up a name; raises DelticError with the nearest name, or the text of `why`."""
    if name in known:
        return known[name]
    if why and name in why:
        raise DelticError(f"{name} is not a {kind}: {why[name]}")
    there = f" in {within}" if within else ""
    raise DelticError(f"there is no {kind} {name!r}{there}; {did_you_mean(name, known) or _all(known)}")


def require_text(given: object) -> None:
    """Raise DelticError for a program that is not given as a text."""
    if not isinstance(given, str):
        remedy = "; read it with read_text()" if isinstance(given, Path) else ""
        raise DelticError(f"a program is given as a text, and this is {type(given).__name__}{remedy}")


def check_choice(value: str, kind: str, choices: Sequence[str]) -> None:
    """Raise DelticError unless `value` is one of the choices."""
    if value not in choices:
        raise DelticError(f"there is no {kind} {value!r}; {did_you_mean(value, choices) or _all(choices)}")


def check_least(value: object, name: str, least: int, meaning: str, whole: bool = True) -> None:
    """Raise DelticError unless `value` is a number, a `whole` one if it must be, and `least` or more."""
    number: float = index(value) if isinstance(value, SupportsIndex) else nan
    if isinstance(value, float) and not whole:
        number = value
    if isinstance(value, bool) or not number >= least:
        raise DelticError(f"{name} is {value!r}; it is {meaning}: {least} or more")


def _all(known: Collection[str]) -> str:
    return f"known: {some_of([*known], _NAMED)}" if known else "no program has declared any yet"
