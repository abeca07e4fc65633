"""Syntax errors in words: what was found, what could stand there, and how to mend the usual slips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lark import Token, Tree, UnexpectedInput
from lark.exceptions import UnexpectedToken

from deltic.datalog.souffle.expected import describe
from deltic.datalog.souffle.slips import find_slip, unknown_directive, unknown_qualifier
from deltic.datalog.syntax.source import Source, Span
from deltic.errors import Diagnostic


@dataclass(frozen=True)
class _Failure:
    """Where the parser stopped: the offset, what it found there and what it could have taken."""

    source: Source
    position: int
    found: str
    accepts: frozenset[str]
    stack: tuple[Token | Tree[Token], ...]

    @property
    def previous(self) -> Token | Tree[Token] | None:
        return self.stack[-1] if self.stack else None

    @property
    def previous_start(self) -> int:
        start = self.previous.start_pos if isinstance(self.previous, Token) else None
        return self.position if start is None else start

    @property
    def previous_end(self) -> int:
        if isinstance(self.previous, Token):
            return self.previous.end_pos or 0
        return 0 if self.previous is None else getattr(self.previous.meta, "end_pos", 0)

    def at(self, begin: int, end: int) -> Span:
        text = self.source.text
        line, column = text.count("\n", 0, begin) + 1, begin - text.rfind("\n", 0, begin)
        return Span(self.source, line, column, line, column + max(1, end - begin))

    @property
    def here(self) -> Span:
        return self.at(self.position, self.position + len(self.found))


def explain(source: Source, error: UnexpectedInput) -> Diagnostic:
    """The finding about a text that lark cannot parse."""
    failure = _failure(source, error)
    for explanation in _EXPLANATIONS:
        if finding := explanation(failure):
            return finding
    return _unexpected(failure)


def offset_of(error: UnexpectedInput) -> int:
    """How many characters of the text stand before the error."""
    offset: Any = error.pos_in_stream
    return int(offset)


def _failure(source: Source, error: UnexpectedInput) -> _Failure:
    state = getattr(error, "interactive_parser", None)
    stack = tuple(state.parser_state.value_stack) if state else ()
    accepts = frozenset(state.accepts()) if state else frozenset()
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return _Failure(source, len(source.text), "", accepts, stack)
    position = offset_of(error)
    found = str(error.token) if isinstance(error, UnexpectedToken) else source.text[position]
    return _Failure(source, position, found, accepts, stack)


def _slip(failure: _Failure) -> Diagnostic | None:
    text = failure.source.text
    slip = find_slip(text, failure.position, failure.previous_start) if failure.found else None
    if not slip:
        return None
    message, hint = slip
    return failure.here.error(message or _found(failure), hint)


def _directive(failure: _Failure) -> Diagnostic | None:
    found = unknown_directive(failure.source.text, failure.position) if "DIRECTIVE" in failure.accepts else None
    return failure.at(failure.position, failure.position + 1).error(*found) if found else None


def _qualifier(failure: _Failure) -> Diagnostic | None:
    word = failure.previous
    if not isinstance(word, Token) or word.type != "IDENT" or "LPAR" not in failure.accepts:
        return None
    place = failure.at(failure.previous_start, failure.previous_end)
    found = unknown_qualifier(failure.source.line(place.line)[: place.end_column - 1])
    return place.error(*found) if found else None


def _keyword(failure: _Failure) -> Diagnostic | None:
    """A functor or an aggregate without arguments, as if it were a variable."""
    word = failure.previous
    if not isinstance(word, Token) or word.type not in ("FUNCTOR", "MIN", "MAX", "SUM", "MEAN", "COUNT", "TEST"):
        return None
    place = failure.at(failure.previous_start, failure.previous_end)
    return place.error(f"`{word}` is a reserved word and cannot be a variable", f"call it `{word}_` or so")


def _one_argument(failure: _Failure) -> Diagnostic | None:
    """`min(x)`: neither the functor nor the aggregate."""
    words = [part for part in failure.stack if isinstance(part, Token) and part.type in ("MIN", "MAX")]
    if not words or "COLON" not in failure.accepts:
        return None
    start = words[-1].start_pos or 0
    return failure.at(start, start + len(words[-1])).error(f"`{words[-1]}` takes two or more arguments")


def _unfinished(failure: _Failure) -> Diagnostic | None:
    """A statement that goes on where the next one seems to begin, or at the end of the text."""
    between = failure.source.text[failure.previous_end : failure.position]
    if failure.found and ("DOT" not in failure.accepts or "\n" not in between):
        return None
    place = failure.at(failure.previous_end, failure.previous_end + 1)
    ends = failure.accepts & {"DOT", "COMMA", "SEMICOLON", "IF"} if "DOT" in failure.accepts else failure.accepts
    hint = "a fact or rule ends with `.`" if "DOT" in failure.accepts else ""
    return place.error(f"this statement is not finished: expected {describe(ends)}", hint)


def _bare_name(failure: _Failure) -> Diagnostic | None:
    """A name where a condition should stand: `p(x) :- q.`"""
    word = failure.previous
    if not isinstance(word, Token) or word.type != "IDENT" or not {"COMPARISON", "LPAR"} <= failure.accepts:
        return None
    place = failure.at(failure.previous_start, failure.previous_end)
    return place.error(f"`{word}` is not a condition", f"an atom has parentheses, also without arguments: `{word}()`")


def _unexpected(failure: _Failure) -> Diagnostic:
    return failure.here.error(_found(failure))


def _found(failure: _Failure) -> str:
    return f"expected {describe(failure.accepts)}, found `{failure.found}`"


_EXPLANATIONS = (_directive, _slip, _keyword, _one_argument, _qualifier, _unfinished, _bare_name)
