"""Texts that a person can read: long ones are cut where a line says how much is left out."""

from __future__ import annotations

from collections.abc import Sequence


def bounded(lines: Sequence[str], most: int) -> list[str]:
    """The first lines and a last one that counts the others, `most` lines at most."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"… {len(lines) - most + 1} more lines"]
