r"""How types stand in JSON by the attributes that Rust's serde has for them: `#[rust="serde(tag = \"type\")"]`.

<https://serde.rs/attributes.html>
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deltic_ddlog import syntax as s

Options = Mapping[str, tuple[str, ...]]
"""What `serde(...)` says, by its words; a word may come again."""

_OPTION = re.compile(r'\s*(\w+)\s*(?:=\s*"((?:[^"\\]|\\.)*)"|(\([^)]*\)))?\s*(?:,|$)')


@dataclass(frozen=True)
class FieldForm:
    """A field in JSON: its name and others that are read for it, and what happens where it is not there.

    What `flatten` says stands beside the fields around it. `left_out` is the test for what is not written.
    """

    name: str
    others: tuple[str, ...] = ()
    has_default: bool = False
    is_flat: bool = False
    is_skipped: bool = False
    left_out: str = ""
    key: Callable[[], Callable[[Any], Any]] | None = None
    """What gives the function that gives the keys of values: the map is an array of its values."""


@dataclass(frozen=True)
class ConstructorForm:
    """A constructor in JSON."""

    name: str
    others: tuple[str, ...]
    fields: tuple[FieldForm, ...]


@dataclass(frozen=True)
class JsonForm:
    """A type in JSON. The constructor is named by the key around it, by `tag` inside of it, or beside `content`.

    `refused` is what attributes say that is written in Rust.
    """

    constructors: tuple[ConstructorForm, ...]
    tag: str = ""
    content: str = ""
    is_untagged: bool = False
    refused: str = ""


Keys = Callable[[s.AttributeAnnotation], Callable[[], Callable[[Any], Any]]]
"""The function that `deserialize_from_array=key()` names, by its name."""


def form_of(item: s.Typedef, keys: Keys) -> JsonForm:
    """Return the JSON form of a type with constructors."""
    assert isinstance(item.definition, tuple)
    own, refused = _options(item.attributes), set[str]()
    _refuse(own, ("tag", "content", "untagged", "rename_all", "default", "deny_unknown_fields"), refused)
    made = []
    for constructor in item.definition:
        options = _options(constructor.attributes)
        _refuse(options, ("rename", "alias", "rename_all"), refused)
        rule = _first(options, "rename_all") or (_first(own, "rename_all") if len(item.definition) == 1 else "")
        fields = tuple(_field(field, rule, "default" in own, refused, keys) for field in constructor.fields)
        name = _first(options, "rename") or _variant(constructor.name, _first(own, "rename_all"))
        made.append(ConstructorForm(name, options.get("alias", ()), fields))
    message = ", ".join(sorted(refused))
    return JsonForm(tuple(made), _first(own, "tag"), _first(own, "content"), "untagged" in own, message)


def _field(item: s.FieldDeclaration, rule: str, has_default: bool, refused: set[str], keys: Keys) -> FieldForm:
    options = _options(item.attributes)
    _refuse(options, ("rename", "alias", "default", "flatten", "skip", "skip_serializing_if"), refused)
    left_out = _first(options, "skip_serializing_if").rpartition("::")[2]
    if left_out not in ("", "is_none", "is_empty"):
        refused.add("skip_serializing_if")
    if _first(options, "default"):
        refused.add("default")
    return FieldForm(
        _first(options, "rename") or _renamed(item.name, rule),
        options.get("alias", ()),
        has_default or "default" in options,
        "flatten" in options,
        "skip" in options,
        left_out,
        next((keys(attribute) for attribute in item.attributes if attribute.name == "deserialize_from_array"), None),
    )


def _options(attributes: Iterable[s.AttributeAnnotation]) -> Options:
    result: dict[str, tuple[str, ...]] = {}
    for attribute in attributes:
        said = attribute.value.value if isinstance(attribute.value, s.StringExpression) else ""
        if attribute.name == "rust" and (inside := re.fullmatch(r"\s*serde\s*\((.*)\)\s*", said, re.DOTALL)):
            for name, text, nested in _OPTION.findall(inside[1]):
                result[name] = (*result.get(name, ()), text or nested)
    return result


def _first(options: Options, name: str) -> str:
    return options.get(name, ("",))[0]


def _refuse(options: Options, known: tuple[str, ...], refused: set[str]) -> None:
    refused |= set(options) - set(known)


_CASES: Mapping[str, Callable[[list[str]], str]] = {
    "lowercase": lambda words: "".join(words),
    "UPPERCASE": lambda words: "".join(words).upper(),
    "PascalCase": lambda words: "".join(word.capitalize() for word in words),
    "camelCase": lambda words: words[0] + "".join(word.capitalize() for word in words[1:]),
    "snake_case": "_".join,
    "SCREAMING_SNAKE_CASE": lambda words: "_".join(words).upper(),
    "kebab-case": "-".join,
    "SCREAMING-KEBAB-CASE": lambda words: "-".join(words).upper(),
}


def _renamed(name: str, rule: str) -> str:
    """Return a field's name, whose words `_` divides, by a rule."""
    if rule in ("", "lowercase", "snake_case"):
        return name
    return name.upper() if rule == "UPPERCASE" else _CASES[rule](name.split("_")) if rule in _CASES else name


def _variant(name: str, rule: str) -> str:
    """Return a constructor's name, whose words begin with capitals, by a rule."""
    if rule not in _CASES:
        return name
    return _CASES[rule]([word.lower() for word in re.findall(r"[A-Z]?[^A-Z]*", name) if word])
