"""The circuit under construction: names for its columns, and the operators that queries are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, conjunction, is_not_null, literal, null
from deltic.circuit.graph import CircuitBuilder
from deltic.sql.queries.words import WordsBuilder
from deltic.values.types import Column, Schema, Type


class Nodes:
    """A circuit to which nodes are added; every column in it that is not shared on purpose has a name of its own.

    In the body of a recursion `outside` is the circuit around it, and `inputs` are the nodes of that which it imports:
    as bags where it `counts` rows, else as sets.
    """

    def __init__(self, outside: Nodes | None = None, counts: bool = False) -> None:
        self.outside, self._counts = outside, counts
        self.builder: CircuitBuilder = CircuitBuilder(0 if outside is None else outside.builder.depth + 1)
        self.inputs: list[int] = []
        self.words: WordsBuilder = WordsBuilder() if outside is None else outside.words
        self._taken: dict[str, int] = {} if outside is None else outside._taken

    def fresh(self, name: str) -> str:
        """Return a fresh column name, derived from this one."""
        result, number = name, 1
        while result.lower() in self._taken:
            number = max(number, self._taken[name.lower()]) + 1
            result = f"{name}_{number}"
        self._taken[name.lower()] = number
        self._taken.setdefault(result.lower(), 1)
        return result

    def schema(self, node: int) -> Schema:
        """Return the columns of a node."""
        return self.builder.type_of(node).schema

    def column(self, node: int, name: str) -> Column:
        """Return a column of a node."""
        return self.schema(node).column(name)

    def bring(self, node: int, home: Nodes) -> int:
        """Return what a node of the circuit `home`, this one or one around it, carries."""
        if home is self:
            return node
        assert self.outside is not None
        number = self.outside.bring(node, home)
        number = number if self._counts else self.outside.distinct(number)
        if number not in self.inputs:
            self.inputs.append(number)
        return self.builder.add(ops.Import(self.inputs.index(number), self.outside.builder.type_of(number)))

    def constant(self, schema: Schema, rows: Sequence[tuple[object, ...]]) -> int:
        """Return a node with these rows."""
        if self.outside is not None:
            return self.bring(self.outside.constant(schema, rows), self.outside)
        return self.builder.add(ops.Constant(schema, tuple(rows)))

    def unit(self) -> int:
        """Return the relation of one row without columns."""
        return self.constant(Schema(()), [()])

    def compute(self, node: int, columns: Sequence[Column], values: Sequence[exp.Expression]) -> int:
        """Compute columns; the node itself where it has just these."""
        if self.schema(node).columns == tuple(columns) and all(
            isinstance(v, exp.Column) and v.name == c.name for v, c in zip(values, columns, strict=True)
        ):
            return node
        return self.builder.add(ops.Map(tuple(columns), tuple(values)), node)

    def extend(self, node: int, columns: Sequence[Column], values: Sequence[exp.Expression]) -> int:
        """Add computed columns."""
        there = self.schema(node).columns
        return self.compute(node, (*there, *columns), (*(column(c.name) for c in there), *values))

    def keep(self, node: int, names: Sequence[str]) -> int:
        """Keep only these columns."""
        return self.compute(node, [self.column(node, name) for name in names], [column(name) for name in names])

    def rename(self, node: int, names: Mapping[str, str]) -> int:
        """Rename columns."""
        columns = self.schema(node).columns
        renamed = [replace(c, name=names.get(c.name, c.name)) for c in columns]
        return self.compute(node, renamed, [column(c.name) for c in columns])

    def drop_null(self, node: int, names: Sequence[str]) -> int:
        """Drop rows with NULL in these columns, which are not nullable then."""
        nullable = [name for name in names if self.column(node, name).nullable]
        if not nullable:
            return node
        kept = self.filter(node, conjunction([is_not_null(column(name)) for name in nullable]))
        columns = [replace(c, nullable=c.nullable and c.name not in nullable) for c in self.schema(node)]
        return self.builder.add(ops.Map(tuple(columns), tuple(column(c.name) for c in columns), partial=True), kept)

    def pad(self, node: int, columns: Sequence[Column]) -> int:
        """Return the node's columns, and these, NULL in every row; in the order of `columns` where it has one of
        them.
        """
        there = {c.name: c for c in self.schema(node)}
        missing = [replace(c, nullable=True) for c in columns if c.name not in there]
        return self.extend(node, missing, [null(c.type) for c in missing])

    def filter(self, node: int, predicate: exp.Expression) -> int:
        """Return the rows for which the predicate is true."""
        return self.builder.add(ops.Filter(predicate), node)

    def join(self, *nodes: int) -> int:
        """Return the natural join."""
        return nodes[0] if len(nodes) == 1 else self.builder.add(ops.Join(), *nodes)

    def distinct(self, node: int) -> int:
        """Return the rows once each."""
        return self.builder.distinct(node)

    def semijoin(self, node: int, matches: int) -> int:
        """Return the rows of a node that agree with a row of the set `matches`, whose columns it has."""
        return self.builder.add(ops.Join(), node, self.distinct(matches))

    def antijoin(self, node: int, matches: int) -> int:
        """Return the rows of a node that agree with no row of `matches`, whose columns it has."""
        return self.builder.add(ops.Antijoin(), node, self.distinct(matches))

    def plus(self, *nodes: int) -> int:
        """Return the sum of nodes with columns of the same names and types, nullable where one of them is."""
        if len(nodes) == 1:
            return nodes[0]
        names = self.schema(nodes[0]).names
        nullable = {name for node in nodes for name in names if self.column(node, name).nullable}
        columns = [replace(c, nullable=c.name in nullable) for c in self.schema(nodes[0])]
        return self.builder.add(
            ops.Plus(), *(self.compute(n, columns, [column(c.name) for c in columns]) for n in nodes)
        )

    def negate(self, node: int) -> int:
        """Return the rows with opposite weights."""
        return self.builder.add(ops.Negate(), node)


def true() -> exp.Expression:
    """Return the literal TRUE."""
    return literal(True, Type.BOOLEAN)
