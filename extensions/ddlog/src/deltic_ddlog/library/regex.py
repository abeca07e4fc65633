"""The functions of `regex`, by Python's regular expressions."""

from __future__ import annotations

import re

from deltic_ddlog.natives import natives
from deltic_ddlog.values import NONE, Vec, some, tried

Patterns = tuple[re.Pattern[str], ...]


def _set(patterns: Vec) -> Patterns:
    return tuple(map(re.compile, patterns))


natives(
    "regex",
    {
        "regex": re.compile,
        "regex_set": _set,
        "try_regex": lambda pattern: tried(re.error, lambda: re.compile(pattern)),
        "try_regex_set": lambda patterns: tried(re.error, lambda: _set(patterns)),
        "regex_match": lambda expression, text: expression.search(text) is not None,
        "regex_first_match": lambda expression, text: some(found[0]) if (found := expression.search(text)) else NONE,
        "regex_all_matches": lambda expression, text: Vec(found[0] for found in expression.finditer(text)),
        "regex_set_match": lambda expressions, text: any(each.search(text) for each in expressions),
    },
)
