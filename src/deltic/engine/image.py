"""The state of an engine at one moment, in the form in which it is written: immutable arrays, and a description.

An engine *captures* an image at the cost of its description: what the image refers to never changes, so it can be
written while epochs go on. `restore` takes a saved image, whose arrays are read at first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt

# A JSON value.
Json = Any
Arrays = Mapping[str, npt.NDArray[Any]]
Ranges = Sequence[tuple[int, int]]
"""Ranges [start, end). Parts beyond the end of an array are ignored."""


class StoredArrays(Protocol):
    """Saved arrays, with their description."""

    @property
    def about(self) -> Mapping[str, Json]:
        """The description, read without the arrays."""

    @property
    def is_far(self) -> bool:
        """Return whether reading a part of an array is faster than reading all of it: it is remote, and was not read
        yet.
        """

    def arrays(self) -> Arrays:
        """Return the arrays, which are checked when they are first read."""

    def some(self, ranges: Mapping[str, Ranges]) -> Arrays:
        """Return the elements in these ranges of each array's last axis, concatenated and unchecked."""


class ArrayOwner(Protocol):
    """An owner of arrays, which remembers where they were written; None before that."""

    kept: object | None


@dataclass(frozen=True)
class ImagePiece:
    """Arrays that belong together and never change; `owner` lives as long as they do."""

    about: Mapping[str, Json]
    owner: ArrayOwner
    arrays: Callable[[], Arrays]


@dataclass(frozen=True)
class GrowingSequence:
    """A sequence of `count` elements that only grows; `arrays` returns those from a start up to an end.

    Sequences of one `origin` have the same elements as far as both have some. `kept` are the saved stretches from the
    first element on, if the sequence was restored.
    """

    count: int
    arrays: Callable[[int, int], Arrays]
    origin: str
    kept: Sequence[StoredArrays] = ()


@dataclass(frozen=True)
class Image:
    """The whole state: `about` refers to pieces by position and to growing sequences by name."""

    about: Mapping[str, Json]
    pieces: Sequence[ImagePiece] = ()
    growing: Mapping[str, GrowingSequence] = field(default_factory=dict)


@dataclass(frozen=True)
class Saved:
    """A saved image: its pieces, and the stretches of each sequence, in order."""

    about: Mapping[str, Json]
    pieces: Sequence[StoredArrays] = ()
    growing: Mapping[str, Sequence[StoredArrays]] = field(default_factory=dict)


def as_tuples(value: Json) -> Any:
    """Return the value with tuples in place of lists, to which JSON converts them."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value
