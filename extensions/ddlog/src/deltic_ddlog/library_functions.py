"""The functions of DDlog's libraries that Python computes, with those of SQL that mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import walk_packages

from deltic.pipeline.definitions.front_end import FunctionName
from deltic_ddlog import library
from deltic_ddlog.natives import NATIVES

_STRINGS = {
    **{f: f for f in ("contains", "replace", "reverse")},
    "ends_with": "endswith",
    "join": "concat_ws",
    "len": "octet_length",
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
SAME_IN_SQL: Mapping[str, str] = {
    **{f"ddlog_std::string_{name}": own for name, own in _STRINGS.items()},
    **{f"fp::{name}_{width}": own for name, own in _FLOATS.items() for width in "df"},
    "ddlog_std::map_contains_key": "map_contains_key",
    "ddlog_std::map_keys": "map_keys",
    "ddlog_std::map_values": "map_values",
    "ddlog_std::vec_contains": "array_contains",
    "ddlog_std::vec_len": "size",
}


def library_functions() -> Sequence[FunctionName]:
    """Return the functions by their names with modules, from every module that has some."""
    for module in walk_packages(library.__path__, f"{library.__name__}."):
        import_module(module.name)
    return [FunctionName(name, SAME_IN_SQL.get(name, "")) for name in NATIVES]
