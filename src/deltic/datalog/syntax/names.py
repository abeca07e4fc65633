"""The nearest name to a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like `name`, "" when none is alike. The case of letters counts little."""
    candidates = list(known)
    lowered = {candidate.lower(): candidate for candidate in reversed(candidates)}
    if name.lower() in lowered:
        return lowered[name.lower()]
    matches = difflib.get_close_matches(name, candidates, 1, 0.6)
    return matches[0] if matches else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint that names the nearest name, "" when none is alike."""
    found = nearest(name, known)
    return f"did you mean `{found}`?" if found else ""
