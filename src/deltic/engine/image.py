"""The state of an engine at one moment, as what is written down: immutable arrays, and a description of them.

An engine *captures* an image at the cost of its description: what the image refers to never changes, so that it can be
written while epochs go on. `restore` takes what was written; arrays are asked for when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt

# What JSON can hold.
Json = Any
Arrays = Mapping[str, npt.NDArray[Any]]
Ranges = Sequence[tuple[int, int]]
"""From where up to, and not with, where; beyond an end nothing is."""


class StoredArrays(Protocol):
    """Arrays that were written, with what was said about them."""

    @property
    def about(self) -> Mapping[str, Json]:
        """The description, read without the arrays."""

    @property
    def is_far(self) -> bool:
        """Whether some of an array takes less time to have than all of it: it stands elsewhere, and was not read."""

    def arrays(self) -> Arrays:
        """The arrays, checked when they are read for the first time."""

    def some(self, ranges: Mapping[str, Ranges]) -> Arrays:
        """Of each array the elements in these ranges of its last axis, one after the other; unchecked."""


class ArrayOwner(Protocol):
    """What has arrays: it remembers where they were written, None before that."""

    kept: object | None


@dataclass(frozen=True)
class ImagePiece:
    """Arrays that belong together and never change; `owner` is there as long as they are."""

    about: Mapping[str, Json]
    owner: ArrayOwner
    arrays: Callable[[], Arrays]


@dataclass(frozen=True)
class GrowingSequence:
    """A sequence of `count` elements that only grows; `arrays` gives those from a start up to, but not, an end.

    Sequences of one `origin` have the same elements as far as both have some. `kept` are the stretches from the first
    element on that were read, where it began with such.
    """

    count: int
    arrays: Callable[[int, int], Arrays]
    origin: str
    kept: Sequence[StoredArrays] = ()


@dataclass(frozen=True)
class Image:
    """The whole state: `about` refers to pieces by their positions and to growing sequences by their names."""

    about: Mapping[str, Json]
    pieces: Sequence[ImagePiece] = ()
    growing: Mapping[str, GrowingSequence] = field(default_factory=dict)


@dataclass(frozen=True)
class Saved:
    """What was written of an image: its pieces, and of each sequence the stretches, in order."""

    about: Mapping[str, Json]
    pieces: Sequence[StoredArrays] = ()
    growing: Mapping[str, Sequence[StoredArrays]] = field(default_factory=dict)


def as_tuples(value: Json) -> Any:
    """The value with tuples for lists: what JSON makes of tuples."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value
