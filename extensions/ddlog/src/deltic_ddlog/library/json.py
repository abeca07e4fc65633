"""The functions of `json`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.json_values import VALUE, Json, JsonError
from deltic_ddlog.natives import Instance, native, natives
from deltic_ddlog.values import NONE, Struct, Vec, some, tried

_JSON_VALUE = t.Named(VALUE)


def _tried(function: Callable[[Any], Any]) -> Callable[[Any], Struct]:
    """Return the function, with `Err` where there is no value."""
    return lambda value: tried(JsonError, lambda: function(value))


def _of_type(instance: Instance) -> t.DdlogType:
    """Return the type of what is read, of a function that gives a `Result` of it."""
    assert isinstance(instance.result, t.Named)
    return instance.result.arguments[0]


def _from_string(instance: Instance) -> Callable[[str], Struct]:
    reading, type_ = Json(instance.types), _of_type(instance)
    return _tried(lambda text: reading.of_text(type_, text))


def _to_string(instance: Instance) -> Callable[[Any], Struct]:
    writing, (type_,) = Json(instance.types), instance.parameters
    return _tried(lambda value: writing.text(type_, value))


def _from_value(instance: Instance) -> Callable[[Struct], Struct]:
    reading, type_ = Json(instance.types), _of_type(instance)
    return _tried(lambda value: reading.read(type_, reading.write(_JSON_VALUE, value)))


def _to_value(instance: Instance) -> Callable[[Any], Struct]:
    writing, (type_,) = Json(instance.types), instance.parameters
    return _tried(lambda value: writing.read(_JSON_VALUE, writing.write(type_, value)))


natives(
    "json",
    {
        "from_json_string": _from_string,
        "to_json_string": _to_string,
        "from_json_value": _from_value,
        "to_json_value": _to_value,
    },
    typed=True,
)


def _inside(value: Struct, kind: str) -> Struct:
    """Return what is inside of a value, if it is of a kind."""
    return some(value.fields[0]) if value.constructor.name == f"json::Json{kind}" else NONE


def _inside_or(value: Struct, default: Any, kind: str) -> Any:
    return _or(_inside(value, kind), default)


def _or(found: Struct, default: Any) -> Any:
    return default if found == NONE else found[1]


for _kind in ("Bool", "Number", "String", "Array", "Object"):
    _name = _kind.lower()
    natives("json", {f"as_{_name} jval_as_{_name}": partial(_inside, kind=_kind)})
    natives("json", {f"jval_as_{_name}_or": partial(_inside_or, kind=_kind)})


@native("json::get")
@native("json::jval_get")
def get(value: Struct, key: str) -> Struct:
    """The value of a key, where the whole is an object."""
    result = _inside(value, "Object")
    inside = None if result == NONE else result[1].get(key)
    return NONE if inside is None else some(inside)


@native("json::jval_get_or")
def get_or(value: Struct, key: str, default: Struct) -> Struct:
    """The value of a key, or another one."""
    result: Struct = _or(get(value, key), default)
    return result


@native("json::get_by_ptr")
def get_by_ptr(value: Struct, pointer: Vec) -> Struct:
    """The value at a place, if there is one."""
    for (step,) in (item.fields for item in pointer):
        items = _or(_inside(value, "Array"), ())
        result = get(value, step) if isinstance(step, str) else some(items[step]) if step < len(items) else NONE
        if result == NONE:
            return NONE
        value = result[1]
    return some(value)
