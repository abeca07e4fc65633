"""The definition of a function, the table of all functions, and the limits of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from deltic.lazy import pc
from deltic.values import numbers_of, of_numbers
from deltic.values.types import Type

PREFIX = "SPARK_"

Vector = Callable[..., tuple[Any, Any]]
"""Of arrays of numbers and times, without NULL: the values, and where they are undefined."""

Columns = Callable[[Sequence[Any], int], Any]
"""Of Arrow columns and the number of their rows."""

Template = str | Callable[[Sequence[str], Sequence[Type]], str]


@dataclass(frozen=True)
class Function:
    """A function: the types that it takes, that of its result, and how it is computed.

    `takes` are the parameters of plain functions, of which SQL may leave out those at the end that have `defaults`;
    `names` are those in SQL, where it has others than its own, or none. Others have a rule of their own in SQL.
    `result` may depend on the operands' types. `duckdb` is DuckDB's SQL with {0}, {1}, … for the operands; `python` the
    definition for single values as they stand in rows; `vector` computes whole columns of numbers and times as numpy
    has them, for strict functions: the values, and where they are undefined; `columns` Arrow columns of n rows, without
    NULL where it is strict, or gives None where `python` or DuckDB is to compute them; `failure` says why a row has no
    value; `reason` why a function is computed by Python row by row, the last of the tiers. One of the four is enough: a
    single value is a column of one. `python` stands beside them where recursions ask for one value at a time.

    A `strict` function is NULL where an operand is, and does not compute those after it then, unless it is `thorough`.
    A `partial` one may be undefined, which is an error in SQL; a
    `tolerant` one is NULL there for Spark too. Others that are not strict are NULL only if they are `nullable`.
    """

    result: Type | Callable[[exp.Expression, Sequence[Type]], Type]
    duckdb: Template = ""
    takes: tuple[Type, ...] = ()
    defaults: tuple[Any, ...] = ()
    python: Callable[..., Any] | None = None
    vector: Vector | None = None
    columns: Columns | None = None
    failure: Callable[[Sequence[Any] | None], str] | None = None
    strict: bool = True
    thorough: bool = False
    partial: bool = False
    tolerant: bool = False
    nullable: bool = True
    names: tuple[str, ...] | None = None
    reason: str = ""

    @property
    def tier(self) -> str:
        """The slowest tier that computes columns: numpy, kernels over Arrow, DuckDB, or Python row by row."""
        if self.vector is not None:
            return "numpy"
        if self.duckdb:
            return "DuckDB"
        return "Arrow" if self.columns is not None and not self.reason else "Python"

    def of_columns(self, columns: Sequence[Any], types: Sequence[Type], count: int, result: Type) -> Any:
        """Apply `columns` or `vector` to Arrow columns of n rows."""
        if self.columns is not None:
            return self.columns(columns, count)
        assert self.vector is not None
        found, undefined = self.vector(*(numbers_of(c, type_) for c, type_ in zip(columns, types, strict=True)))
        return of_numbers(found, result, undefined)

    def type(self, node: exp.Expression, operands: Sequence[Type]) -> Type:
        """Return the type of the result of a call."""
        return self.result if isinstance(self.result, Type) else self.result(node, operands)

    @property
    def reads_once(self) -> bool:
        """Whether each operand occurs once in the SQL, so that nested calls do not grow exponentially."""
        return isinstance(self.duckdb, str) and max(self.duckdb.count(f"{{{i}}}") for i in range(9)) <= 1

    def may_be_null(self, operands: Sequence[bool]) -> bool:
        """Return whether the result may be NULL, where this is known of the operands."""
        if self.partial or self.tolerant:
            return True
        return any(operands) if self.strict else self.nullable

    def sql(self, operands: Sequence[str], types: Sequence[Type]) -> str:
        """DuckDB's SQL over operands in SQL, NULL where DuckDB would fail."""
        text = self.duckdb.format(*operands) if isinstance(self.duckdb, str) else self.duckdb(operands, types)
        return f"TRY({text})" if self.partial or self.tolerant else text


FUNCTIONS: dict[str, Function] = {}
"""The functions by their names in circuits: those of Spark by their names there, and what others provide."""

PROVIDED: dict[str, Function] = {}
"""Those that front ends and users provide. A plan that leaves the process takes along those that it calls."""


def provide(functions: Mapping[str, Function]) -> None:
    """Register functions of a front end or a user in this process; a name never changes its meaning.

    Plans pickle them: functions of a module by name, others with their code.
    """
    for name, function in functions.items():
        FUNCTIONS[name] = PROVIDED[name] = PROVIDED.get(name, function)


def by_rows(reason: str, functions: Mapping[str, Function]) -> dict[str, Function]:
    """Give functions that Python computes row by row this reason, where they lack one."""
    return {
        name: function if function.reason or function.tier != "Python" else replace(function, reason=reason)
        for name, function in functions.items()
    }


def kernel(name: str) -> Columns:
    """Return the function of pyarrow.compute of a name."""

    def compute(columns: Sequence[Any], count: int) -> Any:
        return getattr(pc, name)(*columns)

    return compute


def names_in_sql() -> dict[str, str]:
    """Return the plain functions of SQL, by SQL name, with their names in the table."""
    entries = ((name, function.names) for name, function in FUNCTIONS.items() if function.takes)
    return {own: name for name, names in entries for own in ((name,) if names is None else names)}


def call(name: str, *operands: exp.Expression) -> exp.Expression:
    """Return a call of a function."""
    return exp.Anonymous(this=PREFIX + name.upper(), expressions=[operand.copy() for operand in operands])


def is_call(expression: exp.Expression) -> bool:
    """Return whether the node calls a function of the table."""
    return isinstance(expression, exp.Anonymous) and expression.name.startswith(PREFIX)


def function_of(expression: exp.Expression) -> Function:
    """Return the function of a call; raises KeyError where there is none."""
    return FUNCTIONS[expression.name.removeprefix(PREFIX).lower()]


MOST_ELEMENTS = 10_000_000
"""The elements of an array that sequence or array_repeat makes."""
MOST_LETTERS = 100_000_000
"""The letters of a text that repeat, space, lpad or rpad makes."""


def too_long(given: Sequence[Any] | None) -> str:
    """Return the error message for a result that would be too large."""
    return f"it makes at most {MOST_ELEMENTS:,} elements, and {MOST_LETTERS:,} letters"


def no_sequence(given: Sequence[Any] | None) -> str:
    """Return the error message for an invalid or too long sequence."""
    return f"the step leads from the start to the end, in at most {MOST_ELEMENTS:,} elements"
