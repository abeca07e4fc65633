"""The functions of `regex`, by Python's regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from deltic_ddlog.natives import natives
from deltic_ddlog.values import NONE, Struct, Vec, err, ok, some

Patterns = tuple[re.Pattern[str], ...]


def _set(patterns: Vec) -> Patterns:
    return tuple(map(re.compile, patterns))


def _tried(make: Callable[[Any], Any], given: Any) -> Struct:
    """`Ok` of what is made of the pattern, or `Err` with the reason if it is invalid."""
    try:
        return ok(make(given))
    except re.error as error:
        return err(str(error))


natives(
    "regex",
    {
        "regex": re.compile,
        "regex_set": _set,
        "try_regex": partial(_tried, re.compile),
        "try_regex_set": partial(_tried, _set),
        "regex_match": lambda expression, text: expression.search(text) is not None,
        "regex_first_match": lambda expression, text: some(found[0]) if (found := expression.search(text)) else NONE,
        "regex_all_matches": lambda expression, text: Vec(found[0] for found in expression.finditer(text)),
        "regex_set_match": lambda expressions, text: any(each.search(text) for each in expressions),
    },
)
