"""Names of functions in Soufflé and DDlog, with the function of SQL that means the same, if there is one."""

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

_STRINGS = {
    "contains": "contains",
    "ends_with": "endswith",
    "join": "concat_ws",
    "len": "octet_length",
    "replace": "replace",
    "reverse": "reverse",
    "starts_with": "startswith",
    "to_lowercase": "lower",
    "to_uppercase": "upper",
}
_FLOATS = {
    **{f: f for f in ("abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp")},
    **{f: f for f in ("ceil", "floor", "ln", "log10", "log2", "round", "signum", "sin", "sinh", "sqrt", "tan", "tanh")},
    "is_nan": "isnan",
    "powf": "power",
    "to_degrees": "degrees",
    "to_radians": "radians",
}

DDLOG: Mapping[str, str] = {
    **{f"ddlog_std::string_{name}": own for name, own in _STRINGS.items()},
    **{f"fp::{name}_{width}": own for name, own in _FLOATS.items() for width in "df"},
    "ddlog_std::map_contains_key": "map_contains_key",
    "ddlog_std::map_keys": "map_keys",
    "ddlog_std::map_values": "map_values",
    "ddlog_std::vec_contains": "array_contains",
    "ddlog_std::vec_len": "size",
}
"""Functions of DDlog's libraries that are as one of SQL, which are computed by Python within compiled rules."""
