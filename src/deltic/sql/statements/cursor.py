"""The head of a statement, read token by token where sqlglot has no grammar or less precise messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from deltic.sql.statements.reading import Tokens, divided, identifier, is_name, query, token_error
from deltic.sql.text import SourceText


class Cursor:
    """A place among the tokens of one statement. Words count without their case."""

    def __init__(self, tokens: Tokens, source: SourceText) -> None:
        self.tokens, self.source = tokens, source
        self.position = 0

    @property
    def rest(self) -> Tokens:
        """The tokens from here on."""
        return self.tokens[self.position :]

    @property
    def span(self) -> tuple[SourceText, int, int]:
        """The text, and the offsets at which the statement begins and ends in it."""
        return self.source, self.tokens[0].start, self.tokens[-1].end + 1

    @property
    def at_end(self) -> bool:
        """Whether no token is left."""
        return not self.rest

    def sees(self, *words: str) -> bool:
        """Return whether these words come next."""
        return self._length(words) > 0

    def take(self, *words: str) -> bool:
        """Skip these words, if they come next."""
        length = self._length(words)
        self.position += length
        return length > 0

    def _length(self, words: Sequence[str]) -> int:
        """Return how many tokens these words are that come next, 0 where others do. Some keywords are several words."""
        result: list[str] = []
        for number, token in enumerate(self.rest, 1):
            if token.token_type is TokenType.STRING:
                return 0
            result += token.text.upper().split()
            if len(result) >= len(words):
                return number if result == list(words) else 0
        return 0

    def need(self, *words: str) -> None:
        """Skip these words; raises ProgramError where others come."""
        if not self.take(*words):
            self.refuse(f"expected {' '.join(words)}")

    def name(self, what: str) -> exp.Identifier:
        """Skip the name of a relation or column; raises ProgramError where there is none."""
        if self.at_end or not is_name(self.rest[0]):
            is_text = not self.at_end and self.rest[0].token_type is TokenType.STRING
            self.refuse(f"expected {what}", f"a name in quotes is `{self.rest[0].text}`" if is_text else "")
        self.position += 1
        if self.sees("."):
            raise token_error(
                self.source,
                self.tokens[self.position - 1],
                f"{what} has one part here: there are no catalogs and schemas",
                "leave out everything before the last dot",
            )
        return identifier(self.tokens[self.position - 1])

    def text(self, what: str) -> str:
        """Skip a text in quotes; raises ProgramError where there is none."""
        if self.at_end or self.rest[0].token_type is not TokenType.STRING:
            self.refuse(f"expected {what}, a text in quotes")
        self.position += 1
        return self.tokens[self.position - 1].text

    def group(self) -> Tokens:
        """Skip a parenthesis with all that is in it: the tokens between, or none where there is no parenthesis."""
        if not self.sees("("):
            return []
        depth = 0
        for number, token in enumerate(self.rest):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            if not depth:
                inside = self.rest[1:number]
                self.position += number + 1
                return inside
        raise token_error(self.source, self.rest[0], "this parenthesis is not closed")

    def up_to(self, what: str, *words: str) -> Tokens:
        """Skip what comes before one of these words, parentheses as a whole; raises ProgramError where nothing does."""
        begin = self.position
        while not self.at_end and not any(map(self.sees, words)):
            if self.sees("("):
                self.group()
            else:
                self.position += 1
        if begin == self.position:
            self.refuse(f"expected {what}")
        return self.tokens[begin : self.position]

    def parts(self) -> list[Tokens]:
        """Skip a parenthesis with all that is in it: the tokens between its commas, none where there is none.

        Raises ProgramError where nothing stands between two of them.
        """
        inside = self.group()
        result, place = list(divided(inside)), 0
        for part in result:
            if not part:
                here = "before" if place < len(inside) else "after"
                comma = inside[min(place, len(inside) - 1)]
                raise token_error(self.source, comma, f"nothing {here} this comma")
            place += len(part) + 1
        return result

    def end(self) -> None:
        """Raise ProgramError where tokens are left."""
        if not self.at_end:
            self.refuse("the statement should end here")

    def query(self, what: str = "a query") -> exp.Expression:
        """Return the query that the rest is; raises ProgramError where nothing is left."""
        if self.at_end:
            self.refuse(f"expected {what}")
        return query(self.rest, self.source)

    def refuse_words(self, statement: str, remedies: Mapping[str, str]) -> None:
        """Raise ProgramError where words of a clause come next that `statement` does not have."""
        for words, remedy in remedies.items():
            if self.sees(*words.split()):
                raise token_error(self.source, self.rest[0], f"{statement} {words} is not supported", remedy)

    def refuse(self, message: str, hint: str = "") -> NoReturn:
        """Raise the error about the token that comes next."""
        token: Token = self.rest[0] if self.rest else self.tokens[-1]
        place = f", found `{self.source.text[token.start : token.end + 1]}`" if self.rest else ", found the end"
        raise token_error(self.source, token, message + place, hint)
