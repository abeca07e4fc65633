"""How deep programs go."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

DEEPEST = 100
"""How many levels expressions are nested."""

LONGEST = 1_500
"""How many operators or fields follow one another in an expression, each of which is a level of its tree."""

_FRAMES = 20_000


@contextmanager
def deep() -> Iterator[None]:
    """Python's own limit is lifted to what the longest expression needs: some calls for each level."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
