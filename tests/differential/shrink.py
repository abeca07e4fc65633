"""A failing run made small: fewer epochs, fewer rows, and whatever smaller programs the caller proposes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from tests.differential.compare import Contents

T = TypeVar("T")
ATTEMPTS = 2000


def shrink(case: T, smaller: Callable[[T], Iterable[T]], fails: Callable[[T], bool]) -> T:
    """A case that fails and none of whose proposals does, or the best one after so many attempts."""
    attempts = 0
    progress = True
    while progress:
        progress = False
        for candidate in smaller(case):
            attempts += 1
            if attempts > ATTEMPTS:
                return case
            if fails(candidate):
                case, progress = candidate, True
                break
    return case


def smaller_runs(run: Sequence[Contents]) -> Iterator[list[Contents]]:
    """The run without one epoch, then without one row in all epochs, then without one row in one of them."""
    for i in reversed(range(len(run))):
        yield [contents for j, contents in enumerate(run) if j != i]
    for name, row in sorted({(n, r) for contents in run for n, rows in contents.items() for r in rows}, key=repr):
        yield [_without(contents, name, row) for contents in run]
    for i, contents in enumerate(run):
        for name, rows in sorted(contents.items()):
            for row in sorted(rows, key=repr):
                yield [*run[:i], _without(contents, name, row), *run[i + 1 :]]


def _without(contents: Contents, name: str, row: tuple) -> Contents:
    return {n: rows - {row} if n == name else rows for n, rows in contents.items()}
