"""Parsing and writing single lines of CSV."""

from __future__ import annotations

import re
from functools import lru_cache

from deltic.functions.conversions import converter
from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Type
from deltic.values.types.value import MAX_PRECISION

TEXT = Type.STRING


@lru_cache(maxsize=64)
def _field(separator: str, quote: str, escape: str) -> re.Pattern[str]:
    """A field up to the separator or the end: quoted, with an unclosed quote, or plain."""
    sep, sign, mark = map(re.escape, (separator, quote, escape))
    inside = rf"(?:{mark}.|(?!{sign}).)*"
    quoted, unended = rf"{sign}(?P<quoted>{inside}){sign}[ \t]*", rf"{sign}(?P<open>{inside})$"
    return re.compile(rf"(?:{quoted}|{unended}|(?P<plain>(?:(?!{sep}).)*))(?P<end>{sep}|$)", re.DOTALL)


def fields_of(text: str, separator: str, quote: str, escape: str, null: str) -> tuple[str | None, ...]:
    """Split a line into fields; empty ones and the NULL text are NULL."""
    pattern, result, place = _field(separator, quote, escape), list[str | None](), 0
    while (match := pattern.match(text, place)) is not None:
        shown = next(part for part in match.group("quoted", "open", "plain") if part is not None)
        if match["plain"] is None:
            shown = re.sub(rf"{re.escape(escape)}({re.escape(quote)}|{re.escape(escape)})", r"\1", shown)
        result.append(None if shown in ("", null) else shown)
        place = match.end()
        if not match["end"]:
            break
    return tuple(result)


def _line(separator: str, quote: str, escape: str, null: str, is_quoted: bool, *texts: str | None) -> str | None:
    """Join texts into a line, trimmed, and quoted where needed."""
    if texts == (None,):
        return None

    def shown(text: str | None) -> str:
        bare = null if text is None else text.strip(" ")
        if bare and not (is_quoted or any(sign in bare for sign in (separator, quote, "\n", "\r"))):
            return bare
        marked = re.sub(f"[{re.escape(quote + escape)}]", lambda sign: escape + sign[0], bare)
        return null if text is None else f"{quote}{marked}{quote}"

    return separator.join(map(shown, texts))


_WHOLE = re.compile("[+-]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?|NaN|Inf|Infinity)", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def type_of_text(text: str | None) -> str:
    """Return the type that Spark infers for a field's text, in SQL."""
    if text is None:
        return "STRING"
    if _WHOLE.fullmatch(text) and len(digits := text.lstrip("+-").lstrip("0")) <= MAX_PRECISION:
        size = int(text).bit_length()
        return "INT" if size < 32 else "BIGINT" if size < 64 else f"DECIMAL({len(digits)},0)"
    if _NUMBER.fullmatch(text.strip()):
        return "DOUBLE"
    if _DATE.fullmatch(text) and converter(TEXT, Type.DATE)(text) is not None:
        return "DATE"
    if converter(TEXT, Type.TIMESTAMP)(text) is not None and not text.isdecimal():
        return "TIMESTAMP"
    return "BOOLEAN" if text.lower() in ("true", "false") else "STRING"


FUNCTIONS |= by_rows(
    "Spark's CSV parser has its own rules for quotes and backslashes",
    {
        "fields_of_csv": Function(Type.array(TEXT.or_null), python=fields_of),
        "line_of_csv": Function(TEXT, python=_line, strict=False),
    },
)
