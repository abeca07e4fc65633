"""Explanations of syntax errors: what was found, what was expected, and hints for common mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lark import Token, Tree, UnexpectedInput
from lark.exceptions import UnexpectedToken

from deltic.datalog.souffle.words import DIRECTIVES, HINTS
from deltic.datalog.syntax.source import ProgramText
from deltic.errors import Diagnostic, did_you_mean

_OPERATORS = frozenset(
    (
        *("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CARET"),
        *("LOR", "LXOR", "LAND", "BOR", "BXOR", "BAND", "BSHL", "BSHR", "BSHRU"),
    )
)
_VALUES = frozenset(
    (
        *("NUMBER", "UNSIGNED", "FLOAT", "STRING", "IDENT", "UNDERSCORE", "ADDRESS", "NIL", "DOLLAR", "AUTOINC"),
        *("LPAR", "LSQB", "MINUS", "BNOT", "LNOT", "AS", "AT", "FUNCTOR"),
        *("MIN", "MAX", "SUM", "MEAN", "COUNT", "USER_AGGREGATE"),
    )
)
_CONDITIONS = _VALUES | {"BANG", "TEST", "TRUE", "FALSE", "QUALIFIED", "QUANTIFIER"}

# Sets of terminals with a common description, which applies if all terminals of the first column are expected.
_GROUPS = (
    ({"DIRECTIVE", "IDENT"}, None, "a declaration, a directive, a fact or a rule"),
    ({"BANG", "NUMBER"}, _CONDITIONS, "an atom or another condition"),
    ({"NUMBER", "STRING", "LPAR"}, _VALUES, "a value"),
    ({"NUMBER", "STRING", "TRUE"}, {"NUMBER", "STRING", "TRUE", "FALSE", "FLOAT", "IDENT"}, "a word, string or number"),
    ({"PLUS", "STAR"}, _OPERATORS, "an operator"),
)
# The other terminals, in the order of the description. Rarely meant ones are left out.
_WORDS = {
    "DOT": "`.`",
    "COMMA": "`,`",
    "SEMICOLON": "`;`",
    "COLON": "`:`",
    "IF": "`:-`",
    "EQUAL": "`=`",
    "SUBTYPE": "`<:`",
    "VBAR": "`|`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "MORETHAN": "`>`",
    "IDENT": "a name",
    "STRING": "a string",
    "NUMBER": "a number",
    "COMPARISON": "a comparison",
    "$END": "the end of the program",
}


@dataclass(frozen=True)
class SyntaxFinding:
    """A finding, and an offset in the statement that it is about."""

    diagnostic: Diagnostic
    offset: int


@dataclass(frozen=True)
class _Failure:
    """The state at a syntax error: the offset, the text found there ("" at the end) and the expected terminals."""

    source: ProgramText
    position: int
    found: str
    accepts: frozenset[str]
    stack: tuple[Token | Tree[Token], ...]

    @property
    def previous(self) -> tuple[int, int]:
        """The start and end of the last parsed part."""
        last = self.stack[-1] if self.stack else None
        meta: Any = last if last is None or isinstance(last, Token) else last.meta
        start = getattr(meta, "start_pos", None)
        return (0, 0) if start is None else (start, meta.end_pos)

    @property
    def previous_word(self) -> Token | None:
        """The last parsed part if it is a token."""
        last = self.stack[-1] if self.stack else None
        return last if isinstance(last, Token) else None

    def finding(self, begin: int, end: int, message: str, hint: str = "") -> SyntaxFinding:
        """Return a finding about the text from `begin` to `end`."""
        return SyntaxFinding(self.source.place(begin, max(begin + 1, end)).error(message, hint), begin)

    def here(self, message: str, hint: str = "") -> SyntaxFinding:
        """Return a finding about the unexpected text."""
        return self.finding(self.position, self.position + len(self.found), message, hint)

    def before(self, message: str, hint: str = "") -> SyntaxFinding:
        """Return a finding about the last parsed part."""
        return self.finding(*self.previous, message, hint)

    def unexpected(self) -> str:
        """Return the default message."""
        return f"expected {_described(self.accepts)}, found `{self.found}`"


def explain(source: ProgramText, error: UnexpectedInput) -> SyntaxFinding:
    """Return the finding for a syntax error of lark."""
    failure = _failure(source, error)
    for explanation in _EXPLANATIONS:
        if finding := explanation(failure):
            return finding
    return failure.here(failure.unexpected())


def _failure(source: ProgramText, error: UnexpectedInput) -> _Failure:
    state = getattr(error, "interactive_parser", None)
    stack = tuple(state.parser_state.value_stack) if state else ()
    accepts = frozenset(state.accepts()) if state else frozenset()
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return _Failure(source, len(source.text), "", accepts, stack)
    offset: Any = error.pos_in_stream
    result = str(error.token) if isinstance(error, UnexpectedToken) else source.text[offset]
    return _Failure(source, offset, result, accepts, stack)


def _sql(failure: _Failure) -> SyntaxFinding | None:
    """Return a statement of SQL."""
    word = failure.previous_word
    if word is None or word.upper() not in _SQL or "LPAR" not in failure.accepts:
        return None
    return failure.before(f"no statement begins with `{word}`", _SQL_HINT)


_SQL = ("SELECT", "WITH", "CREATE", "DROP", "ALTER", "INSERT", "DELETE", "UPDATE", "MERGE", "TRUNCATE")
_SQL_HINT = "this looks like SQL, which pipeline.sql and files *.sql take"


def _directive(failure: _Failure) -> SyntaxFinding | None:
    result = unknown_directive(failure.source.text, failure.position) if "DIRECTIVE" in failure.accepts else None
    return failure.finding(failure.position, *result) if result else None


def _slip(failure: _Failure) -> SyntaxFinding | None:
    text, (previous, _) = failure.source.text, failure.previous
    slip = find_slip(text, failure.position, previous) if failure.found else None
    return failure.here(slip[0] or failure.unexpected(), slip[1]) if slip else None


def _keyword(failure: _Failure) -> SyntaxFinding | None:
    """Return the name of a functor or aggregate, used as a variable."""
    word = failure.previous_word
    if word is None or word.type not in ("FUNCTOR", "MIN", "MAX", "SUM", "MEAN", "COUNT", "TEST"):
        return None
    hint = f"choose another name, such as `{word}_`"
    return failure.before(f"`{word}` is a reserved word and cannot be a variable", hint)


def _one_argument(failure: _Failure) -> SyntaxFinding | None:
    """`min(x)`, which is neither the functor nor the aggregate."""
    words = [part for part in failure.stack if isinstance(part, Token) and part.type in ("MIN", "MAX")]
    if not words or "COLON" not in failure.accepts:
        return None
    start = words[-1].start_pos or 0
    return failure.finding(start, start + len(words[-1]), f"`{words[-1]}` takes two or more arguments")


def _qualifier(failure: _Failure) -> SyntaxFinding | None:
    word = failure.previous_word
    if word is None or word.type != "IDENT" or "LPAR" not in failure.accepts:
        return None
    result = unknown_qualifier(failure.source.line(word.line or 0)[: (word.end_column or 1) - 1])
    return failure.before(*result) if result else None


def _unfinished(failure: _Failure) -> SyntaxFinding | None:
    """Return an unfinished statement at the beginning of the next one or at the end of the text."""
    start, end = failure.previous
    may_end = "DOT" in failure.accepts
    if failure.found and not (may_end and "\n" in failure.source.text[end : failure.position]):
        return None
    expected = failure.accepts & {"DOT", "COMMA", "SEMICOLON", "IF"} if may_end else failure.accepts
    message = f"this statement is not finished: expected {_described(expected)}"
    finding = failure.finding(end, end + 1, message, "a fact or rule ends with `.`" if may_end else "")
    return SyntaxFinding(finding.diagnostic, start)


def _bare_name(failure: _Failure) -> SyntaxFinding | None:
    """Return a name without parentheses as a condition: `p(x) :- q.`"""
    word = failure.previous_word
    if word is None or word.type != "IDENT" or not {"COMPARISON", "LPAR"} <= failure.accepts:
        return None
    hint = f"an atom has parentheses, also without arguments: `{word}()`"
    return failure.before(f"`{word}` is not a condition", hint)


_EXPLANATIONS = (_sql, _directive, _slip, _keyword, _one_argument, _qualifier, _unfinished, _bare_name)


def _described(terminals: Iterable[str]) -> str:
    """Return the terminals (by their names in the grammar) as an enumeration: "`)` or `,`"."""
    rest, phrases = set(terminals), []
    for test, group, phrase in _GROUPS:
        if rest >= test:
            rest -= rest if group is None else group
            phrases.append(phrase)
    words = [word for name in _WORDS if name in rest and (word := _WORDS[name])] + phrases
    if len(words) < 2:
        return words[0] if words else "something else"
    return ", ".join(words[:-1]) + " or " + words[-1]


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
    """Return the message and hint for a mistake at `position`, or one that begins at `previous` and extends over it."""
    for pattern, message, hint in _SLIPS:
        for start in (position, previous):
            match = pattern.match(text, start)
            if match and match.end() > position:
                return message, hint
    return None


def unknown_directive(text: str, position: int) -> tuple[int, str, str] | None:
    """Return the end, the message and the hint for an unknown directive at `position`; None if there is none."""
    match = _DIRECTIVE.match(text, position)
    if not match or match.group() in DIRECTIVES:
        return None
    return match.end(), f"there is no directive `{match.group()}`", did_you_mean(match.group(), DIRECTIVES)


def unknown_qualifier(line: str) -> tuple[str, str] | None:
    """Return the message and hint for a line that declares a relation and ends in an unknown qualifier."""
    match = _QUALIFIER.search(line)
    if not match:
        return None
    hint = did_you_mean(match[1], (*HINTS, "eqrel"))
    return f"there is no qualifier `{match[1]}`", hint or f"the qualifiers are {', '.join(HINTS)} and eqrel"
