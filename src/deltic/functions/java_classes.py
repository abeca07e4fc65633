r"""Letters by number, and classes of letters such as `\p{L}`, of Java's regular expressions, for both RE2 and Python.

RE2 finds the members of a class once. Java's names are those of ASCII (`Punct`), of categories (`Lu`), of scripts
(`IsLatin`), and of a few properties (`IsPunctuation`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deltic.lazy import np, pa, pc

_ASCII = {name.title(): name for name in ("lower", "upper", "alpha", "digit", "alnum", "punct", "graph", "print")}
_ASCII |= {"ASCII": "ascii", "Blank": "blank", "Cntrl": "cntrl", "Space": "space", "XDigit": "xdigit"}
_MINOR = {"L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES = {"Cc", "Cf", "Co", *(major + minor for major, minors in _MINOR.items() for minor in ("", *minors))}
_PROPERTIES = {"letter": "L", "digit": "Nd", "control": "Cc", "punctuation": "P", "titlecase": "Lt"}
_NAME = re.compile(r"[pP](?:\{(?:(?P<key>\w+)=|(?P<prefix>Is))?(?P<name>\w+)\}|(?P<short>\w))")
_NUMBERS = re.compile(r"(?P<units>(?:\\u[0-9A-Fa-f]{4})+)|\\x\{(?P<place>[0-9A-Fa-f]{1,6})\}|\\.", re.DOTALL)
_SURROGATES = range(0xD800, 0xE000)
_LAST = 0x10FFFF


def with_letters(pattern: str) -> str:
    r"""Return a pattern that has letters in place of their numbers, as in `\u00e9` and `\x{e9}`."""

    def written(part: re.Match[str]) -> str:
        if part["units"]:
            units = bytes.fromhex(part["units"].replace(r"\u", ""))
            return "".join(_letter(ord(letter)) for letter in units.decode("utf-16-be", "replace"))
        return _letter(min(int(part["place"], 16), _LAST)) if part["place"] else part[0]

    return _NUMBERS.sub(written, pattern)


def members_of(written: str, is_inside: bool) -> str:
    """Return a class such as `p{L}` as a set, or as what stands inside of one. Raises re.error for others."""
    return _ranges(written) if is_inside else f"[{_ranges(written)}]"


@cache
def _ranges(written: str) -> str:
    """Return the members of a class as ranges."""
    is_in = _is_in(_for_re2(written)) ^ (written[0] == "P")
    is_in[_SURROGATES.start : _SURROGATES.stop] = False
    bounds = np.flatnonzero(np.diff(np.concatenate(([False], is_in, [False])).astype(np.int8))).tolist()
    return "".join(_range(first, end - 1) for first, end in zip(bounds[::2], bounds[1::2], strict=True))


def _for_re2(written: str) -> str:
    """Return RE2's form of a class."""
    if (part := _NAME.fullmatch(written)) is None:
        raise re.error(f"\\{written} is no class of letters")
    name, key = part["short"] or part["name"], (part["key"] or "").lower()
    if name in _ASCII and not key and not part["prefix"]:
        return f"[[:{_ASCII[name]}:]]"
    if name in _CATEGORIES and key in ("", "gc", "general_category"):
        return rf"\p{{{name}}}"
    if part["prefix"] and (category := _PROPERTIES.get(name.lower())):
        return rf"\p{{{category}}}"
    if part["prefix"] or key in ("sc", "script"):
        return rf"\p{{{name.title()}}}"
    raise re.error(f"\\{written} is no known class of letters")


def _is_in(pattern: str) -> Any:
    """Return for each code point whether it is in a class of RE2's."""
    result = np.zeros(_LAST + 1, bool)
    places = np.delete(np.arange(_LAST + 1), _SURROGATES)
    try:
        result[places] = pc.match_substring_regex(pa.array(map(chr, places.tolist())), pattern).to_numpy(False)
    except pa.ArrowInvalid:
        raise re.error(f"{pattern} is no script") from None
    return result


def _range(first: int, last: int) -> str:
    return _letter(first) if first == last else f"{_letter(first)}-{_letter(last)}"


def _letter(place: int) -> str:
    return rf"\x{place:02x}" if place < 0x80 else chr(place)
