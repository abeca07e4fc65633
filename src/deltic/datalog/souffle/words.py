"""Soufflé's vocabulary: reserved words, operators, directives, pragmas; and its functions, with those of SQL."""

from __future__ import annotations

from collections.abc import Mapping

TESTS = ("contains", "match")
CONVERSIONS = ("itof", "itou", "ftoi", "ftou", "utof", "utoi", "to_float", "to_number", "to_string", "to_unsigned")
FUNCTORS = ("cat", "ord", "range", "strlen", "substr", *CONVERSIONS)
AGGREGATES = ("min", "max", "sum", "mean", "count")
WORD_OPERATORS = ("lor", "lxor", "land", "bor", "bxor", "band", "bshl", "bshr", "bshru", "bnot", "lnot")
RESERVED = frozenset((*TESTS, *FUNCTORS, *AGGREGATES, *WORD_OPERATORS, "true", "false", "nil", "as", "autoinc", "_"))

PRIMITIVE_TYPES = ("number", "unsigned", "float", "symbol")

DIRECTIVES = (
    *(".decl", ".type", ".input", ".output", ".printsize", ".limitsize", ".plan", ".pragma", ".include", ".once"),
    *(".comp", ".init", ".override", ".functor", ".strict"),
)

# Qualifiers about storage and evaluation. `inline`, `magic` and `no_magic` are respected; the others have no effect.
HINTS = ("btree", "btree_delete", "brie", "inline", "no_inline", "magic", "no_magic", "overridable", "suppressed")

# Pragmas about relations. Soufflé ignores the first.
RELATION_PRAGMAS = ("hidden", "magic-transform", "magic-transform-exclude", "inline-exclude")

# Pragmas that change the meaning or the checks of programs, with their values. Soufflé's word size is built in.
SETTINGS = {"legacy": ("",), "word-size": ("32", "64")}

# Options of Soufflé that do not change what a program derives, and the search path of the preprocessor.
PRAGMAS = (
    *("auto-schedule", "compile", "compile-many", "debug-report", "disable-transformers", "dl-program"),
    *("emit-statistics", "generate", "generate-many", "generate-namespace", "include-dir", "index-stats", "jobs"),
    *("libraries", "library-dir", "live-profile", "no-preprocessor", "no-warn", "preprocessor", "profile"),
    *("profile-frequency", "provenance", "show", "swig", "verbose", "version", "warn", "wno"),
)


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
