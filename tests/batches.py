"""Numbers of batches of random examples, of which the default suite runs the first ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, of: int) -> list[Any]:
    """The numbers below `of`; those from `count` on are for the slow suite."""
    return [*range(count), *slow(range(count, of))]


def slow(values: Iterable[Any]) -> list[Any]:
    """Values of a parameter for the slow suite alone."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
