"""The columns that expressions read, and the static properties of operations on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sqlglot import exp

from deltic.circuit.expressions import (
    BoundElement,
    Checked,
    HigherOrder,
    column,
    columns_of,
    is_checked,
    is_literal,
    operands_of,
    put,
    read_of,
    type_over,
)
from deltic.circuit.expressions.duckdb import sql_of
from deltic.circuit.expressions.meaning import meaning
from deltic.engine.operators.numbers import Array, Result, of_arrow
from deltic.engine.operators.remembered import ValueCache
from deltic.engine.storage.codec import decode
from deltic.engine.storage.columns import Column
from deltic.engine.storage.interner import Interner, is_interned
from deltic.functions import function_of, is_call
from deltic.values import from_arrow, to_arrow
from deltic.values.types import Type


@dataclass(frozen=True)
class Undefined:
    """A checked operation without a value in a row: the row's position, and the values that it reads."""

    expression: Checked
    position: int
    row: Mapping[str, Any]


@dataclass(frozen=True)
class Columns:
    """The columns that expressions read: stored int64 values, by name, with their types.

    Checked operations append undefined rows to `undefined`, and return NULL there; without such a list they raise an
    EvaluationError. With one, `positions` are the positions of the rows in the original columns.
    """

    values: Mapping[str, Column]
    types: Mapping[str, Type]
    count: int
    interner: Interner
    undefined: list[Undefined] | None = None
    positions: Array = field(default_factory=lambda: np.empty(0, np.int64))
    nodes: dict[int, ColumnOperation] = field(default_factory=dict)
    """The properties of operations by their id(), for columns of the same types."""
    programs: dict[object, Any] | None = None
    """The programs of `programs`, by the id() of their expressions; without such a dict, numpy computes them."""
    remembers: bool = True
    """Whether values of functions of one operand are cached."""
    known: dict[exp.Expression, Result] = field(default_factory=dict, init=False)
    """The values of functions on these rows, so that each is computed once."""
    arrays: dict[exp.Expression, Any] = field(default_factory=dict, init=False)
    """The same as Arrow columns, for functions with composite values."""
    inner: dict[tuple[Type, bytes], Columns] = field(default_factory=dict, init=False)
    """Columns of single operands, by their types and values."""

    def where(self, mask: Array) -> Columns:
        """Return the rows where the mask is true."""
        if mask.all():
            return self
        values = {name: (v[mask], None if nulls is None else nulls[mask]) for name, (v, nulls) in self.values.items()}
        positions = self.positions[mask] if self.undefined is not None else self.positions
        return replace(self, values=values, count=int(mask.sum()), positions=positions)

    def within(self, parents: Array, body: exp.Expression, elements: Mapping[str, tuple[Column, Type]]) -> Columns:
        """Return the columns for a body: the elements, and for each element the columns of its row in `parents`."""
        read = [
            *columns_of(body),
            *(node.row_key for node in body.find_all(BoundElement) if node.row_key in self.values),
        ]
        values = {name: _taken(self.values[name], parents) for name in read}
        types = {**self.types, **{key: type_ for key, (_, type_) in elements.items()}}
        values |= {key: column for key, (column, _) in elements.items()}
        positions = self.positions[parents] if self.undefined is not None else self.positions
        return replace(self, values=values, types=types, count=len(parents), positions=positions)

    def node(self, expression: exp.Expression) -> ColumnOperation:
        """Return the static properties of an operation."""
        return _node(expression, self.types, self.interner, self.nodes)

    def of_one(self, of_one: CallOfOne, values: Array) -> Columns:
        """Return values of the operand of nested calls as the column `a`. Other calls of the same values share it, and
        with it the results of what they have in common.
        """
        key = of_one.type, values.tobytes()
        if key not in self.inner:
            given, types = {"a": (values, None)}, {"a": of_one.type}
            made = Columns(given, types, len(values), self.interner, nodes=of_one.nodes, remembers=False)
            self.inner[key] = made
        return self.inner[key]

    def row(self, index: int, expression: exp.Expression) -> dict[str, Any]:
        """Return the values that an expression reads in one row, as Python values."""
        result = {}
        for name in [*columns_of(expression), *(node.row_key for node in expression.find_all(BoundElement))]:
            if name not in self.values:
                continue
            (values, nulls), type_ = self.values[name], self.types[name]
            there = None if nulls is None else nulls[index : index + 1]
            column = decode(values[index : index + 1], there, type_, self.interner)
            result[name] = from_arrow(column, type_)[0]
        return read_of(expression, result)


@dataclass(frozen=True)
class CallOfOne:
    """Nested functions of one operand with few values: the innermost such operand, and the functions of a column `a`
    of its type.
    """

    operand: exp.Expression
    call: exp.Expression
    type: Type
    nodes: dict[int, ColumnOperation] = field(default_factory=dict)


