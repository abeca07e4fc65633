"""What a program has forgotten as of a version, and what cannot be computed because of that."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deltic import values
from deltic.engine.version import Version
from deltic.errors import UnsupportedError
from deltic.program.frontiers import Frontiers, shown, watermarks
from deltic.program.program import Program

Marks = Mapping[str, Any]
"""Watermarks by their relations, as values of the reference interpreter; None before the first one."""
NO_MARKS: Marks = {}


@dataclass(frozen=True)
class ForgottenRows:
    """What a program has forgotten by these watermarks."""

    program: Program
    frontiers: Frontiers
    marks: Marks

    @classmethod
    def of(cls, program: Program, frontiers: Frontiers, version: Version) -> ForgottenRows:
        """Return what a program has forgotten in the epoch after a version."""
        tables = {name: program.views_by_relation[name][0] for name in sorted(frontiers.watermarks)}
        return cls(program, frontiers, {name: _mark(program, table, version) for name, table in tables.items()})

    @cached_property
    def relations(self) -> Collection[str]:
        """The relations of which rows may have been forgotten."""
        return self.frontiers.rows if any(mark is not None for mark in self.marks.values()) else ()

    def tables(self, relations: Collection[str]) -> tuple[str, ...]:
        """Return the tables among some relations of which rows may have been forgotten."""
        return tuple(t for t, name in self.program.tables.items() if name in relations and name in self.relations)

    def partial(self, program: Program, kept: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return the views of another program that miss forgotten rows, with the tables of these rows.

        `kept` are the relations that the other program takes over, each with its name in this one.
        """
        lost = dict[str, tuple[str, ...]]()
        if not self.relations:
            return lost

        def lacking(name: str) -> tuple[str, ...]:
            if name not in kept:
                return lost.get(name, ())
            return self._timed(kept[name]) if kept[name] in self.relations else ()

        for stratum in program.strata:
            new = [name for name in stratum.relations if name not in kept]
            reads = [read for name in new for read in _reads(program, name)]
            lost |= dict.fromkeys(new, tuple(dict.fromkeys(table for read in reads for table in lacking(read))))
        return {view: tables for view, name in program.sinks.items() if (tables := lacking(name))}

    def refuse_partial(self, there: Collection[str]) -> None:
        """Raise UnsupportedError if a view that is not among these relations needs forgotten rows."""
        for view, tables in self.partial(self.program, {name: name for name in there}).items():
            raise UnsupportedError(
                f"view {view} is computed in another way than when the state was written, by another "
                f"Deltic or with another function, and rows of {', '.join(tables)} that it needs "
                "have been forgotten: open the state with what wrote it"
            )

    def _timed(self, relation: str) -> tuple[str, ...]:
        """Return the tables with watermarks that a relation is, or is computed from."""
        below, timed = self.program.below(relation), watermarks(self.program).values()
        return tuple(table for table in timed if self.program.tables[table] in below)

    def lines(self, relations: Collection[str]) -> Iterator[str]:
        """Yield the lines of `explain` about some relations: what is forgotten, and what is not, with the reason."""
        names = watermarks(self.program)
        for what, result in (("rows", self.frontiers.rows), ("groups", self.frontiers.groups)):
            for name in (n for n in result if n in relations):
                found = result[name]
                column = self.program.relations[name].schema.names[found.column]
                yield f"{name}: {what} are forgotten whose {column} is before {shown(found.frontier, names)}"
        for name, reason in self.frontiers.reasons.items():
            if name in relations:
                yield f"{name}: all rows are kept, for {reason}"


def _mark(program: Program, table: str, version: Version) -> Any:
    """Return the watermark in a table; None if it has no row."""
    (column,) = program.relations[program.tables[table]].schema
    return next(iter(values.from_arrow(version.read(table, table=True).column(0), column.type)), None)


def _reads(program: Program, name: str) -> list[str]:
    """Return the relations from which a relation is computed."""
    return [
        *program.relations[name].definition.sources,
        *(r for rule in program.rules_of(name) for r in rule.relations),
    ]
