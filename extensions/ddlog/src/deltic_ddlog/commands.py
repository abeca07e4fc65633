"""DDlog's command language: `start; insert Edge(1, 2), delete Edge(2, 3); commit dump_changes; dump Path;`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deltic.datalog.syntax.source import ProgramText, Span
from deltic.errors import DataError
from deltic_ddlog.records import Made, Reader, Record, RecordError

UpdateKind = Literal["insert", "insert_or_update", "delete", "delete_key", "modify"]
_UPDATES: tuple[UpdateKind, ...] = ("insert_or_update", "insert", "delete_key", "delete", "modify")
_PLAIN = ("start", "rollback", "timestamp", "exit")
_PROFILES = ("cpu", "change", "timely")


@dataclass(frozen=True)
class RecordUpdate:
    """A change of one record: the record, or the key of one, or both where it is modified."""

    kind: UpdateKind
    relation: str
    record: Record
    key: Record | None
    span: Span


@dataclass(frozen=True)
class Updates:
    """Updates with commas between them, which are done together."""

    updates: tuple[RecordUpdate, ...]
    span: Span


@dataclass(frozen=True)
class Plain:
    """`start`, `rollback`, `timestamp`, `exit`, `commit`, and with `argument`: `dump R`, `clear R`, `dump_index I`.

    The argument of `commit` is "dump_changes" or "", that of `echo` its text.
    """

    word: str
    argument: str
    span: Span


@dataclass(frozen=True)
class QueryIndex:
    """`query_index I(a, b)`."""

    index: str
    arguments: Made
    span: Span


Command = Updates | Plain | QueryIndex


def commands(text: str, file: str, folder: Path | None = None) -> Iterator[Command]:
    """Return the commands of a text, each when asked for. Raises DataError, with the place, if it is none."""
    return _Parser(ProgramText(file, text), Reader(text, folder)).commands()


class _Parser:
    def __init__(self, source: ProgramText, reader: Reader) -> None:
        self._source, self._reader, self._start = source, reader, 0

    def commands(self) -> Iterator[Command]:
        while self._reader.peek() != ("", "") or self._rest():
            try:
                yield self._command()
            except RecordError as error:
                raise self._error(str(error), error.offset) from error

    def _rest(self) -> str:
        """Return the rest of the text after blanks and comments."""
        return re.sub(r"\s|#[^\n]*", "", self._source.text[self._reader.offset :])

    def _error(self, message: str, offset: int) -> DataError:
        start = self._reader.offset if offset < 0 else offset
        return DataError([self._source.place(start, min(start + 1, len(self._source.text))).error(message)])

    def _span(self) -> Span:
        return self._source.place(self._start, self._reader.offset)

    def _command(self) -> Command:
        kind, word = self._reader.peek()
        offset = self._reader.offset
        word = self._reader.take() if kind == "word" else word
        self._start = self._reader.offset - len(word)
        if word in _UPDATES:
            return self._updates(word)
        if word == "query_index":
            return self._query()
        argument = self._argument(word)
        if argument is None:
            raise RecordError(f"there is no command `{word}`", self._start if kind == "word" else offset)
        if word != "echo":
            self._end()
        return Plain(word, argument, self._span())

    def _end(self) -> None:
        """`;`, which may be missing after the last command."""
        if self._rest():
            self._reader.take(";")

    def _argument(self, word: str) -> str | None:
        """Return the argument after a word; None if it is not a command."""
        reader = self._reader
        if word in _PLAIN:
            return ""
        if word == "commit":
            return reader.take() if reader.peek()[1] == "dump_changes" else ""
        if word == "dump":
            return reader.take() if reader.peek()[0] == "word" else ""
        if word in ("clear", "dump_index"):
            return reader.take()
        if word in ("log_level", "mssleep", "sleep"):
            return str(self._whole_number(least=None if word == "log_level" else 0))
        if word == "profile":
            return self._profile()
        if word == "echo":
            text, end, _ = self._source.text[reader.offset :].partition(";")
            reader.offset += len(text) + len(end)
            return text.lstrip() if end else text.strip()
        return None

    def _whole_number(self, least: int | None) -> int:
        result = self._reader.record()
        if not isinstance(result, int) or isinstance(result, bool) or (least is not None and result < least):
            raise RecordError(f"this takes a whole number{'' if least is None else ' from 0 on'}", self._start)
        return result

    def _profile(self) -> str:
        """`cpu on`, `change off` and the like, or nothing."""
        if self._reader.peek()[0] != "word":
            return ""
        return f"{self._reader.take(*_PROFILES)} {self._reader.take('on', 'off')}"

    def _updates(self, word: str) -> Updates:
        first = self._start
        result = [self._update(word)]
        while self._reader.takes(","):
            if self._reader.peek()[1] not in _UPDATES:
                break
            word = self._reader.take()
            self._start = self._reader.offset - len(word)
            result.append(self._update(word))
        else:
            self._end()
        self._start = first
        return Updates(tuple(result), self._span())

    def _update(self, word: str) -> RecordUpdate:
        reader = self._reader
        kind = next(each for each in _UPDATES if each == word)
        if kind in ("delete_key", "modify"):
            relation = reader.take()
            key = reader.record()
            record: Record = key
            if kind == "modify":
                reader.take("<-")
                record = reader.record()
            return RecordUpdate(kind, relation, record, key, self._span())
        record = reader.record()
        if not isinstance(record, Made):
            raise RecordError("a relation with a record is missing here", self._start)
        return RecordUpdate(kind, record.name, record, None, self._span())

    def _query(self) -> QueryIndex:
        result = self._reader.record()
        if not isinstance(result, Made):
            raise RecordError("an index with arguments is missing here", self._start)
        self._end()
        return QueryIndex(result.name, result, self._span())
