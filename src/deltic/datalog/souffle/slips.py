"""Hints for syntax of other languages, with Soufflé's equivalent."""

from __future__ import annotations

import re

from deltic.datalog.souffle.words import DIRECTIVES, HINTS
from deltic.errors import did_you_mean

# Pattern, message ("" for the default one) and hint.
_SLIPS = tuple(
    (re.compile(pattern), message, hint)
    for pattern, message, hint in (
        (r"/\*", "this comment is not closed", "`*/` ends it"),
        (r'"', "this string is not closed on its line", "a line end inside of a string is written `\\n`"),
        (r"['‘’“”`]", "", 'strings are written in double quotes: "like this"'),
        (r"==", "", "equality is a single `=`"),
        (r"<>|/=|\\=|≠", "", "inequality is `!=`"),
        (r"=<|≤", "", "less or equal is `<=`"),
        (r"=>|≥", "", "greater or equal is `>=`; a rule is written `head :- body.`"),
        (r"&&|&|/\\|∧|and\s", "", "a comma stands for `and`: `a(x), b(x)`"),
        (r"\|\||\||\\/|∨|or\s", "", "a semicolon stands for `or`: `a(x); b(x)`"),
        (r"\\\+|~|¬|not\s+\S", "", "an exclamation mark stands for `not`: `!a(x)`"),
        (r"<-|←|⇐|:=", "", "a rule is written `head :- body.`"),
        (r"->|→", "", "an implication stands in parentheses: `(a(x) -> b(x))`; a rule is written `head :- body.`"),
        (r"[0-9]+[eE][+-]?[0-9]+", "this float has no point", "it has digits on both sides of one: `1.0e-7`"),
        (r"[0-9]+[A-Za-z_?][A-Za-z0-9_?]*", "this is neither a number nor a name", "a name cannot begin with a digit"),
        (r"\*\*", "", "the power of a number is written `x ^ y`"),
        (r"[^\x00-\x7f]", "", "names have letters from A to Z, digits, `_` and `?`"),
        (r"%", "", "comments are written `// ...` or `/* ... */`"),
    )
)
_DIRECTIVE = re.compile(r"\.[A-Za-z_]+")
_QUALIFIER = re.compile(r"\.decl\b.*\)[\w\s]*?\b(\w+)\s*$")


def find_slip(text: str, position: int, previous: int) -> tuple[str, str] | None:
    """The message and hint for a mistake at `position`, or one that begins at `previous` and extends over it."""
    for pattern, message, hint in _SLIPS:
        for start in (position, previous):
            match = pattern.match(text, start)
            if match and match.end() > position:
                return message, hint
    return None


def unknown_directive(text: str, position: int) -> tuple[int, str, str] | None:
    """The end, the message and the hint for an unknown directive at `position`; None if there is none."""
    match = _DIRECTIVE.match(text, position)
    if not match or match.group() in DIRECTIVES:
        return None
    return match.end(), f"there is no directive `{match.group()}`", did_you_mean(match.group(), DIRECTIVES)


def unknown_qualifier(line: str) -> tuple[str, str] | None:
    """The message and hint for a line that declares a relation and ends in an unknown qualifier."""
    match = _QUALIFIER.search(line)
    if not match:
        return None
    hint = did_you_mean(match[1], (*HINTS, "eqrel"))
    return f"there is no qualifier `{match[1]}`", hint or f"the qualifiers are {', '.join(HINTS)} and eqrel"
