"""Flatmap: several rows for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.expressions import columns_of, show, type_of
from deltic.circuit.generators import GENERATORS
from deltic.circuit.operators.base import Operator
from deltic.values.types import Column, Schema
from deltic.values.words import word


@dataclass(frozen=True)
class FlatMap(Operator):
    """Each row once for every value that a generator yields for it, in a new last column [DBSP §8.1.4, §11.2.5].

    Linear: a value that is yielded twice counts twice. `generator` is one of `deltic.circuit.generators`.
    """

    keyword: ClassVar[str] = "flat_map"
    column: str
    generator: str
    expressions: tuple[exp.Expression, ...]

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        if self.generator not in GENERATORS:
            self.refuse(f"there is no generator {self.generator}; there are {', '.join(GENERATORS)}", inputs)
        for expression in self.expressions:
            for name in columns_of(expression):
                if name not in source.schema.names:
                    self.refuse(f"column {name} of {show(expression)} is not in its input", inputs)
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
