"""Functions of texts."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from deltic.functions.function import FUNCTIONS, MOST_LETTERS, Columns, Function, by_rows, kernel, too_long
from deltic.lazy import pa, pc
from deltic.values.types import Type

TEXT, INT, LONG, BOOL, BYTES = Type.STRING, Type.INT32, Type.INT64, Type.BOOLEAN, Type.BINARY
TEXTS = Type.array(Type.STRING.or_null)
_WIDEST = 2147483647


def _initcap(text: str) -> str:
    return " ".join(word[:1].title() + word.lower()[len(word[:1].lower()) :] for word in text.split(" "))


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


def _found(text: str, part: str, start: int, occurrence: int) -> int | None:
    """Return the position of a substring from a position on, or backward from the end; 0 for none."""
    if occurrence < 1:
        return None
    if not start:
        return 0
    places = range(start - 1, len(text) + 1) if start > 0 else range(len(text) + start, -1, -1)
    result = (place + 1 for place in places if text.startswith(part, place))
    return next(islice(result, occurrence - 1, None), 0)


def _sha2(value: bytes, bits: int) -> str | None:
    names = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}
    return hashlib.new(names[bits], value).hexdigest() if bits in names else None


def _overlay(value: Any, other: Any, start: int, length: int) -> Any:
    """Overlay a text or bytes from a position on, replacing as many as there are, or `length` of them."""
    end = start + (len(other) if length < 0 else length)
    rest = max(end - 1 if end > 0 else len(value) + end if end else 0, 0)
    return value[: max(start - 1, 0)] + other + value[rest:]


def _part(value: Any, place: int, length: int) -> Any:
    """Return a substring from a position on; positions before the first count towards the length."""
    start = place - 1 if place > 0 else len(value) + place if place else 0
    return value[max(start, 0) : max(start + length, 0)]


def _left_padded(value: Any, length: int, filler: Any) -> Any:
    """Pad on the left, or cut off, to a length."""
    result = _filling(value, length, filler)
    return None if result is None else (result + value)[: max(length, 0)]


def _right_padded(value: Any, length: int, filler: Any) -> Any:
    """Pad on the right, or cut off, to a length."""
    result = _filling(value, length, filler)
    return None if result is None else (value + result)[: max(length, 0)]


def _filling(value: Any, length: int, filler: Any) -> Any:
    """Return the padding of a length; None where it would be too long."""
    missing = length - len(value) if filler else 0
    if missing <= 0:
        return value[:0]
    return (filler * (missing // len(filler) + 1))[:missing] if length <= MOST_LETTERS else None


def _jaro_winkler(a: str, b: str) -> float:
    """Return the similarity of Jaro and Winkler of two texts in UTF-16."""
    one, two = (memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H").tolist() for text in (a, b))
    if not one or not two:
        return float(one == two)
    reach = max(max(len(one), len(two)) // 2 - 1, 0)
    found = [False] * len(two)
    mine = []
    for i, letter in enumerate(one):
        places = range(max(i - reach, 0), min(i + reach + 1, len(two)))
        place = next((j for j in places if not found[j] and two[j] == letter), None)
        if place is not None:
            found[place] = True
            mine.append(letter)
    if not mine:
        return 0.0
    theirs = [letter for letter, is_found in zip(two, found, strict=True) if is_found]
    swapped = sum(x != y for x, y in zip(mine, theirs, strict=True)) // 2
    common = len(mine)
    jaro = (common / len(one) + common / len(two) + (common - swapped) / common) / 3
    alike = next(
        (i for i, (x, y) in enumerate(zip(one[:4], two[:4], strict=False)) if x != y), min(4, len(one), len(two))
    )
    return jaro + 0.1 * alike * (1 - jaro)


def _bounded(text: str, limit: int, fixed: bool) -> str | None:
    """Return a text within a length limit; only trailing blanks are cut off, all of them if `fixed`."""
    bare = text.rstrip(" ")
    if len(bare) > limit:
        return None
    return bare if fixed else text[: max(limit, len(bare))]


_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))


def _soundex(text: str) -> str:
    """Soundex: a letter and three digits; a text that starts with no letter is unchanged."""
    letters = text.encode().upper().decode()  # of which ASCII's alone become capitals
    if letters[:1] not in _SOUNDS:
        return text
    result, last = letters[0], _SOUNDS[letters[0]]
    for letter in letters[1:]:
        sound = _SOUNDS.get(letter)
        if sound is None:
            last = "0"
        elif sound != "7":
            result += sound if sound not in ("0", last) else ""
            last = sound
    return result[:4].ljust(4, "0")


def _letters(text: str, limit: int) -> tuple[str, ...]:
    """Return the letters of a text, of which the last part has the rest where there is a limit; an empty text is one
    part.
    """
    return tuple(text) or ("",) if not 0 < limit < len(text) else (*text[: limit - 1], text[limit - 1 :])


def _distance(first: str, second: str) -> int:
    """Return the Levenshtein distance by Myers' bit-parallel algorithm."""
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
    """Return the Levenshtein distance, -1 where it exceeds the threshold."""
    result = _distance(first, second)
    return result if result <= most else -1


