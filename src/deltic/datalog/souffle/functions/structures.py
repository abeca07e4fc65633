"""Records and values of algebraic data types as texts: construction and field access.

A structure is stored as the text that Soufflé writes: `[1, [2, nil]]`, `$Circle(1.5)`, `$Point`. Equal values have
equal texts: numbers have one format, and a symbol is quoted, with escapes, if it contains special characters or has
blanks at its ends. So each text has one value for a type, and joins, keys, files and states treat it as text. Nested
values are written out, so a list of n elements takes n times as many characters as one element.

A *shape* is one form of a type's values, `[is.]` or `$Name(f.)`, with a letter for each field: i, u, f and s for
number, unsigned, float and symbol, j, v and g for the first three with 32 bits, a dot for a structure. A *family*
describes a type and the types that it contains: `List=[number List]|nil` describes lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from sqlglot import exp

from deltic.functions.conversions import converter
from deltic.functions.function import PREFIX, Function, provide
from deltic.values.types import Type

TEXT = Type.STRING
NIL = "nil"
KINDS = {
    "i": Type.INT64,
    "u": Type.UINT64,
    "f": Type.FLOAT64,
    "s": TEXT,
    ".": TEXT,
    "j": Type.INT32,
    "v": Type.UINT32,
    "g": Type.FLOAT32,
}
"""The types of fields by the letters of shapes."""

_PLAIN = re.compile(r'[^\s\[\](),"$\\](?:[^\[\](),"\\\n\r\t\0]*[^\s\[\](),"\\])?')
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_UNESCAPED = {escape[1]: char for char, escape in _ESCAPES.items()}
_MARKS = re.compile(r'"(?:\\.|[^"\\])*"|[\[(]|[\])]|,', re.DOTALL)
_TOKENS = re.compile(r'\s*("(?:\\.|[^"\\])*"|[\[\](),]|[^\[\](),"]*[^\[\](),"\s])\s*', re.DOTALL)


def _pack(shape: str, *fields: Any) -> str:
    """Build the text of a structure with these fields."""
    begin, letters, end = _taken_apart(shape)
    if not fields:
        return begin + end
    return f"{begin}{', '.join(map(written, letters, fields))}{end}"


def _unpack(shape: str, index: int, text: str) -> Any:
    """Return a field of a structure; None if the value has another shape."""
    begin, letters, _ = _taken_apart(shape)
    if not text.startswith(begin):
        return None
    return field_of_text(letters[index], _parts(text)[index])


@lru_cache(maxsize=1024)
def _taken_apart(shape: str) -> tuple[str, str, str]:
    """The text before the fields of a shape, the letters of the fields, and the text after them."""
    if shape.startswith("["):
        return "[", shape[1:-1], "]"
    begin, bracket, letters = shape.partition("(")
    return begin + bracket, letters[:-1], ")" if bracket else ""


def _fingerprint(text: str) -> int:
    """Return a 63-bit hash of a text, the same everywhere.

    A million texts have a collision with a probability of 1 in 18 million.
    """
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> 1


def letters_of(shape: str) -> str:
    """Return the letters of a shape's fields."""
    return _taken_apart(shape)[1]


def written(letter: str, value: Any) -> str:
    """Return the text of a field."""
    if letter == "s":
        return value if _PLAIN.fullmatch(value) else quoted(value)
    return str(_TO_TEXT[letter](value + 0.0)) if letter in FLOATS else str(value)


def quoted(symbol: str) -> str:
    """Return a symbol in quotes, with escapes."""
    return f'"{"".join(_ESCAPES.get(c, c) for c in symbol)}"'


def _whole(type_: Type) -> Callable[[str], int | None]:
    low, high = type_.range
    return lambda text: int(text) if _WHOLE.fullmatch(text) and low <= int(text) <= high else None


FLOATS = "fg"
"""The letters of floats, whose equal values may differ, such as 0.0 and -0.0."""

_TO_TEXT = {letter: converter(KINDS[letter], TEXT) for letter in FLOATS}
_OF_TEXT: dict[str, Callable[[str], Any]] = {
    **{letter: _whole(KINDS[letter]) for letter in "iujv"},
    **{letter: converter(TEXT, KINDS[letter]) for letter in FLOATS},
}


def field_of_text(letter: str, text: str) -> Any:
    """Return the value of a field's text; None if the text is invalid."""
    if letter == ".":
        return text
    if letter == "s":
        return _unquoted(text) if text.startswith('"') else text
    return _OF_TEXT[letter](text)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda result: _UNESCAPED.get(result[1], result[1]), text[1:-1], flags=re.DOTALL)


@lru_cache(maxsize=1 << 14)
def _parts(text: str) -> list[str]:
    """The texts of a structure's fields."""
    depth, parts, start = 0, [], 0
    for mark in _MARKS.finditer(text):
        sign = text[mark.start()]
        if sign in "[(":
            depth += 1
            start = mark.end() if depth == 1 else start
        elif sign in "])":
            depth -= 1
        if (sign == "," and depth == 1) or not depth:
            parts.append(text[start : mark.start()].strip())
            start = mark.end()
    return parts


# Normalizing texts from outside

