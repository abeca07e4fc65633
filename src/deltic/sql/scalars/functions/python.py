"""Functions of Python that SQL calls: those of the pipeline whose statements are lowered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from deltic.circuit.types import ValueType
from deltic.sql.scalars.folding import folded
from deltic.sql.scalars.functions.rules import to
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
    type_ = ValueType(function.returns.type, function.may_be_null([value.type.nullable for value in values]))
    return folded(Typed(function.applied([value.expression for value in values]), type_))
