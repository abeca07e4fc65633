"""Functions of Python that SQL may call: those of the pipeline whose statements are lowered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from deltic.sql.scalars.functions import collections
from deltic.sql.scalars.functions.rules import apply, to
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed

if TYPE_CHECKING:
    from deltic.circuit.python import PythonFunction

_KNOWN: ContextVar[Mapping[str, PythonFunction]] = ContextVar("functions of Python")


def known() -> Mapping[str, PythonFunction]:
    """The functions by their names in lower case."""
    return _KNOWN.get({})


@contextmanager
def knowing(functions: Mapping[str, PythonFunction]) -> Iterator[None]:
    """Lower what stands in the block with these functions."""
    before = _KNOWN.set(functions)
    try:
        yield
    finally:
        _KNOWN.reset(before)


def applied(function: PythonFunction, arguments: Sequence[Typed]) -> Typed:
    """A call; Mismatch where the function does not take these arguments."""
    if len(arguments) != len(function.arguments):
        raise Mismatch(f"{function.name} takes {len(function.arguments)} arguments")
    values = [to(argument, type_) for argument, type_ in zip(arguments, function.arguments, strict=True)]
    if function.nulls == "pass":
        values = [collections.struct([f"a{i}" for i in range(len(values))], values)]
    found = apply(function.entry, *values)
    return collections.field(found, "value") if function.returns.nullable else found
