"""Functions of Soufflé, with the equivalent SQL function if there is one."""

from __future__ import annotations

from collections.abc import Mapping

MATHEMATICS: Mapping[str, str] = {
    **{f: f for f in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
    "exp": "exp",
    "log": "ln",
}
"""Soufflé's functions of a float, with the functions of the table that compute them."""

SOUFFLE: Mapping[str, tuple[str, str]] = {
    "cat": ("concat", ""),
    "contains": ("contains", "contains"),
    "match": ("", "match"),
    "max": ("greatest", ""),
    "min": ("least", ""),
    "ord": ("", ""),
    "range": ("sequence", ""),
    "strlen": ("length", ""),
    "substr": ("substring", ""),
    "to_float": ("double", "float64_of_text"),
    "to_number": ("bigint", "int64_of_text"),
    "to_string": ("string", "six_places"),
    "to_unsigned": ("", "uint64_of_text"),
    **dict.fromkeys(("ftoi", "utoi"), ("bigint", "")),
    **dict.fromkeys(("itof", "utof"), ("double", "")),
    **dict.fromkeys(("ftou", "itou"), ("", "")),
    **{name: (entry, entry) for name, entry in MATHEMATICS.items()},
}
"""Soufflé's functors with names: the function of SQL, and the one of the table that computes them outside of the core.

`substr` counts places from 0, `contains` has the part first, and `range` ends before its end.
"""
