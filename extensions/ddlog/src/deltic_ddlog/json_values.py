"""Values as JSON, as Rust's serde has them: what `json` reads and writes, and `@json"…"` in commands.

A struct is an object of its fields, one of several constructors an object of its name and its fields, or its name
where it has none; an option is its value or null; vectors, sets and tuples are arrays; maps of strings are objects.
Attributes of types, constructors and fields change that, as `serde.py` tells.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.checked import TypeDefinition, default_of
from deltic_ddlog.serde import FieldForm, JsonForm
from deltic_ddlog.values import LISTS, NONE, Constructor, MapValue, Struct, Vec, some

VALUE, NUMBER, WRAPPER = "json::JsonValue", "json::JsonNum", "json::JsonWrapper"


class JsonError(ValueError):
    """Malformed JSON, JSON that does not fit a type, or a value without a form in JSON."""


class Json:
    """The JSON of the values of a program's types."""

    def __init__(self, types: Mapping[str, TypeDefinition]) -> None:
        self._types = types

    def of_text(self, type_: t.DdlogType, text: str) -> Any:
        """Return the value that a text says. Raises JsonError."""
        try:
            result = json.loads(text)
        except ValueError as error:
            raise JsonError(str(error)) from error
        return self.read(type_, result)

    def text(self, type_: t.DdlogType, value: Any) -> str:
        """Return the text of a value. Raises JsonError."""
        return json.dumps(self.write(type_, value), ensure_ascii=False, separators=(",", ":"))

    # Reading

    def read(self, type_: t.DdlogType, given: Any) -> Any:
        """Return the value that JSON says. Raises JsonError."""
        match t.content(type_):
            case t.Bool():
                return _of(bool, given, type_)
            case t.String():
                return _of(str, given, type_)
            case t.BigInt() | t.Bit() | t.Signed() as of:
                return _integer(given, type_, *t.bounds(of))
            case t.Float() | t.Double():
                if isinstance(given, bool) or not isinstance(given, int | float):
                    raise _unfit(given, type_)
                return float(given)
            case t.Tuple(items):
                parts = _of(list, given, type_) if items else []
                if len(parts) != len(items):
                    raise _unfit(given, type_)
                return tuple(map(self.read, items, parts))
            case t.Named() as named:
                return self._read_named(named, given)
        raise JsonError(f"values of the type {type_} are not in JSON")

    def _read_named(self, type_: t.Named, given: Any) -> Any:
        if type_.name == VALUE:
            return self._any(given)
        if type_.name == "ddlog_std::Option":
            return NONE if given is None else some(self.read(type_.arguments[0], given))
        if type_.name == WRAPPER:
            return self._types[WRAPPER].constructors[0][0](self.read(type_.arguments[0], given))
        if type_.name in LISTS:
            return LISTS[type_.name](self.read(type_.arguments[0], each) for each in _of(list, given, type_))
        if type_.name == "ddlog_std::Map":
            key, value = type_.arguments
            return MapValue.of((self.read(key, k), self.read(value, v)) for k, v in _of(dict, given, type_).items())
        form = self._form(type_)
        if len(form.constructors) == 1 and not form.tag:
            return self._read_fields(type_, 0, given)
        if form.is_untagged:
            return self._read_untagged(type_, given)
        return self._read_fields(type_, *self._constructor(type_, form, given))

    def _constructor(self, type_: t.Named, form: JsonForm, given: Any) -> tuple[int, Any]:
        """Return the place of the constructor that JSON tells, and its fields."""
        by_name = {name: i for i, made in enumerate(form.constructors) for name in (*made.others, made.name)}
        if form.tag:
            rest = dict(_of(dict, given, type_))
            name = rest.pop(form.tag, None)
            inside = rest.get(form.content, {}) if form.content else rest
        else:
            pairs = list(given.items()) if isinstance(given, dict) else [(given, {})]
            name, inside = pairs[0] if len(pairs) == 1 else (None, {})
        if not isinstance(name, str) or name not in by_name:
            names = ", ".join(made.name for made in form.constructors)
            raise JsonError(f"{json.dumps(given)} is no value of the type {type_}; there are {names}")
        return by_name[name], inside

    def _read_untagged(self, type_: t.Named, given: Any) -> Struct:
        """Return a value of the first constructor whose fields these are."""
        for place, made in enumerate(self._form(type_).constructors):
            try:
                return self._read_fields(type_, place, {} if given is None and not made.fields else given)
            except JsonError:
                continue
        raise _unfit(given, type_)

    def _read_fields(self, type_: t.Named, place: int, given: Any) -> Struct:
        constructor = self._types[type_.name].constructors[place][0]
        fields, result = _of(dict, given, type_), []
        forms = self._form(type_).constructors[place].fields
        known = {name for form in forms for name in (form.name, *form.others)}
        rest = {name: value for name, value in fields.items() if name not in known}
        for form, part in zip(forms, self._fields(type_, constructor), strict=True):
            name = next((each for each in (form.name, *form.others) if each in fields), form.name)
            is_option = isinstance(part, t.Named) and part.name == "ddlog_std::Option"
            if form.is_flat:
                result.append(self.read(part, rest))
            elif form.is_skipped or (name not in fields and form.has_default):
                result.append(default_of(part, self._types))
            elif name not in fields and not is_option:
                raise JsonError(f"the field {name} is missing")
            elif form.key is not None:
                result.append(self._read_keyed(part, form.key(), fields.get(name)))
            else:
                result.append(self.read(part, fields.get(name)))
        return Struct(constructor, result)

    def _read_keyed(self, type_: t.DdlogType, key: Callable[[Any], Any], given: Any) -> MapValue:
        """Return a map of an array of its values."""
        assert isinstance(type_, t.Named)
        values = [self.read(type_.arguments[1], each) for each in _of(list, given, type_)]
        return MapValue.of((key(value), value) for value in values)

    def _form(self, type_: t.Named) -> JsonForm:
        """Return the JSON form of a type with constructors. Raises JsonError for extern types and Rust attributes."""
        form = self._types[type_.name].json
        if form is None:
            raise JsonError(f"values of the type {type_} are not in JSON")
        if form.refused:
            raise JsonError(f"values of the type {type_} are not in JSON: what `{form.refused}` says is serde's alone")
        return form

    def _any(self, given: Any) -> Struct:
        """Any JSON, as a value of `JsonValue`."""
        make = {made.name.rpartition("Json")[2]: made for made, _ in self._types[VALUE].constructors}
        match given:
            case None:
                return make["Null"]()
            case bool():
                return make["Bool"](given)
            case int() | float():
                whole, fraction = (constructor for constructor, _ in self._types[NUMBER].constructors)
                return make["Number"](whole(given) if isinstance(given, int) else fraction(given))
            case str():
                return make["String"](given)
            case list():
                return make["Array"](Vec(map(self._any, given)))
        return make["Object"](MapValue.of((key, self._any(value)) for key, value in given.items()))

    # Writing

    def write(self, type_: t.DdlogType, value: Any) -> Any:
        """Return the JSON of a value. Raises JsonError."""
        match t.content(type_):
            case t.Float() | t.Double():
                return value if math.isfinite(value) else None
            case t.Tuple(items):
                return list(map(self.write, items, value)) if items else None
            case t.Named() as named:
                return self._write_named(named, value)
            case t.CallableType():
                raise JsonError(f"values of the type {type_} are not in JSON")
        return value

    def _write_named(self, type_: t.Named, value: Any) -> Any:
        if type_.name == VALUE:
            return plain(value)
        if type_.name == "ddlog_std::Option":
            return self.write(type_.arguments[0], value[1]) if value != NONE else None
        if type_.name == WRAPPER:
            return self.write(type_.arguments[0], value.fields[0])
        if type_.name in LISTS:
            return [self.write(type_.arguments[0], each) for each in value]
        if type_.name == "ddlog_std::Map":
            key, of = type_.arguments
            if not isinstance(t.content(key), t.String):
                raise JsonError("key must be a string")
            return {k: self.write(of, v) for k, v in value}
        form = self._form(type_)
        made = form.constructors[value.constructor.place]
        fields = self._write_fields(type_, value, made.fields)
        if form.is_untagged or (len(form.constructors) == 1 and not form.tag):
            return fields or (None if form.is_untagged and not made.fields else {})
        if form.content:
            return {form.tag: made.name, **({form.content: fields} if made.fields else {})}
        if form.tag:
            return {form.tag: made.name, **fields}
        return {made.name: fields} if made.fields else made.name

    def _write_fields(self, type_: t.Named, value: Struct, forms: Sequence[FieldForm]) -> dict[str, Any]:
        written: dict[str, Any] = {}
        parts = self._fields(type_, value.constructor)
        for form, part, each in zip(forms, parts, value.fields, strict=True):
            is_left_out = (form.left_out == "is_none" and each == NONE) or (form.left_out == "is_empty" and not each)
            if form.is_skipped or is_left_out:
                continue
            if form.is_flat:
                written |= self.write(part, each)
            elif form.key is not None:
                assert isinstance(part, t.Named)
                written[form.name] = [self.write(part.arguments[1], inside) for _, inside in each]
            else:
                written[form.name] = self.write(part, each)
        return written

    def _fields(self, type_: t.Named, constructor: Constructor) -> tuple[t.DdlogType, ...]:
        definition = self._types[type_.name]
        return definition.at(type_, dict(definition.constructors)[constructor])


def plain(value: Struct) -> Any:
    """Return the JSON of a `JsonValue`; numbers that JSON cannot express are 0."""
    if not value.fields:
        return None
    (inside,) = value.fields
    match value.constructor.name.rpartition("Json")[2]:
        case "Number":
            number = inside.fields[0]
            return number if math.isfinite(number) else 0
        case "Array":
            return list(map(plain, inside))
        case "Object":
            return {key: plain(each) for key, each in inside}
    return inside


def _of(kind: type, given: Any, type_: t.DdlogType) -> Any:
    if not isinstance(given, kind):
        raise _unfit(given, type_)
    return given


def _integer(given: Any, type_: t.DdlogType, low: float, high: float) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise _unfit(given, type_)
    if not low <= given <= high:
        raise JsonError(f"{given} does not fit into {type_}")
    return given


def _unfit(given: Any, type_: t.DdlogType) -> JsonError:
    return JsonError(f"{json.dumps(given)} is no value of the type {type_}")
