"""Functions of texts."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zlib
from typing import Any

from deltic.circuit.spark.function import FUNCTIONS, Function
from deltic.circuit.types import Type

TEXT, INT, LONG, BOOL, BYTES = Type.STRING, Type.INT32, Type.INT64, Type.BOOLEAN, Type.BINARY
TEXTS = Type.array(Type.STRING.or_null)
_WIDEST = 2147483647


def _initcap(text: str) -> str:
    return " ".join(word[:1].title() + word[1:].lower() for word in text.split(" "))


def _substring_index(text: str, delimiter: str, count: int) -> str:
    if not delimiter or not count:
        return ""
    parts = text.split(delimiter)
    return delimiter.join(parts[:count] if count > 0 else parts[count:])


def _find_in_set(text: str, texts: str) -> int:
    parts = texts.split(",")
    return 0 if "," in text or text not in parts else parts.index(text) + 1


def _locate(part: str, text: str, start: int) -> int:
    return 0 if start < 1 else text.find(part, start - 1) + 1


def _sha2(value: bytes, bits: int) -> str | None:
    names = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}
    return hashlib.new(names[bits], value).hexdigest() if bits in names else None


def _overlay(text: str, other: str, start: int, length: int) -> str:
    size = len(other) if length < 0 else length
    return text[: max(start - 1, 0)] + other + text[max(start - 1 + size, 0) :]


def _bounded(text: str, limit: int, fixed: bool) -> str | None:
    """A text of so many letters at most; only blanks at its end are cut off, and all of them where it is `fixed`."""
    bare = text.rstrip(" ")
    if len(bare) > limit:
        return None
    return bare if fixed else text[: max(limit, len(bare))]


_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))


def _soundex(text: str) -> str:
    """A letter and three digits for how an English word sounds; a text that begins with no letter as it is."""
    letters = text.encode().upper().decode()  # of which ASCII's alone become capitals
    if letters[:1] not in _SOUNDS:
        return text
    found, last = letters[0], _SOUNDS[letters[0]]
    for letter in letters[1:]:
        sound = _SOUNDS.get(letter)
        if sound is None:
            last = "0"
        elif sound != "7":
            found += sound if sound not in ("0", last) else ""
            last = sound
    return found[:4].ljust(4, "0")


def _split(text: str, pattern: str, limit: int) -> tuple[str, ...]:
    """The parts between the matches of a pattern, at most so many where the limit is above zero."""
    parts: list[str] = []
    begin = 0
    for found in re.finditer(pattern, text, re.ASCII):
        if len(parts) + 1 == limit:
            break
        parts.append(text[begin : found.start()])
        begin = found.end()
    return (*parts, text[begin:])


def _letters(text: str, limit: int) -> tuple[str, ...]:
    """The letters of a text, of which the last part has the rest where there is a limit."""
    return tuple(text) if not 0 < limit < len(text) else (*text[: limit - 1], text[limit - 1 :])


def _distance(first: str, second: str) -> int:
    """The distance of Levenshtein, a column of its matrix at a time as the bits of two numbers: Myers' algorithm."""
    places: dict[str, int] = {}
    for i, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << i
    all_, last = (1 << len(first)) - 1, 1 << len(first) >> 1
    more, less, distance = all_, 0, len(first)
    for letter in second:
        equal = places.get(letter, 0)
        down, across = equal | less, ((equal & more) + more ^ more) | equal
        up, back = less | all_ & ~(across | more), more & across
        distance += bool(up & last) - bool(back & last) if first else 1
        up, back = (up << 1 | 1) & all_, back << 1 & all_
        more, less = back | all_ & ~(down | up), up & down
    return distance


def _bounded_distance(first: str, second: str, most: int) -> int:
    """The distance of Levenshtein, -1 where it is more than that."""
    found = _distance(first, second)
    return found if found <= most else -1