def _masked(text: str | None, upper: str | None, lower: str | None, digit: str | None, other: str | None) -> str | None:
    """`mask`: replace letters by kind; a NULL replacement keeps that kind."""
    if text is None:
        return None

    def shown(letter: str) -> str:
        kind = unicodedata.category(letter)
        result = {"Lu": upper, "Ll": lower, "Nd": digit}.get(kind, other)
        return letter if result is None else result

    return "".join(map(shown, text))


def _passes_luhn(text: str) -> bool:
    """Return whether digits pass the Luhn check."""
    digits = [int(digit) for digit in reversed(text)] if text.isascii() and text.isdigit() else [1]
    return sum(digits[::2]) % 10 == -sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2]) % 10


def _joined(*parts: Any) -> Any:
    return parts[0][:0].join(parts)


def _concat(columns: Sequence[Any], count: int) -> Any:
    empty = pa.scalar("" if pa.types.is_string(columns[0].type) else b"", columns[0].type)
    return pc.binary_join_element_wise(*columns, empty)


def _concat_ws(separator: str | None, *parts: Any) -> str | None:
    """Return the texts among the parts, and in those that are arrays, that are not NULL."""
    texts = (text for part in parts for text in (part if isinstance(part, tuple) else (part,)))
    return None if separator is None else separator.join(text for text in texts if text is not None)


def _of_constants(compute: Callable[..., Any]) -> Columns:
    """Compute texts by pyarrow.compute, which takes other operands as constants; None if rows have different ones."""

    def result(columns: Sequence[Any], count: int) -> Any:
        texts, *others = columns
        constants = [pc.unique(other) for other in others]
        if any(len(constant) != 1 for constant in constants):
            return None
        return compute(pc, texts, *(constant[0].as_py() for constant in constants))

    return result


def _replaced_part(pc: Any, texts: Any, part: str, replacement: str) -> Any:
    return pc.replace_substring(texts, part, replacement) if part else texts


def _split_at(pc: Any, texts: Any, pattern: str) -> Any:
    """Return the parts of texts between the places of another one, None where it means a pattern."""
    return pc.split_pattern(texts, pattern) if pattern and re.escape(pattern) == pattern else None


def _cut(pc: Any, texts: Any, place: int, length: int) -> Any:
    """Return the parts of texts from a place on, None where it counts from the end."""
    return pc.utf8_slice_codeunits(texts, place - 1, place - 1 + max(length, 0)) if place > 0 else None


def _of_ascii(name: str) -> Columns:
    """Compute texts by a function of pyarrow.compute if all letters are ASCII, which it treats as Java does."""

    def result(columns: Sequence[Any], count: int) -> Any:
        (texts,) = columns
        return getattr(pc, name)(texts) if pc.all(pc.string_is_ascii(texts)).as_py() else None

    return result


def _repeated(text: str, count: int) -> str | None:
    return text * count if len(text) * count <= MOST_LETTERS else None


_REASON = "no library treats letters as Java does: case, positions from the end, empty texts"


def _in_case(python: Callable[[str], str], kernel: str, names: tuple[str, ...]) -> Function:
    """Texts with letters of one case; those of ASCII by a function of pyarrow.compute."""
    return Function(TEXT, takes=(TEXT,), names=names, python=python, columns=_of_ascii(kernel), reason=_REASON)


