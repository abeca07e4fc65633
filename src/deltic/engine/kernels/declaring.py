"""Declarations of kernels: functions that Python calls as machine code, and the functions that these are made of.

A declaration only changes who runs a function. `compiling` lets numba compile the declared functions, in a process of
its own; `loading` loads them into this process, which never imports numba.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from itertools import accumulate
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


class Kernel:
    """A function that Python calls as machine code, which is loaded, or first compiled, at the first call.

    `types` are the types of its parameters, for numba; arrays must be contiguous.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.function = function

    @property
    def name(self) -> str:
        """Return module and function, unique among kernels: settle.known."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    @cached_property
    def machine_code(self) -> Callable[..., Any]:
        """Return the function as machine code; it does not hold the interpreter's lock while it runs."""
        from deltic.engine.kernels.loading import load

        return load(self.name)

    def __call__(self, *args: Any) -> Any:
        return self.machine_code(*args)


@dataclass(frozen=True)
class Part:
    """A function that only compiled code calls; it may be `inlined` into its callers before types are inferred."""

    function: Callable[..., Any]
    inlined: bool = False


@dataclass(frozen=True)
class Access:
    """Memory by its address: load, store, or an array, with elements of a numpy type; see `memory`."""

    kind: str
    element: str


@dataclass(frozen=True)
class FieldArrays:
    """The arrays of a named tuple, each read by its address where compiled code names its field; see `component`."""

    of: type


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Declare a function that Python calls, and that other compiled code may call."""
    return cast(Callable[P, R], Kernel(function))


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Declare a function that only compiled code calls."""
    return cast(Callable[P, R], Part(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Declare a function that is inlined into the compiled code that calls it."""
    return cast(Callable[P, R], Part(function, inlined=True))


def numbered(names: str) -> Any:
    """Number the columns of a table, with three for each place (*): a tuple with a field for each, and COLUMNS, their
    number.
    """
    widths = {name.rstrip("*"): 3 if name.endswith("*") else 1 for name in names.split()}
    return cast(Any, namedtuple("Columns", [*widths, "COLUMNS"]))(*accumulate(widths.values(), initial=0))
