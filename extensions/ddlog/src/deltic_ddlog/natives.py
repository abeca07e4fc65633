"""The functions of Python behind the `extern function`s of the libraries.

`library/a/b.dl` declares module `a::b`, and `library/a/b.py`, where there is one, registers its extern functions when
the module is imported. Those of a program are given by its user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from deltic_ddlog.types import BigInt, Bit, Bool, DdlogType, Double, Float, Signed, String, bounds

if TYPE_CHECKING:
    from deltic_ddlog.checked import TypeDefinition

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


@dataclass(frozen=True)
class Instance:
    """At which types a generic function is called; `types` defines the program's types by their full names."""

    parameters: tuple[DdlogType, ...]
    result: DdlogType
    types: Mapping[str, TypeDefinition]


@dataclass(frozen=True)
class Native:
    """A function of Python; one that needs to know types is given an `Instance` and gives the function."""

    function: Callable[..., Any]
    typed: bool


NATIVES: dict[str, Native] = {}


def native(name: str, *, typed: bool = False) -> Callable[[FunctionT], FunctionT]:
    """Register the decorated function for an extern function by its full name, such as `ddlog_std::vec_push`.

    It takes the arguments and gives the result. Where parameters are `mut`, it gives a tuple: the result, then the new
    value of each of those, in their order.
    """

    def register(function: FunctionT) -> FunctionT:
        NATIVES[name] = Native(function, typed)
        return function

    return register


def natives(modules: str, functions: Mapping[str, Callable[..., Any]], *, typed: bool = False) -> None:
    """Register functions by their names in modules, as `native` does; names and modules are separated by blanks."""
    for names, function in functions.items():
        for module in modules.split():
            for name in names.split():
                native(f"{module}::{name}", typed=typed)(function)


def same_natives(module: str, names: str, of: str = "ddlog_std") -> None:
    """Register functions of a module that are those of another one: by the same name, or by `own=other`."""
    for name in names.split():
        own, _, other = name.partition("=")
        NATIVES[f"{module}::{own}"] = NATIVES[f"{of}::{other or own}"]


def has_type(value: Any, type_: DdlogType) -> bool:
    """Return whether a value of Python's is one of a type; of types with parts, their kind alone is looked at."""
    match type_:
        case Bool():
            return isinstance(value, bool)
        case String():
            return isinstance(value, str)
        case Float() | Double():
            return isinstance(value, float)
        case BigInt() | Bit() | Signed():
            low, high = bounds(type_)
            return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        case _:
            return isinstance(value, tuple)
