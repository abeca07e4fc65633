"""Expressions over whole columns: the closed core by numpy, functions by DuckDB over Arrow.

A column's values are numpy arrays as `numbers.natural` has them; the second array of a result marks its NULLs, whatever
the first has there; None means that there are none. Here is what computes operands, for all rows or those that need
them; what is made of these is in `strict` and `with_nulls`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sqlglot import exp

from deltic.circuit.expressions import (
    Bound,
    Checked,
    Fold,
    HigherOrder,
    Let,
    column,
    columns_of,
    element_type,
    is_checked,
    is_function,
    is_literal,
    key_of,
    operands_of,
    read_of,
    type_of,
    type_over,
)
from deltic.circuit.expressions.checks import undefined as undefined_error
from deltic.circuit.expressions.duckdb import computed
from deltic.circuit.expressions.meaning import meaning
from deltic.depth import deep
from deltic.engine.local.operators import elements, numbers
from deltic.engine.local.operators.numbers import Array, Result, stored
from deltic.engine.local.operators.remembered import Remembered
from deltic.engine.local.operators.results import any_null, as_result, of_arrow, overwritten, where_defined
from deltic.engine.local.operators.strict import apply
from deltic.engine.local.operators.with_nulls import WITH_NULLS
from deltic.engine.local.storage.codec import decode, encode
from deltic.engine.local.storage.interner import Interner, is_interned
from deltic.engine.local.storage.layout import Column
from deltic.functions import function_of, is_call
from deltic.values import from_arrow, to_arrow
from deltic.values.types import Type


@dataclass(frozen=True)
class Undefined:
    """A checked operation that has no value for a row: the row's position, and the values of what it reads."""

    expression: Checked
    position: int
    row: Mapping[str, Any]


@dataclass(frozen=True)
class Columns:
    """The columns that expressions read: int64 values as relations hold them, by name, with their types.

    Checked operations add what is undefined to `undefined`, and are NULL there; without such a list they raise an
    EvaluationError. With one, `positions` are those of the rows in the columns that these were taken from.
    """

    values: Mapping[str, Column]
    types: Mapping[str, Type]
    count: int
    interner: Interner
    undefined: list[Undefined] | None = None
    positions: Array = field(default_factory=lambda: np.empty(0, np.int64))
    nodes: dict[int, Node] = field(default_factory=dict)
    """What is known of operations whatever the rows are, by their identities; for columns of the same types."""
    known: dict[exp.Expression, Result] = field(default_factory=dict, init=False)
    """The values of functions on these rows, each of which is computed once wherever it stands."""

    def where(self, mask: Array) -> Columns:
        """The rows where the mask is."""
        values = {name: (v[mask], None if nulls is None else nulls[mask]) for name, (v, nulls) in self.values.items()}
        positions = self.positions[mask] if self.undefined is not None else self.positions
        return replace(self, values=values, count=int(mask.sum()), positions=positions)

    def within(self, parents: Array, body: exp.Expression, elements: Mapping[str, tuple[Column, Type]]) -> Columns:
        """What a body reads: the columns of the row of each element, those rows being `parents`, and the elements."""
        read = [*columns_of(body), *(node.row_key for node in body.find_all(Bound) if node.row_key in self.values)]
        values = {name: _taken(self.values[name], parents) for name in read}
        types = {**self.types, **{key: type_ for key, (_, type_) in elements.items()}}
        values |= {key: column for key, (column, _) in elements.items()}
        positions = self.positions[parents] if self.undefined is not None else self.positions
        return replace(self, values=values, types=types, count=len(parents), positions=positions)

    def with_column(self, name: str, column: Column) -> Columns:
        """These columns and one more."""
        return replace(self, values={**self.values, name: column})

    def node(self, expression: exp.Expression) -> Node:
        """What is known of an operation."""
        return _node(expression, self.types, self.interner, self.nodes)

    def evaluate(self, expression: exp.Expression) -> Result:
        """The values of an expression on all rows, and where it is NULL."""
        return evaluate(expression, self)

    def row(self, index: int, expression: exp.Expression) -> dict[str, Any]:
        """The values that an expression reads in one row, as they stand in rows."""
        found = {}
        for name in [*columns_of(expression), *(node.row_key for node in expression.find_all(Bound))]:
            if name not in self.values:
                continue
            (values, nulls), type_ = self.values[name], self.types[name]
            there = None if nulls is None else nulls[index : index + 1]
            column = decode(values[index : index + 1], there, type_, self.interner)
            found[name] = from_arrow(column, type_)[0]
        return read_of(expression, found)