def _has_part(python: Callable[[str, str], bool], kernel: str) -> Function:
    """Return whether texts have a part; if it is one for all, by a function of pyarrow.compute."""
    columns = _of_constants(lambda pc, texts, part: getattr(pc, kernel)(texts, part))
    return Function(BOOL, takes=(TEXT, TEXT), python=python, columns=columns, reason=_REASON)


FUNCTIONS |= by_rows(
    _REASON,
    {
        "upper": _in_case(str.upper, "ascii_upper", ("upper", "ucase")),
        "lower": _in_case(str.lower, "ascii_lower", ("lower", "lcase")),
        "length": Function(
            INT,
            takes=(TEXT,),
            python=len,
            columns=kernel("utf8_length"),
            names=("length", "char_length", "character_length", "len"),
        ),
        "octet_length": Function(INT, takes=(TEXT,), columns=kernel("binary_length")),
        "byte_length": Function(INT, takes=(BYTES,), columns=kernel("binary_length"), names=()),
        "substring": Function(
            TEXT,
            takes=(TEXT, INT, INT),
            defaults=(_WIDEST,),
            python=_part,
            columns=_of_constants(_cut),
            reason=_REASON,
            names=("substring", "substr"),
        ),
        "left": Function(TEXT, takes=(TEXT, INT), python=lambda text, count: text[: max(count, 0)]),
        "right": Function(TEXT, takes=(TEXT, INT), python=lambda text, count: text[-count:] if count > 0 else ""),
        "btrim": Function(TEXT, "trim({0}, {1})", (TEXT, TEXT), (" ",)),
        "ltrim": Function(TEXT, "ltrim({0}, {1})", (TEXT, TEXT)),
        "rtrim": Function(TEXT, "rtrim({0}, {1})", (TEXT, TEXT)),
        "concat": Function(lambda _, types: types[0], python=_joined, columns=_concat, thorough=True),
        "concat_ws": Function(TEXT, python=_concat_ws, strict=False),
        "replace": Function(
            TEXT, "replace({0}, {1}, {2})", (TEXT, TEXT, TEXT), ("",), columns=_of_constants(_replaced_part)
        ),
        "split": Function(TEXTS, "string_split_regex({0}, {1})", columns=_of_constants(_split_at)),
        "split_part": Function(
            TEXT,
            "CASE WHEN {2} = 0 OR {2} IS NULL THEN NULL "
            "WHEN {1} = '' THEN CASE WHEN abs({2}) = 1 THEN {0} ELSE left({0}, 0) END "
            "ELSE split_part({0}, {1}, {2}) END",
            (TEXT, TEXT, INT),
            partial=True,
        ),
        "instr": Function(INT, "CAST(instr({0}, {1}) AS INTEGER)", (TEXT, TEXT)),
        "instr_from": Function(
            INT, python=_found, partial=True, failure=lambda _: "the number of the occurrence is above zero"
        ),
        "locate": Function(INT, "", (TEXT, TEXT, INT), (1,), python=_locate),
        "lpad": Function(
            TEXT, takes=(TEXT, INT, TEXT), defaults=(" ",), python=_left_padded, partial=True, failure=too_long
        ),
        "rpad": Function(
            TEXT, takes=(TEXT, INT, TEXT), defaults=(" ",), python=_right_padded, partial=True, failure=too_long
        ),
        "lpad_bytes": Function(BYTES, python=_left_padded, partial=True, failure=too_long),
        "rpad_bytes": Function(BYTES, python=_right_padded, partial=True, failure=too_long),
        "repeat": Function(TEXT, takes=(TEXT, INT), python=_repeated, partial=True, failure=too_long),
        "reverse": Function(TEXT, takes=(TEXT,), columns=kernel("utf8_reverse")),
        "initcap": Function(TEXT, takes=(TEXT,), python=_initcap),
        "ascii": Function(INT, "CASE WHEN {0} = '' THEN 0 ELSE ascii({0}) END", (TEXT,)),
        "chr": Function(
            TEXT, "CASE WHEN {0} < 0 THEN '' ELSE chr(CAST({0} & 255 AS INTEGER)) END", (LONG,), names=("chr", "char")
        ),
        "space": Function(TEXT, takes=(INT,), python=partial(_repeated, " "), partial=True, failure=too_long),
        "regexp_extract": Function(TEXT, "regexp_extract({0}, {1}, {2})"),
        "regexp_extract_all": Function(
            TEXTS, "list_transform(regexp_extract_all({0}, {1}, {2}), lambda x: coalesce(x, ''))"
        ),
        "regexp_replace": Function(TEXT, "regexp_replace({0}, {1}, {2}, 'g')"),
        "rlike": Function(BOOL, "regexp_matches({0}, {1})"),
        "regexp_count": Function(INT, "CAST(len(regexp_extract_all({0}, {1})) AS INTEGER)"),
        "like": Function(BOOL, "{0} LIKE {1} ESCAPE {2}", (TEXT, TEXT, TEXT)),
        "ilike": Function(BOOL, "lower({0}) LIKE lower({1}) ESCAPE {2}", (TEXT, TEXT, TEXT)),
        "is_pattern": Function(
            BOOL,
            "CASE WHEN NOT regexp_matches(replace({0}, {1} || {1}, ''), regexp_escape({1}) || '([^%_]|$)') "
            "THEN TRUE END",
            (TEXT, TEXT),
            partial=True,
            names=(),
            failure=lambda _: "in a pattern of LIKE the escape must precede %, _ or itself",
        ),
        "startswith": _has_part(str.startswith, "starts_with"),
        "endswith": _has_part(str.endswith, "ends_with"),
        "contains": _has_part(str.__contains__, "match_substring"),
        "md5": Function(TEXT, "md5({0})", (BYTES,)),
        "sha1": Function(TEXT, "sha1({0})", (BYTES,), names=("sha1", "sha")),
        "sha2": Function(TEXT, "", (BYTES, INT), python=_sha2, tolerant=True),
        "crc32": Function(LONG, "", (BYTES,), python=zlib.crc32),
        "hex": Function(TEXT, "hex({0})", (LONG,)),
        "hex_text": Function(TEXT, "hex({0})", (TEXT,), names=()),
        "collation_key": Function(
            TEXT, "regexp_extract(icu_sort_key({0}, {1}), {2}, 1)", (TEXT, TEXT, TEXT, TEXT), names=()
        ),
        "letter_cases": Function(
            TEXT,
            r"{0} || '01' || regexp_replace(regexp_replace(regexp_replace({1}, '\pM', '', 'g'), "
            r"'[^\p{{Lu}}\p{{Lt}}]', '0', 'g'), '[^0]', '1', 'g')",
            (TEXT, TEXT),
            names=(),
        ),
        "hex_bytes": Function(TEXT, "hex({0})", (BYTES,), names=()),
        "substring_bytes": Function(BYTES, takes=(BYTES, INT, INT), defaults=(_WIDEST,), names=(), python=_part),
        "unhex": Function(BYTES, "unhex({0})", (TEXT,), tolerant=True),
        "bin": Function(
            TEXT, "CASE WHEN {0} = 0 THEN '0' ELSE ltrim(CAST(CAST({0} AS BIT) AS VARCHAR), '0') END", (LONG,)
        ),
        "translate": Function(TEXT, "translate({0}, {1}, {2})", (TEXT, TEXT, TEXT)),
        "overlay": Function(TEXT, "", (TEXT, TEXT, INT, INT), (-1,), python=_overlay),
        "overlay_bytes": Function(BYTES, python=_overlay),
        "levenshtein": Function(INT, takes=(TEXT, TEXT), python=_distance),
        "jaro_winkler_similarity": Function(Type.FLOAT64, takes=(TEXT, TEXT), python=_jaro_winkler),
        "substring_index": Function(TEXT, "", (TEXT, TEXT, INT), python=_substring_index),
        "luhn_check": Function(BOOL, takes=(TEXT,), python=_passes_luhn),
        "soundex": Function(TEXT, takes=(TEXT,), python=_soundex),
        "letters": Function(TEXTS, python=_letters),
        "levenshtein_up_to": Function(INT, python=_bounded_distance),
        "bounded_text": Function(
            TEXT, python=_bounded, partial=True, failure=lambda _: "it has more letters than its column takes"
        ),
        "masked": Function(TEXT, python=_masked, strict=False),
        "quote": Function(TEXT, takes=(TEXT,), python=lambda text: "'" + text.replace("'", "\\'") + "'"),
        "find_in_set": Function(INT, "", (TEXT, TEXT), python=_find_in_set),
    },
)
