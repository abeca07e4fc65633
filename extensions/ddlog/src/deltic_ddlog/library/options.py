"""Functions of options, results, references, and values of any type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.checked import default_of
from deltic_ddlog.codecs import Codecs
from deltic_ddlog.natives import Instance, natives
from deltic_ddlog.values import NONE, OPTION, RESULT, Struct, err, ok, some

_SOME, _OK = OPTION[1], RESULT[0]


def holds(value: Struct) -> bool:
    """Return whether it is `Some` or `Ok`."""
    return value.constructor in (_SOME, _OK)


def _mapped(value: Struct, function: Callable[[Any], Any]) -> Struct:
    """Return the function of the value inside."""
    return Struct(value.constructor, (function(value[1]),)) if holds(value) else value


def _from_any(instance: Instance) -> Callable[[Any], Any]:
    """Return the value, where it is one of the type that is asked for."""
    assert isinstance(instance.result, t.Named)
    wanted = str(instance.result.arguments[0])
    return lambda value: some(value[1]) if value[0] == wanted else NONE


natives(
    "ddlog_std",
    {
        "default": lambda instance: lambda: default_of(instance.result, instance.types),
        "unwrap_or_default option_unwrap_or_default result_unwrap_or_default": lambda instance: (
            lambda value: value[1] if holds(value) else default_of(instance.result, instance.types)
        ),
        "to_any": lambda instance: lambda value: (str(instance.parameters[0]), value),
        "from_any": _from_any,
        # the value as Rust's `Debug` has it: the fields of structs by place
        "to_string_debug": lambda instance: Codecs(instance.types, "debug").of(instance.parameters[0]).show,
    },
    typed=True,
)
natives(
    "ddlog_std",
    {
        "is_some is_ok": holds,
        "is_none is_err": lambda value: not holds(value),
        "map": _mapped,
        "map_err": lambda value, function: value if holds(value) else err(function(value[1])),
        "and_then": lambda value, function: function(value[1]) if holds(value) else NONE,
        "unwrap_or option_unwrap_or result_unwrap_or": lambda value, other: value[1] if holds(value) else other,
        "ok_or": lambda value, error: ok(value[1]) if holds(value) else err(error),
        "ok_or_else": lambda value, error: ok(value[1]) if holds(value) else err(error()),
        "ref_new deref": lambda value: value,
    },
)
