"""What a function of Spark is in circuits, and the table of them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from deltic.circuit.types import Type

PREFIX = "SPARK_"

Template = str | Callable[[Sequence[str], Sequence[Type]], str]


@dataclass(frozen=True)
class Function:
    """A function: the types that it takes, that of its result, and how it is computed.

    `takes` are the parameters of plain functions, of which SQL may leave out those at the end that have `defaults`;
    other functions have a rule of their own in SQL. `result` may depend on the operands' types. `duckdb` is DuckDB's
    SQL with {0}, {1}, … for the operands; `python` the definition for single values as they stand in rows, for
    functions that DuckDB does not have or sees differently; `vector` computes whole columns of numbers and times as an
    engine has them, for strict functions: the values, and where they are undefined; `columns` Arrow columns of n rows,
    without NULL where it is strict, or gives None where single rows are to be computed; `failure` says why a row has no
    value.

    A `strict` function is NULL where an operand is. A `partial` one may be undefined, which is an error in SQL; a
    `tolerant` one is NULL there for Spark too. Others that are not strict are NULL only if they are `nullable`.
    """

    result: Type | Callable[[exp.Expression, Sequence[Type]], Type]
    duckdb: Template = ""
    takes: tuple[Type, ...] = ()
    defaults: tuple[Any, ...] = ()
    python: Callable[..., Any] | None = None
    vector: Callable[..., tuple[Any, Any]] | None = None
    columns: Callable[[Sequence[Any], int], Any] | None = None
    failure: Callable[[Sequence[Any] | None], str] | None = None
    strict: bool = True
    partial: bool = False
    tolerant: bool = False
    nullable: bool = True

    def type(self, node: exp.Expression, operands: Sequence[Type]) -> Type:
        """The type of the result of a call."""
        return self.result if isinstance(self.result, Type) else self.result(node, operands)

    @property
    def reads_once(self) -> bool:
        """Whether each operand stands once in the SQL, so that calls within calls do not multiply."""
        return isinstance(self.duckdb, str) and max(self.duckdb.count(f"{{{i}}}") for i in range(9)) <= 1

    def may_be_null(self, operands: Sequence[bool]) -> bool:
        """Whether the result may be NULL, where this is known of the operands."""
        if self.partial or self.tolerant:
            return True
        return any(operands) if self.strict else self.nullable

    def sql(self, operands: Sequence[str], types: Sequence[Type]) -> str:
        """DuckDB's SQL over operands in SQL, NULL where DuckDB would fail."""
        text = self.duckdb.format(*operands) if isinstance(self.duckdb, str) else self.duckdb(operands, types)
        return f"TRY({text})" if self.partial or self.tolerant else text


FUNCTIONS: dict[str, Function] = {}
"""The functions by their names in Spark."""


def call(name: str, *operands: exp.Expression) -> exp.Expression:
    """A call of a function."""
    return exp.Anonymous(this=PREFIX + name.upper(), expressions=[operand.copy() for operand in operands])


def is_call(expression: exp.Expression) -> bool:
    """Whether the node calls a function of the table."""
    return isinstance(expression, exp.Anonymous) and expression.name.startswith(PREFIX)


def function_of(expression: exp.Expression) -> Function:
    """The function that a call calls; KeyError where there is none."""
    return FUNCTIONS[expression.name.removeprefix(PREFIX).lower()]