class Node:
    """An operation on columns of these types: what there is to know of it whatever the rows are, once it is asked."""

    def __init__(
        self, expression: exp.Expression, names: Mapping[str, Type], interner: Interner, nodes: dict[int, Node]
    ) -> None:
        self.expression, self._names, self._interner, self._nodes = expression, names, interner, nodes
        self.kind: type[exp.Expression] = type(expression)

    @cached_property
    def operands(self) -> list[exp.Expression]:
        """What it applies to."""
        return operands_of(self.expression)

    @cached_property
    def types(self) -> list[Type]:
        """The types of what it applies to."""
        return [_node(operand, self._names, self._interner, self._nodes).result for operand in self.operands]

    @cached_property
    def result(self) -> Type:
        """The type of its values."""
        if isinstance(self.expression, exp.Column):
            return self._names[self.expression.name]
        return type_over(self.expression, self.types)

    @cached_property
    def is_checked(self) -> bool:
        """Whether it may be an error."""
        return is_checked(self.expression)

    @cached_property
    def is_function(self) -> bool:
        """Whether it is worth remembering, for it is a function."""
        return is_call(self.expression) or is_function(self.expression) or isinstance(self.expression, HigherOrder)

    @cached_property
    def of_one(self) -> tuple[exp.Expression, exp.Expression, Type] | None:
        """The innermost operand, of few values, of functions of one each, the functions of a column `a`, its type."""
        innermost, inside = None, (call := self.expression.copy())
        while is_call(inside) and function_of(inside).strict:
            operands = [operand for operand in operands_of(inside) if not is_literal(operand)]
            if len(operands) != 1:
                break
            (inside,) = operands
            innermost = inside if _has_few_values(type_of(inside, self._names)) else innermost
        if innermost is None:
            return None
        operand = innermost.copy()
        innermost.replace(column("a"))
        return operand, call, type_of(operand, self._names)

    @cached_property
    def listed(self) -> Array:
        """The constants of IN, sorted."""
        (type_,) = self.types
        values = [meaning(constant, {})({}) for constant in self.expression.expressions]
        return np.unique(of_arrow(to_arrow(values, type_), type_, self._interner)[0])

    @cached_property
    def remembered(self) -> Remembered:
        """The values of functions of one operand so far."""
        return Remembered()

    @cached_property
    def constant(self) -> Array | None:
        """The one value of a constant."""
        return _constant(self, Columns({}, {}, 1, self._interner)) if is_literal(self.expression) else None


def _node(expression: exp.Expression, names: Mapping[str, Type], interner: Interner, nodes: dict[int, Node]) -> Node:
    found = nodes.get(id(expression))
    if found is None:
        found = nodes[id(expression)] = Node(expression, names, interner, nodes)
    return found


@deep
def evaluate(expression: exp.Expression, columns: Columns) -> Result:
    """The values of an expression on all rows, and where it is NULL."""
    if isinstance(expression, exp.Column | Bound):
        key = key_of(expression)
        return as_result(*columns.values[key], columns.types[key], columns.interner)
    node = columns.node(expression)
    if node.constant is not None:
        return np.repeat(node.constant, columns.count), None
    if not node.is_function:
        return _computed(node, columns)
    if expression not in columns.known:
        columns.known[expression] = _computed(node, columns)
    return columns.known[expression]


def held(expression: exp.Expression, columns: Columns) -> Column:
    """The values of an expression as relations hold them, and where it is NULL."""
    if isinstance(expression, exp.Column | Bound):
        return columns.values[key_of(expression)]
    array, nulls = evaluate(expression, columns)
    return stored(array, columns.node(expression).result, columns.interner), nulls


def _computed(node: Node, columns: Columns) -> Result:
    """The values of an operation."""
    expression = node.expression
    if node.kind in WITH_NULLS:
        return WITH_NULLS[node.kind](node, columns)
    if is_call(expression):
        return _called(node, columns)
    if isinstance(expression, Let):
        return _let(expression, columns)
    if isinstance(expression, HigherOrder):
        return _over_elements(expression, columns)
    results = [evaluate(operand, columns) for operand in node.operands]
    if isinstance(expression, Checked):
        return _checked(expression, results[0], columns)
    if not results:
        return np.zeros(columns.count, numbers.dtype_of(node.result)), np.ones(columns.count, bool)
    with np.errstate(all="ignore"):
        return where_defined(
            any_null(*(nulls for _, nulls in results)),
            [array for array, _ in results],
            lambda *arrays: apply(node, list(arrays), columns.interner),
        )


def keep(conditions: tuple[exp.Expression, ...], columns: Columns) -> Array:
    """Where all conditions are true: bool[n]. One that may be an error is not computed where another is not true."""
    mask = np.ones(columns.count, bool)
    for condition in sorted(conditions, key=lambda c: columns.node(c).is_checked):
        if columns.node(condition).is_checked:
            mask[mask] = _holds(condition, columns.where(mask))
        else:
            mask &= _holds(condition, columns)
    return mask