def _masked(text: str | None, upper: str | None, lower: str | None, digit: str | None, other: str | None) -> str | None:
    """The text with other letters in the place of its own; where one is NULL the letters of its kind stay."""
    if text is None:
        return None

    def shown(letter: str) -> str:
        kind = unicodedata.category(letter)
        found = {"Lu": upper, "Ll": lower, "Nd": digit}.get(kind, other)
        return letter if found is None else found

    return "".join(map(shown, text))


def _passes_luhn(text: str) -> bool:
    """Whether digits end with the one that checks the others."""
    digits = [int(digit) for digit in reversed(text)] if text.isascii() and text.isdigit() else [1]
    return sum(digits[::2]) % 10 == -sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2]) % 10


def _concat_ws(separator: str | None, *parts: Any) -> str | None:
    """The texts among the parts, and in those that are arrays, that are not NULL."""
    texts = (text for part in parts for text in (part if isinstance(part, tuple) else (part,)))
    return None if separator is None else separator.join(text for text in texts if text is not None)


def _natural(sql: str) -> str:
    """A number, or 0 for one below."""
    return f"CASE WHEN {sql} < 0 THEN 0 ELSE {sql} END"


_FIRST = "CASE WHEN {1} > 0 THEN CAST({1} AS BIGINT) - 1 WHEN {1} < 0 THEN length({0}) + {1} ELSE {1} END"
_START = _natural(f"({_FIRST})")
_LENGTH = _natural(f"(({_FIRST}) + {{2}} - ({_START}))")
_SUBSTRING = f"substring({{0}}, {_START} + 1, {_LENGTH})"


def _padded(name: str) -> str:
    cut = f"substring({{0}}, 1, {_natural('{1}')})"
    found = f"CASE WHEN {{1}} <= length({{0}}) OR {{2}} = '' THEN {cut} ELSE {name}({{0}}, {{1}}, {{2}}) END"
    return f"CASE WHEN {{2}} IS NOT NULL THEN {found} END"


