"""Translation of statements from PostgreSQL's dialect to Deltic's, with positions preserved; and to what sqlglot reads.

Lexical rules are PostgreSQL's: "a" is a name, a backslash in '…' is itself, $1 is a parameter, names of types such as
int8 mean PostgreSQL's. All else is Deltic's SQL.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from deltic.server.postgres.errors import PostgresError
from deltic.server.postgres.tokens import SqlToken, tokens

SCHEMA = "public"
"""The one schema, in which all tables and views are."""

_TYPES = {
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "float4": "float",
    "float8": "double",
    "bool": "boolean",
    "bytea": "binary",
    "timestamptz": "timestamp",
    "json": "string",
    "jsonb": "string",
    "uuid": "string",
    "character varying": "varchar",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp_ntz",
}
_TYPE = re.compile("(" + "|".join(sorted(_TYPES, key=len, reverse=True)).replace(" ", r"\s+") + r")\b", re.IGNORECASE)
_BEFORE_NAMES = {"(", ",", ".", "ADD", "COLUMN", "DROP", "RENAME", "TO", "TABLE", "EXISTS"}
_SQL_STRING = str.maketrans({"\\": "\\\\", "'": "\\'"})
_TRACE = re.compile("traceparent='(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})'")


@dataclass(frozen=True)
class ClientStatement:
    """One statement of a text: its tokens by PostgreSQL's rules, of which there is at least one."""

    whole: str
    tokens: Sequence[SqlToken]
    said: Mapping[int, str] = field(default_factory=dict)
    """Replacements of tokens in Deltic's words, by their numbers."""

    @property
    def text(self) -> str:
        """The statement as it was written."""
        return self.whole[self.tokens[0].start : self.tokens[-1].end]

    @cached_property
    def words(self) -> list[str]:
        """The texts of the tokens, in upper case where they are not quoted."""
        return [token.word for token in self.tokens]

    def begins(self, *words: str) -> bool:
        """Return whether the statement begins with these words."""
        return self.words[: len(words)] == list(words)

    def part(self, first: int, last: int | None = None) -> ClientStatement:
        """Return the statement that tokens of this one are, from one number up to, but not, another one."""
        if not (part := self.tokens[first:last]):
            raise self.error(len(self.tokens) - 1, f"the statement ends too early, after {self.tokens[-1].text}")
        return ClientStatement(self.whole, part)

    def name(self, place: int) -> tuple[str, int]:
        """Return the name that begins with a token, without those of database and schema, and the number after it."""
        while self.words[place + 1 : place + 2] == ["."]:
            place += 2
        return self.part(place).tokens[0].text, place + 1

    @property
    def trace(self) -> Mapping[str, str]:
        """The client's trace, where a comment names it as sqlcommenter writes it."""
        found = _TRACE.search(self.whole)
        return {} if found is None else {"traceparent": found[1]}

    def error(self, number: int, message: str, hint: str = "", sqlstate: str = "42601") -> PostgresError:
        """Return the error about one token."""
        token = self.tokens[min(number, len(self.tokens) - 1)]
        return PostgresError(sqlstate, message, hint=hint, position=token.start + 1)

    @cached_property
    def parameters(self) -> list[int]:
        """The numbers of the parameters in order of appearance, from 1."""
        return [int(token.text) for token in self.tokens if token.kind == "parameter"]

    @cached_property
    def deltic(self) -> Rewritten:
        """The statement in Deltic's SQL, with `?` for each parameter."""
        return Rewritten(self, _replacements(self))


class Rewritten:
    """A statement with parts of it written in another way, and from where in the client's text its letters are.

    `replaced` are the parts in their order: from where to where in the client's text, and what stands there.
    """

    def __init__(self, statement: ClientStatement, replaced: Iterable[tuple[int, int, str]]) -> None:
        begin = position = statement.tokens[0].start
        self._ends, self._shifts = [0], [begin]
        parts: list[str] = []
        for start, end, written in replaced:
            parts += [statement.whole[position:start], written]
            position = end
            self._ends.append(self._ends[-1] + len(parts[-2]) + len(written))
            self._shifts.append(end - self._ends[-1])
        parts.append(statement.whole[position : statement.tokens[-1].end])
        self.text = "".join(parts)

    def position(self, line: int, column: int) -> int:
        """Return the letter of the client's text, from 1, at a line and column of this one, which count from 1."""
        before = self.text.split("\n")[: line - 1]
        offset = sum(len(each) + 1 for each in before) + column - 1
        return offset + self._shifts[bisect_right(self._ends, offset) - 1] + 1


