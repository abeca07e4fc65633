"""Java's regular expressions in Python's `re`, for patterns that RE2 does not support, and patterns from data.

Both have look-around, back references, possessive quantifiers and atomic groups. A pattern with features that only Java
has, such as intersections of sets, is undefined here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.lazy import np, pa, pc
from deltic.values.types import Type

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


_ESCAPED = r"\\(?:(?P<letters>[pP](?:\{[\w=]+\}|\w))|(?P<sign>.))"
_OF_JAVA = re.compile(
    rf"(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|{_ESCAPED}|\(\?<(?=[A-Za-z])|(?P<unknown>\(\?[a-z]*[ud])|(?P<bare>[.$])",
    re.DOTALL,
)
_SIGN = re.compile(_ESCAPED, re.DOTALL)
_FOLDING = re.compile(r"\(\?[a-z]*i")
_SIGNS = {"z": r"\Z", "Z": r"(?=\n?\Z)", "h": r"[ \t\u00a0]", "e": r"\x1b"}
"""What has another name in Python."""
_BARE = {".": r"[^\n\r\x85\u2028\u2029]", "$": r"(?=(?:\r\n|[\n\r\x85\u2028\u2029])?\Z)"}
"""What ends lines: in Python `\\n` alone."""
_FLAGS = {".": re.compile(r"\(\?[a-z]*s"), "$": re.compile(r"\(\?[a-z]*m")}
"""With what a sign has another meaning."""
_BARE_OF_RE2 = {
    ".": r"[^\n\r\x{85}\x{2028}\x{2029}]",
    "$": r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z",
    "s": r"[\t-\r ]",
    "S": r"[^\t-\r ]",
}
_ELSEWHERE = re.compile(r"\(\?<?[=!]|\(\?>|\\[1-9kGZzRXhH]|[*+?}]\+|\(\?[a-z]*[xud]|&&|\\Q|\[\[")
"""What Java's regular expressions have and RE2's do not, or see differently."""
_UNKNOWN = frozenset("pPGXRkQENHV")
PART_OF_REPLACEMENT = re.compile(r"\\(?P<sign>.)|\$(?P<group>[0-9]+)|(?P<wrong>[\\$])", re.DOTALL)
"""A sign that stands for itself, the number of a group, and what Java rejects, in a replacement."""


@lru_cache(maxsize=1 << 10)  # patterns may be data
def compiled(pattern: str) -> re.Pattern[str] | None:
    """A pattern of Java's; None where it is none, or has what Python lacks."""
    try:
        pattern = re.sub(r"^\(\?iu\)", "(?i)", with_letters(pattern))  # which folds letters of ASCII alone here
        return re.compile(_OF_JAVA.sub(partial(_for_python, pattern), pattern), re.ASCII)
    except (re.error, OverflowError):
        return None


def _letters(pattern: str, part: re.Match[str], is_inside: bool) -> str:
    """Return a class of letters as a set, or as a part of one."""
    if _FOLDING.search(pattern):
        raise re.error("a class of letters has cases of its own")
    return members_of(part["letters"], is_inside)


def _for_python(pattern: str, part: re.Match[str]) -> str:
    found = part.groupdict()
    if (inside := found.get("set")) and not ("[" in inside[1:] or "&&" in inside):
        return _SIGN.sub(partial(_for_python, pattern), inside)
    if found["letters"]:
        return _letters(pattern, part, "set" not in found)
    if inside or found.get("unknown") or found["sign"] in _UNKNOWN:
        raise re.error(f"{part[0]} has no like in Python")
    if bare := found.get("bare"):
        return bare if _FLAGS[bare].search(pattern) else _BARE[bare]
    return _SIGNS.get(found["sign"], part[0]) if found["sign"] else "(?P<"


