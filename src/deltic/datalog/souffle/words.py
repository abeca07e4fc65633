"""Soufflé's words: what is reserved, and what the operators are called."""

from __future__ import annotations

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

# How a relation is stored or evaluated. `inline`, `magic` and `no_magic` say so here too; the others change nothing.
HINTS = ("btree", "btree_delete", "brie", "inline", "no_inline", "magic", "no_magic", "overridable", "suppressed")

# Pragmas that are about relations. Soufflé takes no notice of the first.
RELATION_PRAGMAS = ("hidden", "magic-transform", "magic-transform-exclude", "inline-exclude")

# Pragmas that change what programs mean, or how they are checked, and their values. Soufflé has its word size built in.
SETTINGS = {"legacy": ("",), "word-size": ("32", "64")}

# From the loosest to the tightest; operators of one row bind alike, to the left. `^` binds to the right.
BINARY_OPERATORS = (
    ("lor",),
    ("lxor",),
    ("land",),
    ("bor",),
    ("bxor",),
    ("band",),
    ("bshl", "bshr", "bshru"),
    ("+", "-"),
    ("*", "/", "%"),
)
PREFIX_OPERATORS = ("-", "bnot", "lnot")

# Options of Soufflé that cannot change what a program derives, and where the preprocessor seeks files.
PRAGMAS = (
    *("auto-schedule", "compile", "compile-many", "debug-report", "disable-transformers", "dl-program"),
    *("emit-statistics", "generate", "generate-many", "generate-namespace", "include-dir", "index-stats", "jobs"),
    *("libraries", "library-dir", "live-profile", "no-preprocessor", "no-warn", "preprocessor", "profile"),
    *("profile-frequency", "provenance", "show", "swig", "verbose", "version", "warn", "wno"),
)
