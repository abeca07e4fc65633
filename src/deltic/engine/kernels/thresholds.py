"""Sizes at which the engine changes its way of working: they affect time and memory, but no result."""

from __future__ import annotations

from typing import NamedTuple


class Thresholds(NamedTuple):
    """The sizes of one engine, in rows unless stated otherwise; kernels take it as it is."""

    most_waiting: int = 1 << 15
    """Entries that may wait when compiled iterations begin."""
    most_rows: int = 2048
    """Of one iteration and relation in compiled code."""
    allowance: int = 2048
    """Iterations after which compiled code returns for a moment."""
    near: int = 512
    """Of the level NEAR, from which on it is moved to FAR; see `overlay`."""
    far: int = 1 << 15
    """Of the level FAR, from which on it becomes a run."""
    logged: int = 1 << 16
    """Changes that compiled code hands over at once."""
    handed: int = 1024
    """Derivations that a search in compiled iterations hands over at once."""
    worthwhile: int = 8
    """Iterations that compiled code should do at a time."""
    rest: int = 8
    """Iterations that it is not asked for after it did fewer."""
    patience: int = 1 << 21
    """Visited by a search after which it pauses, so that an interrupt arrives soon."""
    piece: int = 1 << 16
    """Of a change that are searched in one piece; more pieces are shared among threads."""
    first_chunk: int = 1 << 10
    """Derivations in the first batch of a search, or as many as rows changed; the next are four times as large."""
    last_chunk: int = 1 << 20
    """So many are sorted within the second-level cache, or not far from it."""
    large: int = 1 << 16
    """Derivations from which on a batch is consolidated where it was made."""
    grouped: int = 1 << 12
    """Of a change from which on it is searched by groups: sorting and planning cost less than what they save."""


DEFAULTS = Thresholds()
