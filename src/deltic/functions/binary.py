"""Functions of binary values and their text encodings."""

from __future__ import annotations

import base64
import hmac

from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Type

TEXT, INT, LONG, BYTES = Type.STRING, Type.INT32, Type.INT64, Type.BINARY
_DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def _overlaid(value: bytes, other: bytes, start: int, length: int) -> bytes:
    """Overlay bytes from a position on, replacing as many as there are, or `length` of them."""
    end = start + (len(other) if length < 0 else length)
    rest = max(end - 1 if end > 0 else len(value) + end if end else 0, 0)
    return value[: max(start - 1, 0)] + other + value[rest:]


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

FUNCTIONS |= by_rows(
    "no library has Spark's functions of bytes",
    {
        "overlay_bytes": Function(BYTES, python=_overlaid),
        "reverse_bytes": Function(BYTES, python=lambda value: value[::-1]),
        "bytes_start_with": Function(Type.BOOLEAN, python=bytes.startswith),
        "bytes_end_with": Function(Type.BOOLEAN, python=bytes.endswith),
        "bytes_contain": Function(Type.BOOLEAN, python=bytes.__contains__),
        "bits_of_bytes": Function(LONG, python=lambda value: int.from_bytes(value).bit_count()),
        "valid_text": Function(TEXT, python=lambda value: value.decode("utf-8", "replace")),
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
