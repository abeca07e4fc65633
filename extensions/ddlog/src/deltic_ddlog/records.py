"""Records: values as the commands of DDlog write them, read into a tree without types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltic_ddlog.runtime import unquoted


class RecordError(ValueError):
    """A text is no record, or none of the type; `offset` is where in the text it stops being one."""

    def __init__(self, message: str, offset: int = -1) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True)
class Made:
    """`Name{…}`: arguments with the names of fields, or without; `is_whole` with brackets around one value, `R[v]`."""

    name: str
    arguments: tuple[tuple[str | None, Any], ...] = ()
    is_whole: bool = False


@dataclass(frozen=True)
class Listed:
    """`[a, b]` or `[k -> v]`, whose elements are pairs."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Serialized:
    """`@json"…"`."""

    text: str


Record = bool | int | float | str | tuple[Any, ...] | Made | Listed | Serialized
"""A record before its type is known."""


_TOKEN = re.compile(
    r"""(?:\s|\#[^\n]*(?:\n|\Z))*(?:
      (?P<string>"(?:\\.|[^"\\])*")
    | (?P<number>(?:-\s*|\+)?(?:0[xX][0-9a-fA-F][0-9a-fA-F_]*|0[bB][01]+|0[oO][0-7]+
        |(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*(?:(?:::|\.)[A-Za-z_][A-Za-z0-9_]*)*)
    | (?P<sign><-|->|[-{}()\[\],;.=%@])
    )""",
    re.VERBOSE | re.DOTALL,
)


_END = ("", "", 0)


_FLOATS = {"NaN": math.nan, "inf": math.inf}


class Reader:
    """Reads records off a text, from an offset on. `folder` is where files of texts are sought."""

    def __init__(self, text: str, folder: Path | None = None, offset: int = 0) -> None:
        self.text, self.folder, self.offset = text, folder, offset
        self._next_token, self._next_from = _END, -1

    def peek(self) -> tuple[str, str]:
        """Return the kind and the text of the next token; two empty ones at the end."""
        return self._token()[:2]

    def take(self, *wanted: str) -> str:
        """Return the next token, which is one of these signs or words, or any if none are given. Raises RecordError."""
        _, text, end = self._token()
        if not text or (wanted and text not in wanted):
            expected = " or ".join(f"`{each}`" for each in wanted) or "a value"
            raise RecordError(f"{expected} is missing here", self._next())
        self.offset = end
        return text

    def takes(self, sign: str) -> bool:
        """Return whether the next token is this one, which is taken then."""
        _, text, end = self._token()
        if text != sign:
            return False
        self.offset = end
        return True

    def record(self) -> Record:
        """Return the record that begins here. Raises RecordError."""
        kind, text = self.peek()
        if kind == "string":
            self.take()
            return unquoted(text)
        if kind == "number":
            self.take()
            return _number(text)
        if kind == "word":
            return self._made(self.take())
        if text == "(":
            items = self._items("(", ")", self.record)
            return items[0] if len(items) == 1 else items
        if text == "[":
            return Listed(self._items("[", "]", self._element))
        if text == "%":
            return self._file()
        if text == "@":
            self.take()
            self.take("json")
            return Serialized(str(self.record()))
        if text == "-":
            self.take()
            return -_FLOATS[self.take("inf")]
        raise RecordError("a value is missing here", self._next())

    def _made(self, name: str) -> Record:
        if name in ("true", "false"):
            return name == "true"
        if name in _FLOATS:
            return _FLOATS[name]
        sign = self.peek()[1] if self.peek()[0] == "sign" else ""
        if sign in ("{", "("):
            return Made(name, self._items(sign, "}" if sign == "{" else ")", self._argument))
        if sign == "[":
            return Made(name, tuple((None, item) for item in self._items("[", "]", self.record)), is_whole=True)
        return Made(name)

    def _items(self, begin: str, end: str, item: Callable[[], Any]) -> tuple[Any, ...]:
        self.take(begin)
        items: list[Any] = []
        while not self.takes(end):
            if items:
                self.take(",", end)
                if self.text[self.offset - 1] == end:
                    break
            items.append(item())
        return tuple(items)

    def _argument(self) -> tuple[str | None, Record]:
        if not self.takes("."):
            return None, self.record()
        name = self.take()
        self.take("=")
        return name, self.record()

    def _element(self) -> Record:
        result = self.record()
        return (result, self.record()) if self.takes("->") else result

    def _file(self) -> str:
        self.take("%")
        name = unquoted(self.take())
        try:
            return ((self.folder or Path()) / name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RecordError(f"{name}: {getattr(error, 'strerror', None) or error}", self.offset) from error

    def _token(self) -> tuple[str, str, int]:
        """Return the next token: its kind, its text, its end. It is kept, as it is read several times before."""
        if self._next_from != self.offset:
            result, self._next_from = _TOKEN.match(self.text, self.offset), self.offset
            kind = str(result.lastgroup) if result else ""
            self._next_token = (kind, result[kind], result.end()) if result else _END
        return self._next_token

    def _next(self) -> int:
        """Return the offset of the next character that is not blank."""
        result = re.compile(r"(?:\s|#[^\n]*(?:\n|\Z))*").match(self.text, self.offset)
        return result.end() if result else self.offset


def _number(text: str) -> int | float:
    """Return a number in Rust's writing, with a sign that may stand apart, and `_` between and after its digits."""
    if text.isdigit():
        return int(text)
    text = re.sub(r"[\s_]", "", text)
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    return int(text, 0) if re.match(r"[-+]?0[xXbBoO]", text) else float(text)


def by_field(record: Made, fields: tuple[str, ...], *, partly: bool = False) -> dict[str, Record]:
    """Return the record's value for each field, by position or name; for all unless `partly`. Raises RecordError."""
    names = [name for name, _ in record.arguments]
    if any(names) or (partly and not names):
        result = {str(name): value for name, value in record.arguments}
    else:
        result = dict(zip(fields, (value for _, value in record.arguments), strict=False))
    wrong = [name for name in result if name not in fields]
    missing = [name for name in fields if name not in result]
    if wrong or (missing and not partly) or len(result) != len(record.arguments):
        raise RecordError(f"{record.name} has the fields ({', '.join(fields)})")
    return result
