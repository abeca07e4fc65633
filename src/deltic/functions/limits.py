"""Limits on values that functions make from small ones: an error instead of exhausted memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_ELEMENTS = 10_000_000
"""The elements of an array that sequence or array_repeat makes."""
MOST_LETTERS = 100_000_000
"""The letters of a text that repeat, space, lpad or rpad makes."""


def too_long(given: Sequence[Any] | None) -> str:
    """Return the error message for a result that would be too large."""
    return f"it makes at most {MOST_ELEMENTS:,} elements, and {MOST_LETTERS:,} letters"


def no_sequence(given: Sequence[Any] | None) -> str:
    """Return the error message for an invalid or too long sequence."""
    return f"the step leads from the start to the end, in at most {MOST_ELEMENTS:,} elements"
