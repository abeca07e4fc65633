"""Functions that find texts in others where both are compared in a collation.

A text is found where as many letters have the same key. Keys are small letters for UTF8_LCASE; otherwise `way` is a
language of ICU, and of its keys the part that `pattern` matches counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from deltic.duck import of_thread
from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Type

TEXT, INT, BOOL = Type.STRING, Type.INT32, Type.BOOLEAN
_WORD = re.compile(r"\w+(?:['.:’]\w+)*")
_KEYS = "SELECT list_transform(?::VARCHAR[], lambda t: regexp_extract(icu_sort_key(t, ?), ?, 1))"


def _keys(texts: Sequence[str], way: str, pattern: str, _: str) -> Sequence[str]:
    """Return what of each text is compared."""
    if way == "UTF8_LCASE":
        return ["".join(map(str.lower, text)).replace("ς", "σ") for text in texts]
    [(keys,)] = of_thread().execute(_KEYS, [list(texts), way, pattern]).fetchall()
    result: Sequence[str] = keys
    return result


def _places(text: str, part: str, *how: str) -> Iterator[int]:
    """Yield where a text has another that is not empty: not before a mark that belongs to its last letter."""
    size = len(part)
    key, *keys = _keys([part, *(text[i : i + size] for i in range(len(text) - size + 1))], *how)
    for place, own in enumerate(keys):
        if own == key and not unicodedata.combining(text[place + size : place + size + 1] or " "):
            yield place


def _pieces(text: str, part: str, *how: str) -> list[tuple[str, str]]:
    """Return the pieces of a text between others, each with the letters after it."""
    pieces, start = [], 0
    for place in _places(text, part, *how) if part else ():
        if place >= start:
            pieces.append((text[start:place], text[place : place + len(part)]))
            start = place + len(part)
    return [*pieces, (text[start:], "")]


def _contains(text: str, part: str, *how: str) -> bool:
    return not part or next(_places(text, part, *how), None) is not None


def _starts(text: str, part: str, *how: str) -> bool:
    return not part or next(_places(text, part, *how), None) == 0


def _ends(text: str, part: str, *how: str) -> bool:
    return not part or len(text) - len(part) in _places(text, part, *how)


def _instr(text: str, part: str, *how: str) -> int:
    return _locate(part, text, 1, *how)


def _locate(part: str, text: str, start: int, *how: str) -> int:
    if start < 1 or not part:
        return text.find(part, start - 1) + 1 if start > 0 else 0
    return next((place + 1 for place in _places(text, part, *how) if place + 1 >= start), 0)


def _find_in_set(text: str, texts: str, *how: str) -> int:
    key, *keys = _keys([text, *texts.split(",")], *how)
    return 0 if "," in text or key not in keys else keys.index(key) + 1


def _replace(text: str, part: str, other: str, *how: str) -> str:
    return other.join(piece for piece, _ in _pieces(text, part, *how))


def _split_part(text: str, part: str, number: int, *how: str) -> str | None:
    pieces = [piece for piece, _ in _pieces(text, part, *how)]
    place = number - 1 if number > 0 else len(pieces) + number
    return None if not number else pieces[place] if 0 <= place < len(pieces) else ""


def _substring_index(text: str, part: str, count: int, *how: str) -> str:
    if not part or not count:
        return ""
    pieces = _pieces(text, part, *how)
    kept = pieces[:count] if count > 0 else pieces[count:]
    joined = "".join(piece + after for piece, after in kept)
    return joined[: len(joined) - len(kept[-1][1])]


def _translate(text: str, letters: str, others: str, *how: str) -> str:
    keys = _keys([*letters, *text], *how)
    of_letters = list(keys[: len(letters)])
    places = [of_letters.index(key) if key in of_letters else -1 for key in keys[len(letters) :]]
    return "".join(a if n < 0 else others[n : n + 1] for a, n in zip(text, places, strict=True))


def _ltrim(text: str, letters: str, *how: str) -> str:
    keys = _keys([*letters, *text], *how)
    trimmed, own = set(keys[: len(letters)]), keys[len(letters) :]
    return text[next((i for i, key in enumerate(own) if key not in trimmed), len(text)) :]


def _rtrim(text: str, letters: str, *how: str) -> str:
    return _ltrim(text[::-1], letters, *how)[::-1]


def _btrim(text: str, letters: str, *how: str) -> str:
    return _ltrim(_rtrim(text, letters, *how), letters, *how)


def _initcap(text: str, *_: str) -> str:
    return _WORD.sub(lambda word: word[0][:1].title() + word[0][1:].lower(), text)


def _of(result: Type, python: Callable[..., Any], *takes: Type, partial: bool = False) -> Function:
    return Function(result, takes=(*takes, TEXT, TEXT, TEXT), names=(), python=python, partial=partial)


FUNCTIONS |= by_rows(
    "libraries find texts by bytes",
    {
        f"collated_{name}": entry
        for name, entry in {
            "contains": _of(BOOL, _contains, TEXT, TEXT),
            "startswith": _of(BOOL, _starts, TEXT, TEXT),
            "endswith": _of(BOOL, _ends, TEXT, TEXT),
            "instr": _of(INT, _instr, TEXT, TEXT),
            "locate": _of(INT, _locate, TEXT, TEXT, INT),
            "find_in_set": _of(INT, _find_in_set, TEXT, TEXT),
            "replace": _of(TEXT, _replace, TEXT, TEXT, TEXT),
            "split_part": _of(TEXT, _split_part, TEXT, TEXT, INT, partial=True),
            "substring_index": _of(TEXT, _substring_index, TEXT, TEXT, INT),
            "translate": _of(TEXT, _translate, TEXT, TEXT, TEXT),
            "ltrim": _of(TEXT, _ltrim, TEXT, TEXT),
            "rtrim": _of(TEXT, _rtrim, TEXT, TEXT),
            "btrim": _of(TEXT, _btrim, TEXT, TEXT),
            "initcap": _of(TEXT, _initcap, TEXT),
        }.items()
    },
)
