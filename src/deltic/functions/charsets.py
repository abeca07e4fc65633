"""Encoding and decoding texts in the charsets that Spark knows."""

from __future__ import annotations

import codecs

from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Type

CHARSETS = {
    "UTF-8": "utf-8",
    "UTF-16": "utf-16-be",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-32": "utf-32-be",
    "ISO-8859-1": "latin-1",
    "US-ASCII": "ascii",
}
"""Names in Spark with those in Python."""
_MARKED = {"UTF-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE), "UTF-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE)}
"""The marks that may stand before a text of charsets without an order of bytes of their own."""


def _encoded(text: str, charset: str) -> bytes | None:
    """Encode a text; UTF-16 gets a byte-order mark unless the text is empty."""
    mark = codecs.BOM_UTF16_BE if charset == "UTF-16" and text else b""
    try:
        return mark + text.encode(CHARSETS[charset])
    except UnicodeEncodeError:
        return None


def _decoded(value: bytes, charset: str) -> str | None:
    """Decode bytes."""
    is_marked = value.startswith(_MARKED.get(charset, ()))
    try:
        return value.decode(charset if is_marked else CHARSETS[charset])
    except UnicodeDecodeError:
        return None


def _failure(_: object) -> str:
    return "the charset has no such letters"


FUNCTIONS |= by_rows(
    "no library has kernels for charsets",
    {
        "encode": Function(Type.BINARY, python=_encoded, partial=True, failure=_failure),
        "decode": Function(Type.STRING, python=_decoded, partial=True, failure=_failure),
    },
)
