"""The functions of `json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.json_values import VALUE, Json, JsonError
from deltic_ddlog.natives import Instance, native
from deltic_ddlog.values import NONE, Struct, Vec, err, ok, some

_JSON_VALUE = t.Named(VALUE)


def _tried(function: Callable[[Any], Any]) -> Callable[[Any], Struct]:
    """The function, with `Err` where there is no value."""

    def call(value: Any) -> Struct:
        try:
            return ok(function(value))
        except JsonError as error:
            return err(str(error))

    return call


def _result(instance: Instance) -> t.DdlogType:
    """The type of what is read, of a function that gives a `Result` of it."""
    assert isinstance(instance.result, t.Named)
    return instance.result.arguments[0]


@native("json::from_json_string", typed=True)
def from_json_string(instance: Instance) -> Callable[[str], Struct]:
    """The value that a text says."""
    reading, type_ = Json(instance.types), _result(instance)
    return _tried(lambda text: reading.of_text(type_, text))


@native("json::to_json_string", typed=True)
def to_json_string(instance: Instance) -> Callable[[Any], Struct]:
    """The text of a value."""
    writing, (type_,) = Json(instance.types), instance.parameters
    return _tried(lambda value: writing.text(type_, value))


@native("json::from_json_value", typed=True)
def from_json_value(instance: Instance) -> Callable[[Struct], Struct]:
    """The value that a `JsonValue` says."""
    reading, type_ = Json(instance.types), _result(instance)
    return _tried(lambda value: reading.read(type_, reading.write(_JSON_VALUE, value)))


@native("json::to_json_value", typed=True)
def to_json_value(instance: Instance) -> Callable[[Any], Struct]:
    """A value as a `JsonValue`."""
    writing, (type_,) = Json(instance.types), instance.parameters
    return _tried(lambda value: writing.read(_JSON_VALUE, writing.write(type_, value)))


def _inside(value: Struct, kind: str) -> Struct:
    """What is inside of a value, if it is of a kind."""
    return some(value.fields[0]) if value.constructor.name == f"json::Json{kind}" else NONE


def _as(kind: str) -> Callable[[Struct], Struct]:
    return lambda value: _inside(value, kind)


def _as_or(kind: str) -> Callable[[Struct, Any], Any]:
    return lambda value, default: _or(_inside(value, kind), default)


def _or(found: Struct, default: Any) -> Any:
    return default if found == NONE else found[1]


for _kind in ("Bool", "Number", "String", "Array", "Object"):
    native(f"json::as_{_kind.lower()}")(_as(_kind))
    native(f"json::jval_as_{_kind.lower()}")(_as(_kind))
    native(f"json::jval_as_{_kind.lower()}_or")(_as_or(_kind))


@native("json::jval_get")
def get(value: Struct, key: str) -> Struct:
    """The value of a key, where the whole is an object."""
    found = _inside(value, "Object")
    inside = None if found == NONE else found[1].get(key)
    return NONE if inside is None else some(inside)


native("json::get")(get)


@native("json::jval_get_or")
def get_or(value: Struct, key: str, default: Struct) -> Struct:
    """The value of a key, or another one."""
    found: Struct = _or(get(value, key), default)
    return found


@native("json::get_by_ptr")
def get_by_ptr(value: Struct, pointer: Vec) -> Struct:
    """The value at a place, if there is one."""
    for (step,) in (item.fields for item in pointer):
        items = _or(_inside(value, "Array"), ())
        found = get(value, step) if isinstance(step, str) else some(items[step]) if step < len(items) else NONE
        if found == NONE:
            return NONE
        value = found[1]
    return some(value)
