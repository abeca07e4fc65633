"""Programs: the relations that an engine keeps, the strata in which they change, and the queries that change them.

A *relation* is what an engine keeps: a table, a constant, a set with its derivation counts, a recursive
set with its iterations too, a bag, or an aggregate.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from deltic.circuit.types import Schema
from deltic.program.computed import Computed
from deltic.program.queries import Query


class Kind(enum.Enum):
    """What a relation keeps and how its changes come about."""

    TABLE = "table"
    CONSTANT = "constant"
    SET = "set"
    RECURSIVE = "recursive set"
    BAG = "bag"
    TRANSIENT = "rows that are passed on, kept for no epoch"
    AGGREGATE = "aggregate"


@dataclass(frozen=True)
class Relation:
    """A relation of the program; `rows` are those of a constant."""

    name: str
    kind: Kind
    schema: Schema
    rows: tuple[tuple[object, ...], ...] = ()


@dataclass(frozen=True)
class Stratum:
    """Relations that change together; more than one, or one with itself, when `recursive`."""

    relations: tuple[str, ...]
    recursive: bool


@dataclass(frozen=True)
class Grouping:
    """How an aggregate relation comes from relation `source`, whose first `keys` columns are the groups' keys.

    `calls` are functions, each with the column of the source that it reads, -1 for none.
    """

    source: str
    keys: int
    calls: tuple[tuple[str, int], ...]

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        """A line for each aggregate, with its state and cost; `names` are those of the aggregate relation's columns."""
        key = ", ".join(names[: self.keys]) or "nothing"
        for name, (function, _) in zip(names[self.keys :], self.calls, strict=True):
            state = "all values in order, and which one it is" if function in ("min", "max") else "a total"
            yield f"{name} = {function} of {self.source} by {key}: keeps {state}; looks at changed groups alone"


@dataclass
class Program:
    """All relations, in an order in which they can be brought up to date, and the queries that do it."""

    relations: dict[str, Relation] = field(default_factory=dict)
    strata: list[Stratum] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    sinks: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    groupings: dict[str, Grouping] = field(default_factory=dict)
    computed: dict[str, Computed] = field(default_factory=dict)
