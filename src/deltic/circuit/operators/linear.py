"""The linear operators: map, flatmap, filter, plus and negation of the group, an identity that engines materialize."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.expressions import columns_of, infer, show, type_of
from deltic.circuit.generators import GENERATORS
from deltic.circuit.operators.base import NamedOperator, Operator
from deltic.values.types import Column, Schema, Type
from deltic.values.words import word


class Map(Operator):
    """Project and compute: output column i is `expressions[i]`; weights of rows that become equal add up.

    A `partial` map drops the rows for which an expression is NULL while its column is not nullable: an undefined value
    derives nothing. Other maps keep every row, and an expression that may be NULL needs a nullable column.
    """

    columns: tuple[Column, ...]
    expressions: tuple[exp.Expression, ...]
    partial: bool = False

    @classmethod
    def of_defined(cls, columns: Sequence[Column], expressions: Sequence[exp.Expression], source: Schema) -> Map:
        """Return the map of those rows of `source` that have a value in each column that is not nullable.

        It is partial if some expression may be NULL.
        """
        pairs, types = zip(columns, expressions, strict=True), source.value_types
        partial = any(not c.nullable and infer(e, types).nullable for c, e in pairs)
        return cls(tuple(columns), tuple(expressions), partial)

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        types = source.schema.value_types
        for column, expression in zip(self.columns, self.expressions, strict=True):
            self.check_columns(columns_of(expression), inputs, f"of {show(expression)} ")
            result = infer(expression, types)
            if result.type is not column.type or (result.nullable and not (column.nullable or self.partial)):
                self.refuse(f"{show(expression)} is {result}, but column {column} is declared", inputs)
        kept = {e.name for e in self.expressions if isinstance(e, exp.Column)}
        injective = kept == set(source.schema.names)
        return ZSetType(Schema(self.columns), source.is_set and injective, source.depth)

    def arguments(self) -> str:
        pairs = zip(self.columns, self.expressions, strict=True)
        shown = [(word(c.name), show(e)) for c, e in pairs]
        written = ", ".join(name if text == name else f"{text} AS {name}" for name, text in shown)
        return f"[{written}]" + " partial" * self.partial


class Filter(Operator):
    """The rows for which the predicate is true (neither false nor NULL)."""

    predicate: exp.Expression

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        self.check_columns(columns_of(self.predicate), inputs)
        if (result := infer(self.predicate, source.schema.value_types)).type is not Type.BOOLEAN:
            self.refuse(f"the predicate must be Boolean, not {result}", inputs)
        return source

    def arguments(self) -> str:
        return f"[{show(self.predicate)}]"


class Plus(Operator):
    """The group's addition of one or more Z-sets of one schema; UNION ALL."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        zsets = self.zsets(inputs)
        if any(z.schema != zsets[0].schema for z in zsets):
            self.refuse("adds Z-sets of one schema", inputs)
        return ZSetType(zsets[0].schema, len(zsets) == 1 and zsets[0].is_set, zsets[0].depth)


class Negate(Operator):
    """The group's negation."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        return ZSetType(source.schema, False, source.depth)


class Keep(NamedOperator):
    """Its input, which engines materialize as a relation; it is called `name` unless that name is taken.

    With the name "" the relation is called after one that it reads. Without this operator a join, a map or a sum is
    computed within each query that reads it.
    """

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return self.zsets(inputs, 1)[0]


class FlatMap(Operator):
    """Each row once for every value that a generator yields for it, in a new last column [DBSP §8.1.4, §11.2.5].

    Linear: a value that is yielded twice counts twice. `generator` is one of `deltic.circuit.generators`.
    """

    column: str
    generator: str
    expressions: tuple[exp.Expression, ...]

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        if self.generator not in GENERATORS:
            self.refuse(f"there is no generator {self.generator}; there are {', '.join(GENERATORS)}", inputs)
        for expression in self.expressions:
            self.check_columns(columns_of(expression), inputs, f"of {show(expression)} ")
        generator, types = GENERATORS[self.generator], [type_of(e, source.schema.types) for e in self.expressions]
        if not generator.accepts(types):
            wanted = " or ".join("(" + ", ".join(str(t) for t in taken) + ")" for taken in generator.takes)
            self.refuse(f"{self.generator} takes {wanted}, not ({', '.join(str(t) for t in types)})", inputs)
        if self.column in source.schema.names:
            self.refuse(f"column {self.column} is in its input already; take another name", inputs)
        schema = Schema((*source.schema.columns, Column(self.column, generator.type)))
        return ZSetType(schema, source.is_set and generator.yields_sets, source.depth)

    def arguments(self) -> str:
        return f"[{self.generator}({', '.join(map(show, self.expressions))}) AS {word(self.column)}]"
