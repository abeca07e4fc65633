"""Functions of binary values and their text encodings."""

from __future__ import annotations

import base64
import codecs
import hmac
import re

from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Type

TEXT, INT, LONG, BYTES = Type.STRING, Type.INT32, Type.INT64, Type.BINARY
_DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def _of_base32(text: str) -> bytes:
    """Decode base 32 up to a =; letters that are no digits, and bits that make no byte, are skipped.

    A digit alone makes a byte with the last bits of the digit before it, as commons-codec has it.
    """
    digits = bytes(letter for letter in text.encode().upper().partition(b"=")[0] if letter in _DIGITS)
    if len(digits) % 8 == 1:
        before, last = map(_DIGITS.index, (b"A" + digits)[-2:])
        return base64.b32decode(digits[:-1]) + bytes([(before << 5 | last) >> 2 & 0xFF])
    digits = digits[: len(digits) - (len(digits) % 8 in (3, 6))]
    return base64.b32decode(digits + b"=" * (-len(digits) % 8))


def _authenticated(key: bytes, message: bytes, algorithm: str) -> bytes | None:
    name = algorithm.upper().replace("-", "")
    return hmac.digest(key, message, name) if name in _ALGORITHMS else None


_ALGORITHMS = ("MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512")

_NO_DIGIT, _DIGIT = re.compile("[^A-Za-z0-9+/]+"), re.compile("[A-Za-z0-9+/]")
_BASE64 = re.compile(r"\s*(?:[A-Za-z0-9+/]\s*)*(?:=\s*){0,2}")


def _unbase64(text: str) -> bytes | None:
    """Decode base 64 as Java's MIME decoder: other characters are skipped, padding is optional."""
    digits, mark, rest = text.partition("=")
    digits = _NO_DIGIT.sub("", digits)
    unit = len(digits) % 4
    is_padded = not mark or unit == 3 or (unit == 2 and rest.startswith("="))
    if unit == 1 or not is_padded or _DIGIT.search(rest):
        return None
    return base64.b64decode(digits + "=" * (-unit % 4))


def _of_base64(text: str) -> bytes | None:
    """Decode base 64 with whitespace; the padding is complete or missing."""
    digits = len("".join(text.split()))
    is_whole = "=" not in text or not digits % 4
    return _unbase64(text) if is_whole and _BASE64.fullmatch(text) else None


FUNCTIONS |= by_rows(
    "no library has Spark's functions of bytes",
    {
        "reverse_bytes": Function(BYTES, python=lambda value: value[::-1]),
        "bytes_start_with": Function(Type.BOOLEAN, python=bytes.startswith),
        "bytes_end_with": Function(Type.BOOLEAN, python=bytes.endswith),
        "bytes_contain": Function(Type.BOOLEAN, python=bytes.__contains__),
        "bits_of_bytes": Function(LONG, python=lambda value: int.from_bytes(value).bit_count()),
        "valid_text": Function(TEXT, python=lambda value: value.decode("utf-8", "replace")),
        "base64": Function(TEXT, "to_base64({0})", (BYTES,)),
        "unbase64": Function(BYTES, "", (TEXT,), python=_unbase64, partial=True),
        "of_base64": Function(BYTES, python=_of_base64, partial=True),
        "to_base32": Function(TEXT, takes=(BYTES,), python=lambda value: base64.b32encode(value).decode()),
        "from_base32": Function(BYTES, takes=(TEXT,), python=_of_base32),
        "hmac": Function(
            BYTES,
            takes=(BYTES, BYTES, TEXT),
            defaults=("SHA-256",),
            python=_authenticated,
            partial=True,
            failure=lambda _: f"the algorithms are {', '.join(_ALGORITHMS)}",
        ),
    },
)


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
