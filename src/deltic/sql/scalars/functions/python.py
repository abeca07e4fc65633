"""Functions, aggregates and operators in Python that SQL calls, from the pipeline whose statements are lowered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deltic.errors import count_of
from deltic.sql.scalars.functions.rules import to
from deltic.sql.scalars.functions.written import KNOWN, Written
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, folded
from deltic.values.types import ValueType

if TYPE_CHECKING:
    from deltic.circuit.custom import CustomAggregate, CustomOperator, OfPython
    from deltic.circuit.python import PythonFunction

_KNOWN: ContextVar[Mapping[str, OfPython]] = ContextVar("what is of Python")


def known() -> Mapping[str, OfPython]:
    """Return all of them by their names in lower case."""
    return _KNOWN.get({})


def function_called(name: str) -> PythonFunction | None:
    """Return the function of that name."""
    result: PythonFunction | None = _called(name, "deltic.circuit.python", "PythonFunction")
    return result


def aggregate_called(name: str) -> CustomAggregate | None:
    """Return the aggregate of that name."""
    result: CustomAggregate | None = _called(name, "deltic.circuit.custom", "CustomAggregate")
    return result


def operator_called(name: str) -> CustomOperator | None:
    """Return the operator of that name; aggregates are some, too."""
    result: CustomOperator | None = _called(name, "deltic.circuit.custom", "CustomOperator")
    return result


def _called(name: str, module: str, kind: str) -> Any:
    """Return the object of that name and class, if any; the class is imported only then."""
    result = known().get(name.lower())
    return result if result is not None and isinstance(result, getattr(import_module(module), kind)) else None


@contextmanager
def knowing(functions: Mapping[str, OfPython], written: Written) -> Iterator[None]:
    """Make Python functions and SQL functions known for lowering within the block."""
    before = _KNOWN.set({name: function for name, function in functions.items() if function.in_sql})
    written_before = KNOWN.set(written)
    try:
        yield
    finally:
        _KNOWN.reset(before)
        KNOWN.reset(written_before)


def applied(function: PythonFunction, arguments: Sequence[Typed]) -> Typed:
    """Return a call; Mismatch where the function does not take these arguments."""
    if len(arguments) != len(function.arguments):
        raise Mismatch(f"{function.name} takes {count_of(len(function.arguments), 'argument')}")
    values = [to(argument, type_) for argument, type_ in zip(arguments, function.arguments, strict=True)]
    type_ = ValueType(function.returns.type, function.may_be_null([value.type.nullable for value in values]))
    return folded(Typed(function.applied([value.expression for value in values]), type_))