def _holds(condition: exp.Expression, columns: Columns) -> Array:
    values, nulls = evaluate(condition, columns)
    return values if nulls is None else values & ~nulls


def _constant(node: Node, columns: Columns) -> Array:
    """The value of a constant, on columns of one row."""
    expression = node.expression
    if isinstance(expression, exp.Boolean):
        return np.array([bool(expression.this)])
    if isinstance(expression, exp.Interval):
        return np.array([int(expression.this.this)], np.int64)
    if isinstance(expression, exp.TryCast) or expression.is_string:
        found = to_arrow([meaning(expression, {})({})], node.result)
        return of_arrow(found, node.result, columns.interner)[0]
    if not isinstance(expression, exp.Literal):
        return _computed(node, columns)[0]
    if expression.is_int:
        return np.array([int(expression.this) % (1 << 64)], np.uint64).view(np.int64)
    return np.array([float(expression.this)])


# Functions over the elements of arrays: the body is computed of all elements at once, or of all those at one place.


def _let(expression: Let, columns: Columns) -> Result:
    """The body, of columns with one more: the value that its name stands for."""
    (value,), (key,) = expression.given, expression.keys
    type_ = columns.node(value).result
    values, types = {**columns.values, key: held(value, columns)}, {**columns.types, key: type_}
    return evaluate(expression.body, replace(columns, values=values, types=types))


def _over_elements(expression: HigherOrder, columns: Columns) -> Result:
    arrays = expression.given[1:] if isinstance(expression, Fold) else expression.given
    nulls = any_null(*(evaluate(array, columns)[1] for array in arrays))
    there = columns if nulls is None else columns.where(~nulls)
    lists = [_arrow(array, there) for array in arrays]
    found, own = (
        _folded(expression, lists[0], there) if isinstance(expression, Fold) else _mapped(expression, lists, there)
    )
    if nulls is None:
        return found, own
    return overwritten(~nulls, (found, own), np.zeros(columns.count, found.dtype), nulls.copy())


def _mapped(expression: HigherOrder, arrays: Sequence[Any], columns: Columns) -> Result:
    lengths = elements.lengths_of(arrays[0])
    given = {}
    for key, array, node in zip(expression.keys, arrays, expression.given, strict=True):
        type_ = element_type(type_of(node, columns.types))
        given[key] = encode(array.flatten().cast(type_.arrow), type_, columns.interner), type_
    inside = columns.within(elements.parents_of(lengths), expression.body, given)
    result = type_of(expression, columns.types)
    made = elements.arrays_of(_arrow(expression.body, inside), lengths, result)
    return of_arrow(made, result, columns.interner)


def _folded(expression: HigherOrder, arrays: Any, columns: Columns) -> Result:
    start, array = expression.given
    type_, of_elements = type_of(start, columns.types), element_type(type_of(array, columns.types))
    (held_values, held_nulls), lengths = held(start, columns), elements.lengths_of(arrays)
    values, nulls = held_values.copy(), np.zeros(columns.count, bool) if held_nulls is None else held_nulls.copy()
    last, element = expression.keys
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        own = encode(elements.at(arrays, rows, place).cast(of_elements.arrow), of_elements, columns.interner)
        given = {last: ((values[rows], nulls[rows]), type_), element: (own, of_elements)}
        found, undefined = held(expression.body, columns.within(rows, expression.body, given))
        values[rows], nulls[rows] = found, False if undefined is None else undefined
    return as_result(values, nulls, type_, columns.interner)


def _taken(column: Column, rows: Array) -> Column:
    values, nulls = column
    return values[rows], None if nulls is None else nulls[rows]


def _checked(expression: Checked, result: Result, columns: Columns) -> Result:
    """The result of an operation, which must be defined where its operands are."""
    nulls = result[1]
    if nulls is None or not nulls.any():
        return result
    there = columns.where(nulls)
    operands = [evaluate(operand, there)[1] for operand in operands_of(expression.this)]
    undefined = np.ones(there.count, bool)
    for absent in operands:
        undefined &= True if absent is None else ~absent
    for index in np.flatnonzero(undefined).tolist():
        row = there.row(index, expression)
        if columns.undefined is None:
            raise undefined_error(expression, row)
        columns.undefined.append(Undefined(expression, int(there.positions[index]), row))
    return result


# Functions of Spark.


def _has_few_values(type_: Type) -> bool:
    """Whether columns of the type have the same values again and again, which stand as whole numbers."""
    return is_interned(type_) or type_ is Type.DATE


