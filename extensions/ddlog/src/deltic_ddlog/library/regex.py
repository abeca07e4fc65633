"""The functions of `regex`, by Python's regular expressions."""

from __future__ import annotations

import re
from typing import Any

from deltic_ddlog.natives import native
from deltic_ddlog.values import NONE, Struct, Vec, err, ok, some

native("regex::regex")(re.compile)


@native("regex::try_regex")
def try_regex(pattern: str) -> Struct:
    """The expression, where it is one."""
    try:
        return ok(re.compile(pattern))
    except re.error as error:
        return err(str(error))


@native("regex::regex_match")
def regex_match(expression: re.Pattern[str], text: str) -> bool:
    """Whether it matches somewhere."""
    return expression.search(text) is not None


@native("regex::regex_first_match")
def regex_first_match(expression: re.Pattern[str], text: str) -> Struct:
    """The first part that matches."""
    found = expression.search(text)
    return some(found[0]) if found else NONE


@native("regex::regex_all_matches")
def regex_all_matches(expression: re.Pattern[str], text: str) -> Vec:
    """All parts that match."""
    return Vec(found[0] for found in expression.finditer(text))


@native("regex::regex_set")
def regex_set(patterns: Vec) -> Any:
    """Several expressions."""
    return tuple(map(re.compile, patterns))


@native("regex::try_regex_set")
def try_regex_set(patterns: Vec) -> Struct:
    """Several expressions, where they are some."""
    try:
        return ok(regex_set(patterns))
    except re.error as error:
        return err(str(error))


@native("regex::regex_set_match")
def regex_set_match(expressions: Any, text: str) -> bool:
    """Whether one of them matches somewhere."""
    return any(regex_match(each, text) for each in expressions)