class ColumnOperation:
    """The properties of an operation on columns of these types that do not depend on rows, computed at first use."""

    def __init__(
        self,
        expression: exp.Expression,
        names: Mapping[str, Type],
        interner: Interner,
        nodes: dict[int, ColumnOperation],
    ) -> None:
        self.expression, self._names, self._interner, self._nodes = expression, names, interner, nodes
        self.kind: type[exp.Expression] = type(expression)

    @cached_property
    def operands(self) -> list[exp.Expression]:
        """The operands of the operation."""
        return operands_of(self.expression)

    @cached_property
    def types(self) -> list[Type]:
        """The types of the operands."""
        return [self._type_of(operand) for operand in self.operands]

    def _type_of(self, operand: exp.Expression) -> Type:
        return _node(operand, self._names, self._interner, self._nodes).result

    @cached_property
    def result(self) -> Type:
        """The type of the result."""
        if isinstance(self.expression, exp.Column):
            return self._names[self.expression.name]
        return type_over(self.expression, self.types)

    @cached_property
    def is_checked(self) -> bool:
        """Return whether it may raise an error."""
        return is_checked(self.expression)

    @cached_property
    def is_function(self) -> bool:
        """Return whether its results are worth caching, because it is a function."""
        return is_call(self.expression) or isinstance(self.expression, exp.TryCast | HigherOrder)

    @cached_property
    def stops(self) -> bool:
        """Return whether the call must not compute later operands, which may raise errors, where an earlier one is
        NULL.
        """
        function = function_of(self.expression)
        return function.strict and not function.thorough and any(map(is_checked, self.operands[1:]))

    @cached_property
    def _by_duckdb(self) -> tuple[exp.Expression, list[exp.Expression]]:
        """The nested calls that DuckDB computes, of columns a0, a1, …, and the operands in these."""
        arguments: list[exp.Expression] = []
        return _with_arguments(self.expression, arguments), arguments

    @property
    def arguments(self) -> list[exp.Expression]:
        """The operands that DuckDB reads as columns a0, a1, …"""
        return self._by_duckdb[1]

    @cached_property
    def sql(self) -> str:
        """The SQL of DuckDB for nested calls of its `arguments`."""
        call, arguments = self._by_duckdb
        return sql_of(call, [self._type_of(argument) for argument in arguments], self.result)

    @cached_property
    def of_one(self) -> CallOfOne | None:
        """Return the nested functions of one operand with few values; None if there are none."""
        inside, copied = self.expression, (call := self.expression.copy())
        result: tuple[exp.Expression, exp.Expression] | None = None
        while is_call(inside) and function_of(inside).strict:
            pairs = zip(operands_of(inside), operands_of(copied), strict=True)
            operands = [pair for pair in pairs if not is_literal(pair[0])]
            if len(operands) != 1:
                break
            ((inside, copied),) = operands
            result = (inside, copied) if _has_few_values(self._type_of(inside)) else result
        if result is None:
            return None
        operand, place = result
        place.replace(column("a"))
        return CallOfOne(operand, call, self._type_of(operand))

    @cached_property
    def listed(self) -> Array:
        """The constants of IN, sorted."""
        (type_,) = self.types
        values = [meaning(constant, {})({}) for constant in self.expression.expressions]
        return np.unique(of_arrow(to_arrow(values, type_), type_, self._interner)[0])

    @cached_property
    def remembered(self) -> ValueCache:
        """The cached values of functions of one operand."""
        return ValueCache()

    @cached_property
    def constant(self) -> Array | None:
        """The value of a constant, as an array of length 1."""
        return _constant(self.expression, self.result, self._interner) if is_literal(self.expression) else None


def _node(
    expression: exp.Expression, names: Mapping[str, Type], interner: Interner, nodes: dict[int, ColumnOperation]
) -> ColumnOperation:
    result = nodes.get(id(expression))
    if result is None:
        result = nodes[id(expression)] = ColumnOperation(expression, names, interner, nodes)
    return result


def _with_arguments(node: exp.Expression, arguments: list[exp.Expression]) -> exp.Expression:
    """Return the calls with columns a0, a1, … in place of other operands, which are appended to `arguments`."""
    copy = node.copy()
    for operand, new in zip(operands_of(node), operands_of(copy), strict=True):
        if is_call(operand) and function_of(operand).duckdb and function_of(node).reads_once:
            put(new, _with_arguments(operand, arguments))
        elif not is_literal(operand):
            if operand not in arguments:
                arguments.append(operand)
            put(new, column(f"a{arguments.index(operand)}"))
    return copy


def _taken(column: Column, rows: Array) -> Column:
    values, nulls = column
    return values[rows], None if nulls is None else nulls[rows]


def _has_few_values(type_: Type) -> bool:
    """Return whether columns of the type usually have few distinct values, which are stored as integers."""
    return is_interned(type_) or type_ is Type.DATE


def _constant(literal: exp.Expression, type_: Type, interner: Interner) -> Array:
    """Return the value of a literal: an array of length 1."""
    return of_arrow(to_arrow([meaning(literal, {})({})], type_), type_, interner)[0]
