"""How large the values are that functions make of small ones: beyond it there is an error, not the end of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_ELEMENTS = 10_000_000
"""The elements of an array that sequence or array_repeat makes."""
MOST_LETTERS = 100_000_000
"""The letters of a text that repeat, space, lpad or rpad makes."""


def too_long(given: Sequence[Any] | None) -> str:
    """Why a function has made no array or text."""
    return f"it makes at most {MOST_ELEMENTS:,} elements, and {MOST_LETTERS:,} letters"


def no_sequence(given: Sequence[Any] | None) -> str:
    """Why there is no sequence."""
    return f"the step leads from the start to the end, in at most {MOST_ELEMENTS:,} elements"
