"""The rows of records that have a pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.values.types import Column
from deltic_ddlog import core
from deltic_ddlog import types as t
from deltic_ddlog.lowering.code import Compiled, RowRecord, VariableBinding
from deltic_ddlog.lowering.columns import Form
from deltic_ddlog.lowering.expressions import Expressions

Tree = exp.Expression
Found = Mapping[str, tuple[VariableBinding, list[Tree]]]
"""The variables that rows say something of: where their values are to be, and what is to be there."""


def selected(
    builder: CircuitBuilder, source: int, form: Form, pattern: core.Pattern, expressions: Expressions
) -> tuple[int, Found]:
    """The rows of records that have a pattern, and what they say of its variables."""
    columns = builder.type_of(source).schema.columns
    conditions: list[Tree] = []
    result: dict[str, tuple[VariableBinding, list[Tree]]] = {}
    while isinstance(pattern, core.As):
        result[pattern.name] = _whole(pattern.name, pattern.type, form, columns, expressions.of)
        pattern = pattern.pattern
    if isinstance(pattern, core.Bind):
        result[pattern.name] = _whole(pattern.name, pattern.type, form, columns, expressions.of)
    elif isinstance(pattern, core.Equal):
        row = form.row(expressions.constant(pattern.expression))
        pairs = zip(columns, row, strict=True)
        conditions = [exp.EQ(this=column(c.name), expression=literal(value, c.type)) for c, value in pairs]
    elif not isinstance(pattern, core.Anything):
        assert isinstance(pattern, core.StructPattern)
        parts = (pattern,) if form.constructor is None else pattern.parts
        for part, type_, each in zip(parts, form.types, columns, strict=True):
            more, variables = expressions.match(part, expressions.of.binding(each.name, type_), {})
            conditions += more
            for name, (part_type, tree) in variables.items():
                assert isinstance(tree, Tree)  # relations have no others
                result[name] = (expressions.of.binding(name, part_type), [tree])
    return builder.add(ops.Filter(every(conditions)), source) if conditions else source, result


def _whole(
    name: str, type_: t.DdlogType, form: Form, columns: Sequence[Column], of: Compiled
) -> tuple[VariableBinding, list[Tree]]:
    """A variable for whole records."""
    trees: list[Tree] = [column(each.name) for each in columns]
    if form.constructor is None:
        return of.binding(name, type_), trees
    own = tuple(replace(each, name=f"{name}.{each.name}") for each in columns)
    return VariableBinding(type_, own, RowRecord(of, form.record), is_one=False), trees


def every(conditions: Sequence[Tree]) -> Tree:
    """That all conditions hold."""
    return reduce(lambda left, right: exp.And(this=left, expression=right), conditions)
