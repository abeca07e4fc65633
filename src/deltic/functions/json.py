"""JSON texts: their functions and options. Only the first value counts; what does not start with one is no JSON.

An object is an ordered list of names and values, since a name may occur twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from deltic.functions.conversions import converter
from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Kind, Type
from deltic.values.types.names import type_named

TEXT, INT = Type.STRING, Type.INT32
Step = str | int | None
"""A field by its name, an element by its index, or None for all elements."""

_STEP = re.compile(r"\.([^.\[*\s][^.\[*]*)|\['([^'?*\s][^'?*]*)'\]|\[(0|[1-9][0-9]{0,8})\]|(\[\*\])")
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'((?:[^'\\]|\\.)*)'""", re.DOTALL)
_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_ESCAPED = str.maketrans({**{chr(code): f"\\u{code:04X}" for code in range(32)}, **_SHORT})
_of_double = converter(Type.FLOAT64, TEXT)


class _Object(list[tuple[str, Any]]):
    """The names and values of an object."""


def refuse(constant: str) -> Any:
    """Refuse NaN and the infinities, which Python's parser takes."""
    raise ValueError(f"{constant} is no JSON")


def type_of_literal(node: exp.Expression, types: Sequence[Type]) -> Type:
    """Return the type that the second operand of a call names."""
    return type_named(node.expressions[1].this)


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_Object, parse_constant=refuse)


def _read(text: str) -> Any:
    """Parse the first value of a text; raises ValueError where there is none."""
    own = requoted(text.lstrip(" \t\r\n"))
    try:
        value, end = _DECODER.raw_decode(own)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, list) and own[end:].strip():
        raise ValueError("something follows a number or a text")
    return value


def requoted(text: str) -> str:
    """Replace single quotes around texts by double ones; Spark accepts both."""
    return _QUOTED.sub(_requoted, text) if "'" in text else text


def _requoted(found: re.Match[str]) -> str:
    inner = found[1]
    if inner is None:
        return found[0]
    doubled = re.sub(r"""\\.|\"""", lambda part: part[0] if len(part[0]) > 1 else '\\"', inner, flags=re.DOTALL)
    return f'"{doubled}"'


def written(value: Any, scalar: Callable[[Any], str]) -> str:
    """Return a value as JSON without blanks; `scalar` writes what is no object and no array."""
    if isinstance(value, dict | _Object):
        pairs = value.items() if isinstance(value, dict) else value
        return "{" + ",".join(f"{quoted(name)}:{written(part, scalar)}" for name, part in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(part, scalar) for part in value) + "]"
    return scalar(value)


def _scalar(value: Any) -> str:
    """Write a text or a number; fractional numbers are written as a DOUBLE."""
    if isinstance(value, str):
        return quoted(value)
    return str(_of_double(value)) if isinstance(value, float) else json.dumps(value)


def quoted(text: str) -> str:
    """Return a text as JSON."""
    return f'"{text.translate(_ESCAPED)}"'


def steps_of(path: str) -> list[Step] | None:
    """Parse a path such as `$.a['b'][0][*].c`; None where it is invalid."""
    result = list(_STEP.finditer(path, 1))
    if path[:1] != "$" or "".join(step[0] for step in result) != path[1:]:
        return None
    return [_step(*step.groups()) for step in result]


def _step(name: str | None, in_quotes: str | None, index: str | None, every: str | None) -> Step:
    if every is not None or index is not None:
        return None if index is None else int(index)
    return in_quotes if name is None else name


def is_supported(path: str) -> bool:
    """Return whether the path has `[*]` at most once, after a field, or is none, whose value is NULL."""
    steps = steps_of(path)
    is_element = isinstance(steps[steps.index(None) - 1], int) if steps and None in steps[1:] else False
    return steps is None or not (steps.count(None) > 1 or is_element)


def _found(value: Any, way: Sequence[Step]) -> list[Any]:
    """Follow a path; of a repeated name the first occurrence that leads to a value counts."""
    if not way:
        return [value]
    step, rest = way[0], way[1:]
    if isinstance(step, str):
        parts = value if isinstance(value, _Object) else ()
        ways = (_found(part, rest) for name, part in parts if name == step and part is not None)
        return next(filter(None, ways), [])
    if not isinstance(value, list) or isinstance(value, _Object):
        return []
    chosen = value if step is None else value[step : step + 1]
    return [end for part in chosen for end in _found(part, rest)]


def _get(text: str, path: str) -> str | None:
    """`get_json_object`: the value at a path, texts without quotes; several matches of `[*]` form an array."""
    way = steps_of(path)
    try:
        result = [] if way is None else _found(_read(text), way)
        return _encodable(_shown(result, None in (way or ()))) if result else None
    except ValueError:
        return None


def _shown(found: list[Any], are_elements: bool) -> str:
    if are_elements:
        return written(found if len(found) > 1 else found[0], _scalar)
    return found[0] if isinstance(found[0], str) else written(found[0], _scalar)


def _encodable(text: str) -> str:
    """Return the text; raises ValueError for a lone surrogate, which UTF-8 cannot encode."""
    text.encode()
    return text


def _length(text: str) -> int | None:
    """Return how many elements an array has."""
    try:
        value = _read(text)
    except ValueError:
        return None
    return len(value) if isinstance(value, list) and not isinstance(value, _Object) else None


def _names(text: str) -> tuple[str, ...] | None:
    """Return the names of an object, in order."""
    try:
        value = _read(text)
        return tuple(_encodable(name) for name, _ in value) if isinstance(value, _Object) else None
    except ValueError:
        return None


@dataclass(frozen=True)
class JsonOptions:
    """Spark's JSON options; an empty pattern of times means ISO."""

    date: str | None = None
    timestamp: str | None = None
    timestamp_ntz: str | None = None
    keeps_null: bool = False
    is_pretty: bool = False
    fails: bool = False
    corrupt: str = "_corrupt_record"
    single_quotes: bool = True
    bare_names: bool = False
    leading_zeros: bool = False
    comments: bool = False
    numbers_as_text: bool = True
    all_as_text: bool = False
    prefers_decimal: bool = False
    sorts_keys: bool = False

    def pattern(self, kind: Kind) -> str | None:
        """Return the pattern of dates or times, where one is asked for."""
        return {Kind.DATE: self.date, Kind.TIMESTAMP: self.timestamp}.get(kind, self.timestamp_ntz)


OPTIONS = {
    "dateformat": "date",
    "timestampformat": "timestamp",
    "timestampntzformat": "timestamp_ntz",
    "columnnameofcorruptrecord": "corrupt",
}
"""Options whose value is a text, by their names in lower case, with what they are called here."""
SWITCHES = {
    "pretty": "is_pretty",
    "sortkeys": "sorts_keys",
    "allowsinglequotes": "single_quotes",
    "allowunquotedfieldnames": "bare_names",
    "allownumericleadingzeros": "leading_zeros",
    "allowcomments": "comments",
    "allownonnumericnumbers": "numbers_as_text",
    "primitivesasstring": "all_as_text",
    "prefersdecimal": "prefers_decimal",
}
"""Options that are true or false."""


FUNCTIONS |= by_rows(
    "no library reads JSON in single quotes, or the first value alone, as Spark does",
    {
        "get_json_object": Function(TEXT, python=_get, tolerant=True),
        "is_json_path": Function(Type.BOOLEAN, takes=(TEXT,), python=is_supported, names=()),
        "json_array_length": Function(INT, takes=(TEXT,), python=_length, tolerant=True),
        "json_object_keys": Function(Type.array(TEXT.or_null), takes=(TEXT,), python=_names, tolerant=True),
    },
)