def statements(text: str) -> list[ClientStatement]:
    """Return the statements of a text, without those that are empty. Raises PostgresError."""
    results: list[ClientStatement] = []
    gathered: list[SqlToken] = []
    for token in tokens(text):
        if token.kind == "operator" and token.text == ";":
            results += [ClientStatement(text, gathered)] if gathered else []
            gathered = []
        else:
            gathered.append(token)
    return [*results, ClientStatement(text, gathered)] if gathered else results


def _replacements(statement: ClientStatement) -> Iterator[tuple[int, int, str]]:
    """Yield the replacements: start, end and new text."""
    types = set(_places_of_types(statement))
    skipped = 0
    for number, token in enumerate(statement.tokens):
        if token.end <= skipped:
            continue
        written, end = None, token.end
        if number in statement.said:
            written = statement.said[number]
        elif token.kind == "parameter":
            written = "?"
        elif _is_schema(statement.words, number):
            written, end = "", statement.tokens[number + 1].end
        elif token.kind == "name":
            written = "`" + token.text.replace("`", "``") + "`"
        elif token.kind == "string":
            written = "'" + token.text.translate(_SQL_STRING) + "'"
        elif number in types and (named := _TYPE.match(statement.whole, token.start)):
            written, end = _TYPES[" ".join(named[0].lower().split())], named.end()
        if written is not None:
            skipped = end
            yield token.start, end, written


def _places_of_types(statement: ClientStatement) -> Iterator[int]:
    """Yield the numbers of the tokens with which types begin: after `::`, AS in a CAST, and the names of columns."""
    words = statement.words
    declares = words[0] in ("CREATE", "ALTER") and "SELECT" not in words
    brackets: list[str] = []
    for number, word in enumerate(words):
        before = words[number - 1] if number else ""
        is_cast = before == "::" or (before == "AS" and brackets[-1:] in (["CAST"], ["TRY_CAST"]))
        if is_cast or (declares and (brackets or words[0] == "ALTER") and before not in _BEFORE_NAMES):
            yield number
        if word == "(":
            brackets.append(before)
        elif word == ")" and brackets:
            brackets.pop()


def _is_schema(words: Sequence[str], number: int) -> bool:
    """Return whether a token is the schema before a name, or the database before that schema."""
    rest = [word.lower() for word in words[number : number + 4]]
    if len(rest) < 3 or rest[1] != ".":
        return False
    return rest[0] == SCHEMA or (rest[2:] == [SCHEMA, "."])


# For sqlglot, which does not read OPERATOR(…), COLLATE, pg_catalog, and types such as oid

_PLAIN_TYPES = {"oid": "uint", "name": "text", "char": "text", "xid": "bigint"}
"""Types that are plain ones here, after `::`."""


def readable(statement: ClientStatement) -> str:
    """Return the statement as sqlglot reads it."""
    return Rewritten(statement, _unreadable(statement)).text


def _unreadable(statement: ClientStatement) -> Iterator[tuple[int, int, str]]:
    number = 0
    while number < len(statement.tokens):
        written, count = _readable(statement, number)
        if written is not None:
            yield statement.tokens[number].start, statement.tokens[number + count - 1].end, written
        number += count


def _readable(statement: ClientStatement, number: int) -> tuple[str | None, int]:
    """Return what is written for a token and those after it, None for the same, and how many tokens these are."""
    token, words = statement.tokens[number], statement.words[number : number + 8]
    lowered = [word.lower() for word in words]
    before = statement.words[number - 1] if number else ""
    before_schema = statement.words[number - 3] if before == "." and number > 2 else ""
    is_type = before == "::" or (before_schema == "::" and statement.words[number - 2].lower() == "pg_catalog")
    if words[:2] == ["OPERATOR", "("] and ")" in words:
        end = words.index(")")
        return "".join(words[4 if lowered[2] == "pg_catalog" else 2 : end]), end + 1
    if words[0] == "COLLATE":
        return "", 4 if words[2:3] == ["."] else 2
    if lowered[:2] == ["pg_catalog", "."]:
        return "", 2
    if before == "::" and lowered[:2] == ["information_schema", "."]:
        return "text", 3
    if is_type and lowered[0] in _PLAIN_TYPES:
        return _PLAIN_TYPES[lowered[0]], 1
    if token.kind == "string":
        return "'" + token.text.replace("'", "''") + "'", 1
    return (f"${token.text} ", 1) if token.kind == "parameter" else (None, 1)
