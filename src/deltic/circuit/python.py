"""Python functions in expressions: from the values of a row to a value, or from Arrow columns to a column.

In a circuit such a function is a name that ends with its fingerprint, a hash of its code, constants and closure: two
functions are the same only if they compute the same. An exception for a row is an error of the epoch.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from deltic.circuit.expressions import checked, literal
from deltic.functions import FUNCTIONS, Function, call, provide
from deltic.values import from_arrow, to_arrow
from deltic.values.types import Column, Kind, Type, ValueType

Mode = Literal["row", "arrow"]
Nulls = Literal["skip", "pass"]

_PYTHON: dict[Kind, tuple[type, ...]] = {
    Kind.BOOLEAN: (bool,),
    Kind.STRING: (str,),
    Kind.BINARY: (bytes,),
    Kind.FLOAT32: (float, int),
    Kind.FLOAT64: (float, int),
    Kind.DATE: (date,),
    Kind.TIMESTAMP: (datetime,),
    Kind.TIMESTAMP_NTZ: (datetime,),
    Kind.TIME: (time,),
    Kind.DAY_TIME_INTERVAL: (timedelta,),
    Kind.DECIMAL: (Decimal, int),
}
# The types of globals of a function's module that are part of its fingerprint.
_HASHED = (types.FunctionType, int, float, str, bytes, tuple, frozenset, list, dict, set)


@dataclass(frozen=True)
class PythonFunction:
    """A deterministic Python function under the name by which SQL and Datalog call it.

    With `mode` "row" it takes the values of one row as Python values; with "arrow" it takes Arrow arrays of n rows and
    returns an array of n values, or something that pyarrow converts to one. With `nulls` "skip" the result is NULL
    where an argument is, without a call; with "pass" the function gets None, or arrays with NULLs. A value that does
    not have the type `returns` is an error, and so is NULL where that is not nullable. If not `in_sql`, only Datalog
    calls it.
    """

    name: str
    body: Callable[..., Any] = field(compare=False)
    arguments: tuple[Type, ...]
    returns: ValueType
    mode: Mode = "row"
    nulls: Nulls = "skip"
    fingerprint: str = ""
    in_sql: bool = True

    def __post_init__(self) -> None:
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", fingerprint(self.body))

    def __call__(self, *values: Any) -> Any:
        """Return the function itself."""
        return self.body(*values)

    def applied(self, operands: Sequence[exp.Expression]) -> exp.Expression:
        """Return the call over one operand for each of the types `arguments`, as a tree; an error where the function
        fails.
        """
        if self.nulls == "pass":
            names = [literal(f"a{i}", Type.STRING) for i in range(len(operands))]
            operands = [call("named_struct", *(part for pair in zip(names, operands, strict=True) for part in pair))]
        result = checked(call(self.entry, *operands))
        return call("field", result, literal("value", Type.STRING)) if self.returns.nullable else result

    def may_be_null(self, operands: Sequence[bool]) -> bool:
        """Return whether the result may be NULL, given which operands may be NULL."""
        return self.returns.nullable or (self.nulls == "skip" and any(operands))

    @property
    def entry(self) -> str:
        """Its name in the table of functions; registers it there.

        In the table it is NULL where it fails. So its result is a struct around the value if the value may be NULL, and
        its argument is one struct if it gets NULLs.
        """
        facts = (self.name, self.arguments, self.returns, self.mode, self.nulls, self.fingerprint)
        key = hashlib.sha256(repr([*map(str, facts)]).encode()).hexdigest()[:12]
        name = f"{self.name.lower()}__{key}"
        if name not in FUNCTIONS:
            compute, type_ = _Computing(self), self.returns.type
            result = Type.struct([Column("value", type_, True)]) if self.returns.nullable else type_
            found = Function(result, python=compute.row, columns=compute.columns, failure=compute.why, partial=True)
            provide({name: found})
        return name


class _Computing:
    """The calls of a function, by row and by column."""

    def __init__(self, function: PythonFunction) -> None:
        self.function = function
        self._failure = ""

    def row(self, *given: Any) -> Any:
        """Return the value for one row; None where the function raises any exception."""
        values = given[0] if self.function.nulls == "pass" else given
        try:
            result = self._value(values)
        except Exception as error:  # noqa: BLE001, whatever the user's function raises
            self._failure = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return None
        return (result,) if self.function.returns.nullable else result

    def why(self, given: Sequence[Any] | None) -> str:
        """Return the error that the function raises for a row; its last error where the row is not known."""
        if given is not None:
            self.row(*given)
        return f"it raised {self._failure}"

    def _value(self, values: Sequence[Any]) -> Any:
        function = self.function
        if function.mode == "row":
            return self._checked(function.body(*values))
        arrays = [to_arrow([v], t) for v, t in zip(values, function.arguments, strict=True)]
        return self._checked(from_arrow(self._array(arrays, 1), function.returns.type)[0])

    def _array(self, arrays: Sequence[Any], count: int) -> pa.Array:
        """Return the result column for columns of `count` rows."""
        if self.function.mode == "row":
            return self._of_rows(arrays, count)
        result, wanted = self.function.body(*arrays), self.function.returns.type.arrow
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        array = result.cast(wanted) if isinstance(result, pa.Array) else pa.array(result, wanted)
        if len(array) != count:
            raise ValueError(f"it gave {len(array)} values for {count} rows")
        return array

    def _of_rows(self, arrays: Sequence[Any], count: int) -> pa.Array:
        """Return the values of all rows; raises an error where one has a wrong type or does not fit."""
        lists = [from_arrow(array, type_) for array, type_ in zip(arrays, self.function.arguments, strict=True)]
        values = [*map(self.function.body, *lists)] if lists else [self.function.body() for _ in range(count)]
        for kind in {*map(type, values)}:
            self._check(kind, kind)
        return to_arrow(values, self.function.returns.type)

    def _check(self, kind: type, value: Any) -> None:
        """Raise TypeError where values of the class `kind` are not of the declared type."""
        returns = self.function.returns
        if kind is type(None):
            if not returns.nullable:
                raise TypeError(f"it gave None, and returns {returns}; declare {returns}? where it may")
            return
        promised = (int,) if returns.type.is_integer else _PYTHON.get(returns.type.kind, (object,))
        other = bool if returns.type.is_integer else datetime if returns.type.kind is Kind.DATE else ()
        if not issubclass(kind, promised) or issubclass(kind, other):
            raise TypeError(f"it gave {value!r}, and returns {returns}")

    def _checked(self, value: Any) -> Any:
        """Return the value converted to the declared type; raises TypeError or OverflowError."""
        self._check(type(value), value)
        type_ = self.function.returns.type
        if value is None:
            return None
        if type_.is_integer and not type_.range[0] <= value <= type_.range[1]:
            raise OverflowError(f"it gave {value}, which does not fit into {self.function.returns}")
        if type_.is_float:
            return float(value)
        is_kept_otherwise = type_.kind is Kind.DECIMAL or type_.is_composite
        return from_arrow(to_arrow([value], type_), type_)[0] if is_kept_otherwise else value

    def columns(self, arrays: Sequence[Any], count: int) -> Any:
        """Return the result column for columns of `count` rows.

        None where some row fails, so that the caller finds it row by row.
        """
        function = self.function
        if function.nulls == "pass":
            arrays = [pc.struct_field(arrays[0], [i]) for i in range(len(function.arguments))]
        try:
            result = self._array(arrays, count)
        except Exception:  # noqa: BLE001, row by row it is found which one fails
            return None
        if not function.returns.nullable:
            return None if result.null_count else result
        return pa.StructArray.from_arrays([result], names=["value"])


def fingerprint(body: Callable[..., Any]) -> str:
    """Return the identity of a function: a hash of code, constants, defaults, closure, and the functions that it
    calls.
    """
    return digest(_parts(body, set()))


def digest(parts: Iterable[str]) -> str:
    """Sixteen hexadecimal digits that identify a sequence of texts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield the texts that identify a value."""
    if isinstance(value, types.FunctionType | types.CodeType):
        if id(value) not in seen:
            seen.add(id(value))
            yield from _parts_of_code(value, seen) if isinstance(value, types.CodeType) else _parts_of(value, seen)
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)}"
        for part in value:
            yield from _parts(part, seen)
    elif isinstance(value, set | frozenset):
        yield f"{type(value).__name__} {sorted(map(repr, value))}"
    elif isinstance(value, dict):
        yield from _parts(sorted(value.items(), key=repr), seen)
    elif isinstance(value, type | types.BuiltinFunctionType | types.ModuleType):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"
        if isinstance(value, type) and id(value) not in seen:
            seen.add(id(value))
            for name, method in vars(value).items():
                if isinstance(method, types.FunctionType):
                    yield name
                    yield from _parts(method, seen)
    else:
        yield repr(value)


def _parts_of(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    """Its code and defaults, its closure, and the functions and constants of its module that it names."""
    yield from _parts(function.__code__, seen)
    yield from _parts((function.__defaults__, sorted((function.__kwdefaults__ or {}).items())), seen)
    for cell in function.__closure__ or ():
        yield from _parts(cell.cell_contents, seen)
    for name in _names(function.__code__):
        result = function.__globals__.get(name)
        if isinstance(result, _HASHED):
            yield name
            yield from _parts(result, seen)


def _parts_of_code(code: types.CodeType, seen: set[int]) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_argcount, code.co_flags))
    for constant in code.co_consts:
        yield from _parts(constant, seen)


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names that code reads, including those in nested code."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
