"""Functions of options, results, references, and values of any type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.defaults import default_of
from deltic_ddlog.library.collections import shared
from deltic_ddlog.natives import Instance, native
from deltic_ddlog.records import Codecs
from deltic_ddlog.values import NONE, OPTION, RESULT, Struct, err, ok, some

_SOME, _OK = OPTION[1], RESULT[0]


def holds(value: Struct) -> bool:
    """Whether it is `Some` or `Ok`."""
    return value.constructor in (_SOME, _OK)


@shared("is_some", "is_ok")
def is_there(value: Struct) -> bool:
    """Whether there is a value."""
    return holds(value)


@shared("is_none", "is_err")
def is_missing(value: Struct) -> bool:
    """Whether there is none."""
    return not holds(value)


@shared("map")
def mapped(value: Struct, function: Callable[[Any], Any]) -> Struct:
    """The function of the value inside."""
    return Struct(value.constructor, (function(value[1]),)) if holds(value) else value


@shared("map_err")
def map_err(value: Struct, function: Callable[[Any], Any]) -> Struct:
    """The function of the error inside."""
    return value if holds(value) else err(function(value[1]))


@shared("and_then")
def and_then(value: Struct, function: Callable[[Any], Struct]) -> Struct:
    """What the function gives for the value inside."""
    return function(value[1]) if holds(value) else NONE


@shared("unwrap_or", "option_unwrap_or", "result_unwrap_or")
def unwrap_or(value: Struct, otherwise: Any) -> Any:
    """The value inside, or another one."""
    return value[1] if holds(value) else otherwise


@shared("ok_or")
def ok_or(value: Struct, error: Any) -> Struct:
    """`Ok` of the value inside, or an error."""
    return ok(value[1]) if holds(value) else err(error)


@shared("ok_or_else")
def ok_or_else(value: Struct, error: Callable[[], Any]) -> Struct:
    """`Ok` of the value inside, or an error that is made then."""
    return ok(value[1]) if holds(value) else err(error())


@native("ddlog_std::default", typed=True)
def default(instance: Instance) -> Callable[[], Any]:
    """The default value of the type that is asked for."""
    return lambda: default_of(instance.result, instance.types)


def _unwrap_or_default(instance: Instance) -> Callable[[Struct], Any]:
    return lambda value: value[1] if holds(value) else default_of(instance.result, instance.types)


for _name in ("unwrap_or_default", "option_unwrap_or_default", "result_unwrap_or_default"):
    native(f"ddlog_std::{_name}", typed=True)(_unwrap_or_default)


@shared("ref_new", "deref")
def same(value: Any) -> Any:
    """References are what they refer to."""
    return value


@native("ddlog_std::to_any", typed=True)
def to_any(instance: Instance) -> Callable[[Any], Any]:
    """A value with its type."""
    return lambda value: (str(instance.parameters[0]), value)


@native("ddlog_std::from_any", typed=True)
def from_any(instance: Instance) -> Callable[[Any], Any]:
    """The value, where it is one of the type that is asked for."""
    assert isinstance(instance.result, t.Named)
    wanted = str(instance.result.arguments[0])
    return lambda value: some(value[1]) if value[0] == wanted else NONE


@native("ddlog_std::to_string_debug", typed=True)
def to_string_debug(instance: Instance) -> Callable[[Any], str]:
    """The value as Rust's `Debug` has it: the fields of structs by place."""
    return Codecs(instance.types, "debug").of(instance.parameters[0]).show