def _called(node: Node, columns: Columns) -> Result:
    """The calls that DuckDB computes within one another as one query; the others by vectors or row by row."""
    if (vector := function_of(node.expression).vector) is not None:
        results = [evaluate(operand, columns) for operand in node.operands]
        return where_defined(any_null(*(nulls for _, nulls in results)), [array for array, _ in results], vector)
    if node.of_one is None:
        return _of_all(node.expression, columns)
    operand, call, type_ = node.of_one
    ids, nulls = evaluate(operand, columns)

    def compute(wanted: Array) -> Result:
        return _of_all(call, Columns({"a": (wanted, None)}, {"a": type_}, len(wanted), columns.interner))

    return where_defined(nulls, [ids], lambda there: node.remembered.of(there, compute))


def _by_columns(compute: Callable[..., Any], expression: exp.Expression, columns: Columns) -> Result | None:
    """A function of Arrow columns, a strict one of the rows where no operand is NULL; None where it fails for one."""
    operands, is_strict = operands_of(expression), function_of(expression).strict
    nulls = any_null(*(evaluate(operand, columns)[1] for operand in operands)) if is_strict else None
    there = columns if nulls is None else columns.where(~nulls)
    result = type_of(expression, columns.types)
    found = compute([_arrow(operand, there) for operand in operands], there.count)
    if found is None:
        return None
    values, own = of_arrow(found.cast(result.arrow), result, columns.interner)
    return where_defined(nulls, [np.arange(columns.count)], lambda _: (values, own))


def _of_all(expression: exp.Expression, columns: Columns) -> Result:
    function = function_of(expression)
    if function.columns is not None and (found := _by_columns(function.columns, expression, columns)) is not None:
        return found
    if function.python is not None:
        return _one_by_one(expression, columns)
    arguments: list[exp.Expression] = []
    call = _with_arguments(expression, arguments)
    operands = [_arrow(argument, columns) for argument in arguments]
    types = [type_of(argument, columns.types) for argument in arguments]
    result = type_of(expression, columns.types)
    if not operands:
        operands, types = [to_arrow([0] * columns.count, Type.INT64)], [Type.INT64]
    return of_arrow(computed(call, operands, types, result), result, columns.interner)


def _is_by_duckdb(expression: exp.Expression) -> bool:
    """Whether DuckDB computes the function for all operands."""
    return is_call(expression) and not function_of(expression).python


def _with_arguments(node: exp.Expression, arguments: list[exp.Expression]) -> exp.Expression:
    """The calls with columns a0, a1, … for what is no such call and no literal, which `arguments` gets."""
    copy = node.copy()
    for operand, new in zip(operands_of(node), operands_of(copy), strict=True):
        if _is_by_duckdb(operand) and function_of(node).reads_once:
            new.replace(_with_arguments(operand, arguments))
        elif not is_literal(operand):
            if operand not in arguments:
                arguments.append(operand)
            new.replace(column(f"a{arguments.index(operand)}"))
    return copy


def _one_by_one(expression: exp.Expression, columns: Columns) -> Result:
    """A function by its definition, once for all rows with equal operands."""
    function, operands = function_of(expression), operands_of(expression)
    assert function.python is not None
    compute, result = function.python, type_of(expression, columns.types)
    there, which = _distinct([operand for operand in operands if not is_literal(operand)], columns)
    rows = zip(*(_rows(operand, there) for operand in operands), strict=True) if operands else [()] * there.count
    found = (None if function.strict and None in row else compute(*row) for row in rows)
    values, nulls = of_arrow(to_arrow(found, result), result, columns.interner)
    return (values, nulls) if which is None else (values[which], None if nulls is None else nulls[which])


_FEW = 16


def _distinct(operands: Sequence[exp.Expression], columns: Columns) -> tuple[Columns, Array | None]:
    """A row for each combination of the operands' values, and for each row which one it is; None for itself."""
    if columns.count <= _FEW:
        return columns, None
    codes = np.zeros(columns.count, np.int64)
    for operand in operands:
        values, nulls = held(operand, columns)
        _, own = np.unique(values, return_inverse=True)
        own = own if nulls is None else np.where(nulls, own.max() + 1, own)
        _, codes = np.unique(codes * (own.max() + 1) + own, return_inverse=True)
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    if len(first) == columns.count:
        return columns, None
    chosen = np.zeros(columns.count, bool)
    chosen[first] = True
    return columns.where(chosen), (np.cumsum(chosen) - 1)[first][which]


def _rows(expression: exp.Expression, columns: Columns) -> Sequence[Any]:
    """The values of an expression as they stand in rows."""
    if is_literal(expression):
        return [meaning(expression, {})({})] * columns.count
    return from_arrow(_arrow(expression, columns), type_of(expression, columns.types))


def _arrow(expression: exp.Expression, columns: Columns) -> Any:
    """The values of an expression as an Arrow column, with NULLs."""
    array, nulls = evaluate(expression, columns)
    type_ = type_of(expression, columns.types)
    return decode(stored(array, type_, columns.interner), nulls, type_, columns.interner)