FUNCTIONS |= {
    "upper": Function(TEXT, takes=(TEXT,), python=str.upper),
    "lower": Function(TEXT, takes=(TEXT,), python=str.lower),
    "length": Function(INT, "CAST(length({0}) AS INTEGER)", (TEXT,)),
    "octet_length": Function(INT, "CAST(strlen({0}) AS INTEGER)", (TEXT,)),
    "bit_length": Function(INT, "CAST(8 * strlen({0}) AS INTEGER)", (TEXT,)),
    "byte_length": Function(INT, "CAST(octet_length({0}) AS INTEGER)", (BYTES,)),
    "substring": Function(TEXT, _SUBSTRING, (TEXT, INT, INT), (_WIDEST,)),
    "left": Function(TEXT, f"substring({{0}}, 1, {_natural('{1}')})", (TEXT, INT)),
    "right": Function(TEXT, "CASE WHEN {1} <= 0 THEN '' ELSE right({0}, {1}) END", (TEXT, INT)),
    "btrim": Function(TEXT, "trim({0}, {1})", (TEXT, TEXT), (" ",)),
    "ltrim": Function(TEXT, "ltrim({0}, {1})", (TEXT, TEXT)),
    "rtrim": Function(TEXT, "rtrim({0}, {1})", (TEXT, TEXT)),
    "concat_ws": Function(TEXT, python=_concat_ws, strict=False),
    "replace": Function(TEXT, "replace({0}, {1}, {2})", (TEXT, TEXT, TEXT), ("",)),
    "split": Function(TEXTS, "string_split_regex({0}, {1})"),
    "split_part": Function(
        TEXT,
        "CASE WHEN {2} = 0 THEN NULL WHEN {1} = '' THEN CASE WHEN abs({2}) = 1 THEN {0} ELSE '' END "
        "ELSE split_part({0}, {1}, {2}) END",
        (TEXT, TEXT, INT),
        partial=True,
    ),
    "instr": Function(INT, "CAST(instr({0}, {1}) AS INTEGER)", (TEXT, TEXT)),
    "locate": Function(INT, "", (TEXT, TEXT, INT), (1,), python=_locate),
    "lpad": Function(TEXT, _padded("lpad"), (TEXT, INT, TEXT), (" ",)),
    "rpad": Function(TEXT, _padded("rpad"), (TEXT, INT, TEXT), (" ",)),
    "repeat": Function(TEXT, f"repeat({{0}}, {_natural('{1}')})", (TEXT, INT)),
    "reverse": Function(TEXT, takes=(TEXT,), python=lambda text: text[::-1]),
    "initcap": Function(TEXT, takes=(TEXT,), python=_initcap),
    "ascii": Function(INT, "CASE WHEN {0} = '' THEN 0 ELSE ascii({0}) END", (TEXT,)),
    "chr": Function(TEXT, "CASE WHEN {0} < 0 THEN '' ELSE chr(CAST({0} & 255 AS INTEGER)) END", (LONG,)),
    "space": Function(TEXT, f"repeat(' ', {_natural('{0}')})", (INT,)),
    "regexp_extract": Function(TEXT, "regexp_extract({0}, {1}, {2})"),
    "regexp_extract_all": Function(TEXTS, "regexp_extract_all({0}, {1}, {2})"),
    "regexp_replace": Function(TEXT, "regexp_replace({0}, {1}, {2}, 'g')"),
    "rlike": Function(BOOL, "regexp_matches({0}, {1})"),
    "regexp_count": Function(INT, "CAST(len(regexp_extract_all({0}, {1})) AS INTEGER)"),
    "like": Function(BOOL, "{0} LIKE {1} ESCAPE {2}", (TEXT, TEXT, TEXT)),
    "ilike": Function(BOOL, "lower({0}) LIKE lower({1}) ESCAPE {2}", (TEXT, TEXT, TEXT)),
    "startswith": Function(BOOL, "starts_with({0}, {1})", (TEXT, TEXT)),
    "endswith": Function(BOOL, "suffix({0}, {1})", (TEXT, TEXT)),
    "contains": Function(BOOL, "contains({0}, {1})", (TEXT, TEXT)),
    "md5": Function(TEXT, "md5({0})", (BYTES,)),
    "sha1": Function(TEXT, "sha1({0})", (BYTES,)),
    "sha2": Function(TEXT, "", (BYTES, INT), python=_sha2, tolerant=True),
    "crc32": Function(LONG, "", (BYTES,), python=zlib.crc32),
    "hex": Function(TEXT, "hex({0})", (LONG,)),
    "hex_text": Function(TEXT, "hex({0})", (TEXT,)),
    "unhex": Function(BYTES, "unhex({0})", (TEXT,), tolerant=True),
    "base64": Function(TEXT, "to_base64({0})", (BYTES,)),
    "unbase64": Function(BYTES, "from_base64({0})", (TEXT,), partial=True),
    "bin": Function(TEXT, "CASE WHEN {0} = 0 THEN '0' ELSE ltrim(CAST(CAST({0} AS BIT) AS VARCHAR), '0') END", (LONG,)),
    "translate": Function(TEXT, "translate({0}, {1}, {2})", (TEXT, TEXT, TEXT)),
    "overlay": Function(TEXT, "", (TEXT, TEXT, INT, INT), (-1,), python=_overlay),
    "levenshtein": Function(INT, takes=(TEXT, TEXT), python=_distance),
    "substring_index": Function(TEXT, "", (TEXT, TEXT, INT), python=_substring_index),
    "luhn_check": Function(BOOL, takes=(TEXT,), python=_passes_luhn),
    "soundex": Function(TEXT, takes=(TEXT,), python=_soundex),
    "split_up_to": Function(TEXTS, python=_split),
    "letters": Function(TEXTS, python=_letters),
    "levenshtein_up_to": Function(INT, python=_bounded_distance),
    "bounded_text": Function(
        TEXT, python=_bounded, partial=True, failure=lambda _: "it has more letters than its column takes"
    ),
    "masked": Function(TEXT, python=_masked, strict=False),
    "quote": Function(TEXT, takes=(TEXT,), python=lambda text: "'" + text.replace("'", "\\'") + "'"),
    "find_in_set": Function(INT, "", (TEXT, TEXT), python=_find_in_set),
}
