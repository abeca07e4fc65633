"""Values as JSON, as Rust's serde has them by default: what `json` reads and writes, and `@json"…"` in commands.

A struct is an object of its fields, one of several constructors an object of its name and its fields, or its name
where it has none; an option is its value or null; vectors, sets and tuples are arrays; maps of strings are objects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from deltic.datalog.ddlog import types as t
from deltic.datalog.ddlog.checked import TypeDefinition
from deltic.datalog.ddlog.values import LISTS, NONE, Constructor, Map, Struct, Vec, some

VALUE, NUMBER, WRAPPER = "json::JsonValue", "json::JsonNum", "json::JsonWrapper"


class JsonError(ValueError):
    """A text that is no JSON, JSON that is no value of a type, or a value that is none in JSON."""


class Json:
    """The JSON of the values of a program's types."""

    def __init__(self, types: Mapping[str, TypeDefinition]) -> None:
        self._types = types

    def of_text(self, type_: t.Type, text: str) -> Any:
        """The value that a text says. Raises JsonError."""
        try:
            found = json.loads(text)
        except ValueError as error:
            raise JsonError(str(error)) from error
        return self.read(type_, found)

    def text(self, type_: t.Type, value: Any) -> str:
        """The text of a value. Raises JsonError."""
        return json.dumps(self.write(type_, value), ensure_ascii=False, separators=(",", ":"))

    # Reading

    def read(self, type_: t.Type, given: Any) -> Any:
        """The value that JSON says. Raises JsonError."""
        match t.content(type_):
            case t.Bool():
                return _of(bool, given, type_)
            case t.String():
                return _of(str, given, type_)
            case t.BigInt():
                return _integer(given, type_, None, None)
            case t.Bit(width):
                return _integer(given, type_, 0, (1 << width) - 1)
            case t.Signed(width):
                return _integer(given, type_, -(1 << width - 1), (1 << width - 1) - 1)
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
            return Map.of((self.read(key, k), self.read(value, v)) for k, v in _of(dict, given, type_).items())
        made = self._types[type_.name].constructors
        if len(made) == 1:
            return self._read_fields(type_, made[0][0], given)
        by_name = {constructor.name.rpartition("::")[2]: constructor for constructor, _ in made}
        (name, inside), *others = given.items() if isinstance(given, dict) and given else [(given, {})]
        if others or not isinstance(name, str) or name not in by_name:
            raise JsonError(f"{json.dumps(given)} is no value of the type {type_}; there are {', '.join(by_name)}")
        return self._read_fields(type_, by_name[name], inside)

    def _read_fields(self, type_: t.Named, constructor: Constructor, given: Any) -> Struct:
        fields, found = _of(dict, given, type_), []
        for name, part in zip(constructor.fields, self._fields(type_, constructor), strict=True):
            is_option = isinstance(part, t.Named) and part.name == "ddlog_std::Option"
            if name not in fields and not is_option:
                raise JsonError(f"the field {name} is missing")
            found.append(self.read(part, fields.get(name)))
        return Struct(constructor, found)

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
        return make["Object"](Map.of((key, self._any(value)) for key, value in given.items()))

    # Writing

    def write(self, type_: t.Type, value: Any) -> Any:
        """What JSON has for a value. Raises JsonError."""
        match t.content(type_):
            case t.Float() | t.Double():
                return value if math.isfinite(value) else None
            case t.Tuple(items):
                return list(map(self.write, items, value)) if items else None
            case t.Named() as named:
                return self._write_named(named, value)
            case t.Function():
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
        made = self._types[type_.name].constructors
        if not made:
            raise JsonError(f"values of the type {type_} are not in JSON")
        constructor = value.constructor
        parts = zip(constructor.fields, self._fields(type_, constructor), value.fields, strict=True)
        fields = {name: self.write(part, each) for name, part, each in parts}
        name = constructor.name.rpartition("::")[2]
        return fields if len(made) == 1 else {name: fields} if fields else name

    def _fields(self, type_: t.Named, constructor: Constructor) -> tuple[t.Type, ...]:
        definition = self._types[type_.name]
        given = dict(zip(definition.parameters, type_.arguments, strict=True))
        return tuple(t.substitute(found, given) for found in dict(definition.constructors)[constructor])


def plain(value: Struct) -> Any:
    """What JSON has for a `JsonValue`; numbers that JSON has not are 0."""
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


def _of(kind: type, given: Any, type_: t.Type) -> Any:
    if not isinstance(given, kind):
        raise _unfit(given, type_)
    return given


def _integer(given: Any, type_: t.Type, low: int | None, high: int | None) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise _unfit(given, type_)
    if (low is not None and given < low) or (high is not None and given > high):
        raise JsonError(f"{given} does not fit into {type_}")
    return given


def _unfit(given: Any, type_: t.Type) -> JsonError:
    return JsonError(f"{json.dumps(given)} is no value of the type {type_}")