def for_re2(pattern: str, is_searched: bool) -> str | None:
    """Return a pattern of Java's as RE2 reads it; None where RE2 has no such, as for `$`, except where a pattern that
    is only searched ends with it.
    """
    folds, rest = pattern.startswith("(?iu)"), with_letters(pattern).replace("(?iu)", "(?i)", 1)
    if _ELSEWHERE.search(rest) or (not folds and "(?i" in rest and not rest.isascii()):
        return None

    def read(part: re.Match[str]) -> str:
        if part["set"]:
            if r"\S" in part["set"]:
                raise re.error(r"no set of RE2 has \S with a vertical tab")
            inside: str = part["set"].replace(r"\s", r"\t-\r ")
            return _SIGN.sub(lambda sign: _letters(rest, sign, True) if sign["letters"] else sign[0], inside)
        if part["letters"]:
            return _letters(rest, part, False)
        sign = part["bare"] or part["sign"]
        if sign == "." and part["bare"] is None:
            return part[0]
        if sign is None:
            return "(?P<"
        if part["bare"] and _FLAGS[sign].search(rest):
            return sign
        if part["bare"] == "$" and not (is_searched and part.end() == len(rest)):
            raise re.error("RE2 has no end before a line's end")
        return _BARE_OF_RE2.get(sign, part[0]) if part["bare"] or sign in "sS" else part[0]

    try:
        return _OF_JAVA.sub(read, rest)
    except re.error:
        return None


def _of_pattern(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a text and a pattern, None where the pattern is none."""

    def result(text: str, pattern: str, *others: Any) -> Any:
        known = compiled(pattern)
        return None if known is None else compute(known, text, *others)

    return result


def _extracted(pattern: re.Pattern[str], text: str, group: int) -> str | None:
    if not 0 <= group <= pattern.groups:
        return None
    found = pattern.search(text)
    return (found[group] or "") if found else ""


def _extracted_all(pattern: re.Pattern[str], text: str, group: int) -> tuple[str, ...] | None:
    if not 0 <= group <= pattern.groups:
        return None
    return tuple(found[group] or "" for found in pattern.finditer(text))


def _replaced(pattern: re.Pattern[str], text: str, replacement: str) -> str | None:
    """Return the text with all matches of a pattern replaced, those of nothing after others, too."""
    parts = list(PART_OF_REPLACEMENT.finditer(replacement))
    if any(part["wrong"] or int((part["group"] or "0")[:1]) > pattern.groups for part in parts):
        return None

    def written(part: re.Match[str], found: re.Match[str]) -> str:
        digits = part["group"]
        if digits is None:
            return part["sign"]
        size = next(n for n in range(len(digits), 0, -1) if n == 1 or int(digits[:n]) <= pattern.groups)
        return (found[int(digits[:size])] or "") + digits[size:]

    return pattern.sub(lambda found: PART_OF_REPLACEMENT.sub(lambda part: written(part, found), replacement), text)


def _place(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return found.start() + 1 if found else 0


def _split(pattern: re.Pattern[str], text: str, limit: int) -> tuple[str, ...]:
    """Return the parts between the matches of a pattern, at most this many where the limit is above zero."""
    parts: list[str] = []
    begin = 0
    for found in pattern.finditer(text):
        if len(parts) + 1 == limit:
            break
        if found.end() > 0:  # no part is before an empty match at the start
            parts.append(text[begin : found.start()])
            begin = found.end()
    return (*parts, text[begin:])


def _function(result: Type, compute: Callable[..., Any]) -> Function:
    return Function(result, python=_of_pattern(compute), partial=True, failure=lambda _: _WRONG)


_WRONG = "the pattern is no regular expression, or has no such group"
_TEXTS = Type.array(Type.STRING.or_null)
FUNCTIONS |= by_rows(
    "Java's look-around, back references and patterns from data have no kernel",
    {
        "java_rlike": _function(Type.BOOLEAN, lambda pattern, text: pattern.search(text) is not None),
        "java_regexp_count": _function(Type.INT32, lambda pattern, text: sum(1 for _ in pattern.finditer(text))),
        "java_regexp_extract": _function(Type.STRING, _extracted),
        "java_regexp_extract_all": _function(_TEXTS, _extracted_all),
        "java_regexp_replace": _function(Type.STRING, _replaced),
        "java_regexp_instr": _function(Type.INT32, _place),
        "java_split": _function(_TEXTS, _split),
    },
)