LETTERS = {
    "number": "i",
    "unsigned": "u",
    "float": "f",
    "symbol": "s",
    "number32": "j",
    "unsigned32": "v",
    "float32": "g",
}
"""The letters of types that are no structures, by their names in families."""
_SIGNS = ("[", "]", "(", ")", ",", "")


def _canonical(family: str, text: str) -> str | None:
    """Return the normalized text of a value from outside, None if it is no value of the type."""
    return rewritten(family, text, written)


def rewritten(family: str, text: str, write: Callable[[str, Any], str]) -> str | None:
    """Return the text of a value, its fields written by `write` with their letters; None if not of the type."""
    types, root = family_types(family)
    result: list[str] = []
    pending = [root]  # what is expected: signs, behind an apostrophe, and values of types
    given = tokens(text)
    token = next(given, "")
    while pending:
        wanted = pending.pop()
        if wanted.startswith("'"):
            if token != wanted[1]:
                return None
            result.append(", " if token == "," else token)
        elif wanted in LETTERS:
            value = None if token in _SIGNS else field_of_text(LETTERS[wanted], token)
            if value is None:
                return None
            result.append(write(LETTERS[wanted], value))
        else:
            fields = types[wanted].get(token)
            if fields is None:
                return None
            result.append(token)
            pending += reversed(fields)
        token = next(given, "")
    return "".join(result) if not token else None


def tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a text; an unreadable rest is one token."""
    place = 0
    while place < len(text):
        result = _TOKENS.match(text, place)
        if result is None:
            yield text[place:].strip()
            return
        yield result[1]
        place = result.end()


@lru_cache(maxsize=256)
def family_types(family: str) -> tuple[dict[str, dict[str, list[str]]], str]:
    """For each type the first tokens of its values with the fields and tokens that follow.

    The second result is the name of the first type.
    """
    types: dict[str, dict[str, list[str]]] = {}
    for definition in family.split(";"):
        name, _, branches = definition.partition("=")
        types[name] = dict(map(_branch, branches.split("|")))
    return types, next(iter(types))


def _branch(branch: str) -> tuple[str, list[str]]:
    if branch.startswith("["):
        return "[", [*_separated(branch[1:-1].split()), "']"]
    name, bracket, fields = branch.partition("(")
    return name, ["'(", *_separated(fields[:-1].split()), "')"] if bracket else []


def _separated(fields: Sequence[str]) -> list[str]:
    return [part for i, field in enumerate(fields) for part in (("',", field) if i else (field,))]


def _field_type(node: exp.Expression, types: Sequence[Type]) -> Type:
    shape, index = node.expressions[0].this, int(node.expressions[1].this)
    return KINDS[_taken_apart(shape)[1][index]]


def _failure(given: Sequence[Any] | None) -> str:
    return f"it is no value of the type {family_types(given[0])[1]}" if given else "it is none"


provide(
    {
        "pack": Function(TEXT, python=_pack),
        "unpack": Function(_field_type, python=_unpack, tolerant=True),
        "fingerprint": Function(Type.INT64, python=_fingerprint),
        "structure": Function(TEXT, python=_canonical, partial=True, failure=_failure),
    }
)


_CALL = re.compile(rf"{PREFIX}([A-Z0-9_]+)\(")
_PARTS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[(),]")


def as_written(text: str) -> str:
    """Return the text with each internal call replaced by the user's notation.

    >>> as_written("SPARK_UNPACK('$Both(..)', 1, s) = SPARK_PACK('[i.]', x, SPARK_PACK('$Leaf')) AND SPARK_SIN(x) > 0")
    'field 2 of $Both s = [x, $Leaf] AND sin(x) > 0'
    """
    while calls := [*_CALL.finditer(text)]:
        call = calls[-1]
        arguments, end = _arguments(text, call.end())
        before, behind = text[: call.start()], text[end:]
        if call[1] == "STRUCTURE":
            before, behind = before.removesuffix("CHECKED("), behind.removeprefix(")")
        text = before + _shown_call(call[1].lower(), arguments) + behind
    return text


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """Return the arguments between parentheses that open just before `start`, and the position after them."""
    depth, begin, result = 0, start, list[str]()
    for part in _PARTS.finditer(text, start):
        if part[0] == "(":
            depth += 1
        elif depth == 0 and part[0] in (")", ","):
            result.append(text[begin : part.start()].strip())
            begin = part.end()
            if part[0] == ")":
                return [argument for argument in result if argument], begin
        elif part[0] == ")":
            depth -= 1
    return [text[begin:]], len(text)


def _shown_call(name: str, arguments: Sequence[str]) -> str:
    if name not in ("pack", "unpack", "structure"):
        return f"{name}({', '.join(arguments)})"
    shape, *rest = arguments
    if name == "structure":
        return rest[0]
    branch = shape.strip("'").partition("(")[0]
    is_record = branch.startswith("[")
    if name == "unpack":
        return f"field {int(rest[0]) + 1} of {'' if is_record else f'{branch} '}{rest[1]}"
    fields = ", ".join(rest)
    return f"[{fields}]" if is_record else f"{branch}({fields})" if fields else branch
