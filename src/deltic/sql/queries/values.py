"""The values of a block's expressions; parts that are not scalars become columns first."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from deltic.circuit.expressions import columns_of
from deltic.sql import types
from deltic.sql.names import field_name
from deltic.sql.queries.rows import QueryRows, resolve
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.trees import replaced
from deltic.sql.scalars import Typed, settled, typed
from deltic.sql.text import span_of
from deltic.sql.variables import variable_of
from deltic.values.types import Column, Type


class BlockValues:
    """The present rows of a block and the values of expressions on them.

    Parts that are no scalars (subqueries, aggregates, windows) get columns first, and stand in expressions as
    placeholders. `rows` have all columns so far.
    """

    def __init__(self, rows: QueryRows, scope: QueryScope, placed: dict[str, Typed] | None = None) -> None:
        self._rows, self.scope = rows, scope
        self._placed = {} if placed is None else placed
        self._computed: dict[str, tuple[Column, exp.Expression]] = {}
        """Columns that the rows get when they are read next: one map for all of them, not a map for each."""

    @property
    def rows(self) -> QueryRows:
        """The rows with all columns so far."""
        self._add_computed()
        return self._rows

    @rows.setter
    def rows(self, rows: QueryRows) -> None:
        self._rows, self._computed = rows, {}

    def over(self, rows: QueryRows) -> BlockValues:
        """Return the same placeholders over other rows."""
        return BlockValues(rows, self.scope, self._placed)

    def typed(self, node: exp.Expression) -> Typed:
        """Return the value of a scalar expression. Raises ProgramError."""
        return typed(node, self.resolve, self.scope.source)

    def resolve(self, reference: exp.Column) -> Typed:
        """Return the value of a column or of a placeholder."""
        if reference.name in self._placed:
            return self._placed[reference.name]
        return resolve(reference, self._rows, self.scope.bindings, self.scope.source)

    def dotted(self, node: exp.Expression) -> exp.Expression:
        """Return an expression with access to fields written out: `s.f`, and `t.s.f` where s is a column of t."""
        return replaced(node, self._is_field, self._field)

    def _is_field(self, node: exp.Expression) -> bool:
        if not isinstance(node, exp.Column) or not node.table or self._finds(node):
            return False
        return self._owner(node) is not None

    def _owner(self, node: exp.Column) -> tuple[exp.Column, list[exp.Expr]] | None:
        """Return the column of which a reference names a field, and the names of the fields; a relation's name comes
        first.
        """
        relation, *parts = node.parts
        for owner, fields in (
            (exp.Column(this=parts[0], table=relation), parts[1:]),
            (exp.Column(this=relation), parts),
        ):
            if fields and self._finds(owner):
                return owner.copy(), fields
        return None

    def _field(self, node: exp.Expression) -> exp.Expression:
        assert isinstance(node, exp.Column)
        owner = self._owner(node)
        assert owner is not None
        result: exp.Expression = owner[0]
        for name in owner[1]:
            result = exp.Dot(this=result, expression=name.copy())
        return result

    def _finds(self, reference: exp.Column) -> bool:
        """Return whether there is a column that a reference means, here or around, or a variable."""
        bindings = self.scope.bindings
        is_column = bool(self._rows.find(reference) or (bindings and bindings.find(reference)))
        return is_column or variable_of(reference) is not None

    def place(self, node: exp.Expression, value: Typed, is_whole: bool = True) -> exp.Column:
        """Return the placeholder for a node of this value, or for a part of it; equal values share one."""
        if is_whole:
            self.scope.nodes.words.mean(value.expression, node, self.scope.source)
        name = next((n for n, placed in self._placed.items() if placed == value), f"\0{len(self._placed)}")
        self._placed[name] = value
        return self.defer(node, name)

    def settle(self, name: str, value: Typed) -> None:
        """Give a deferred placeholder its value."""
        self._placed[name] = value

    def is_placed(self, reference: exp.Column) -> bool:
        """Return whether a column is a placeholder."""
        return reference.name in self._placed

    def defer(self, node: exp.Expression, name: str) -> exp.Column:
        """Return a placeholder whose value `settle` gives later, under a name that no column has."""
        identifier = exp.Identifier(this=name)
        identifier.meta["field"] = field_name(node)
        if (span := span_of(node)) is not None:
            identifier.meta.update(start=span[0], end=span[1] - 1)
        return exp.Column(this=identifier)

    def predicate(self, node: exp.Expression, what: str) -> exp.Expression:
        """Return a condition. Raises ProgramError if it is not Boolean."""
        result = self.typed(node)
        if result.type.type is not Type.BOOLEAN:
            message = (
                f"{what} takes a condition, and {self.scope.source.written(node)} is {types.written(result.type.type)}"
            )
            raise self.scope.source.error(node, message)
        return settled(result).expression

    def refuse_null(self, condition: exp.Expression, what: str) -> None:
        """Raise ProgramError for a condition that is a bare NULL."""
        inner = condition.unnest()
        if isinstance(inner, exp.Null):
            raise self.scope.source.error(inner, f"{what} takes a condition, and NULL has no type", "write false")

    def filter(self, predicate: exp.Expression) -> None:
        """Keep the rows for which it is true."""
        self.rows = self.rows.over(self.scope.nodes.filter(self.rows.node, predicate))

    def column(self, value: Typed, name: str) -> Column:
        """Return a column of the rows that has this value; a new one, unless it is a column."""
        if isinstance(value.expression, exp.Column):
            return self._there(value.expression.name)
        return self.computed(value, name)

    def _there(self, name: str) -> Column:
        return self._computed[name][0] if name in self._computed else self.scope.nodes.column(self._rows.node, name)

    def _add_computed(self) -> None:
        if self._computed:
            columns, values = zip(*self._computed.values(), strict=True)
            self.rows = self._rows.over(self.scope.nodes.extend(self._rows.node, columns, values))

    def computed(self, value: Typed, name: str) -> Column:
        """Return a new column of the rows that has this value."""
        value = settled(value)
        column = Column(self.scope.nodes.fresh(name), value.type.type, value.type.nullable)
        if not self._computed.keys().isdisjoint(columns_of(value.expression)):
            self._add_computed()
        self._computed[column.name] = column, value.expression
        return column

    def keep(self, names: Collection[str]) -> None:
        """Drop columns that are neither named here nor read by a placeholder."""
        rows, nodes = self.rows, self.scope.nodes
        read = {name for value in self._placed.values() for name in columns_of(value.expression)}
        kept = tuple(a for a in rows.attributes if a.name.lower() in names or a.column.name in read)
        left_out = {a.column.name for a in rows.attributes} - {a.column.name for a in kept}
        if left_out:
            there = [name for name in nodes.schema(rows.node).names if name not in left_out]
            self.rows = QueryRows(nodes.keep(rows.node, there), kept)

    def go_on(self, node: int) -> None:
        """Continue with a node that extends the rows by columns."""
        self.rows = self.rows.over(node)
