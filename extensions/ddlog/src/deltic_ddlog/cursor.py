"""A position among tokens, and the error where one does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from deltic.datalog.syntax.source import ProgramText, Span
from deltic.errors import Diagnostic, ProgramError
from deltic_ddlog.depth import DEEPEST
from deltic_ddlog.lexer import END, INT, NAME, OPERATOR, Token

STARTERS = frozenset(
    (
        *("input", "output", "internal", "relation", "stream", "multiset", "function", "typedef", "import", "extern"),
        *("for", "apply", "index"),
    )
)
"""The words that begin a declaration: after the dot of a rule, these are no fields."""
RESERVED = frozenset(
    (
        *("as", "and", "break", "continue", "else", "extern", "false", "for", "function", "if", "import", "in"),
        *("match", "mut", "not", "or", "return", "true", "typedef", "var"),
    )
)
ValueT = TypeVar("ValueT")


class TokenCursor:
    """A place among tokens."""

    def __init__(self, source: ProgramText, tokens: Sequence[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        """The token that is next."""
        return self.tokens[self.at]

    def ahead(self, count: int = 1) -> Token:
        """A later token."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    @property
    def last(self) -> Token:
        """The token that was taken last."""
        return self.tokens[max(self.at - 1, 0)]

    def advance(self) -> Token:
        """Take the next token."""
        taken = self.token
        if taken.kind != END:
            self.at += 1
        return taken

    def is_at(self, *texts: str) -> bool:
        """Whether the next token is one of these operators or words."""
        return self.token.kind in (OPERATOR, NAME) and self.token.text in texts

    def accept(self, *texts: str) -> bool:
        """Take the next token if it is one of these."""
        result = self.is_at(*texts)
        if result:
            self.advance()
        return result

    def expect(self, text: str, hint: str = "") -> Token:
        """Take the next token, which must be this one."""
        if not self.is_at(text):
            raise self.unexpected(f"`{text}`", hint)
        return self.advance()

    def name(self, what: str) -> Token:
        """Take a name without a module before it."""
        token = self.token
        if token.kind != NAME or token.text in RESERVED or "::" in token.text:
            raise self.unexpected(what)
        return self.advance()

    def number(self, what: str) -> int:
        """Take a whole number."""
        if self.token.kind != INT:
            raise self.unexpected(what)
        return int(self.advance().value)

    @contextmanager
    def nested(self) -> Iterator[None]:
        """One level deeper. Raises ProgramError where these are too many."""
        if self.depth >= DEEPEST:
            message = f"this is nested more than {DEEPEST} levels deep"
            raise ProgramError([self.finding(self.token, message, "compute its parts as variables: `var x = ...`")])
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def is_upper(self, count: int = 0) -> bool:
        """Whether a token is a name of a relation or a constructor."""
        token = self.ahead(count)
        return token.kind == NAME and token.text.rpartition("::")[2][0].isupper()

    def listed(self, item: Callable[[], ValueT], end: str) -> tuple[ValueT, ...]:
        """Items between commas, up to and with `end`."""
        result: list[ValueT] = []
        while not self.accept(end):
            result.append(item())
            if not self.accept(","):
                self.expect(end)
                break
        return tuple(result)

    def separated(self, item: Callable[[], ValueT], by: str = ",") -> tuple[ValueT, ...]:
        """One item, and others after such signs."""
        result = [item()]
        while self.accept(by):
            result.append(item())
        return tuple(result)

    def span(self, start: int) -> Span:
        """From an offset to the end of the token that was taken last."""
        return self.source.place(start, max(self.last.end, start))

    def unexpected(self, wanted: str, hint: str = "") -> ProgramError:
        """The error where the next token does not fit."""
        token = self.token
        text = self.source.text[token.start : token.end].split("\n")[0]
        text = text if len(text) <= 30 else f"{text[:30]}..."
        message = "the end of the text" if token.kind == END and not token.text else f"`{text}`"
        result = self.source.place(token.start, max(token.end, token.start + 1))
        return ProgramError([result.error(f"{wanted} is expected here, and not {message}", hint)])

    def finding(self, token: Token, message: str, hint: str = "") -> Diagnostic:
        """A finding about a token."""
        return self.source.place(token.start, token.end).error(message, hint)
