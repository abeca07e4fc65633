"""Linking: the program of all relations that its tables and views reach, in dependency order.

The order and the names depend only on the definitions and on the order of tables and views, not on the order in which
relations were created. So a program does not depend on what was compiled before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deltic.circuit import operators as ops
from deltic.program.definitions import Table
from deltic.program.naming import NamingFacts, named
from deltic.program.program import Program, Stratum
from deltic.program.scope import DraftRelation, ProgramBuilder


@dataclass
class LinkedProgram:
    """The parts of a program: the numbers of relations of its tables and views, and those with a wanted name.

    `remembering` lists relations that are included for their state of past epochs, whether read or not.
    """

    tables: dict[str, str] = field(default_factory=dict)
    sinks: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, str] = field(default_factory=dict)
    remembering: list[str] = field(default_factory=list)

    def enter(self, operator: ops.Source | ops.Sink | ops.Keep, relation: str) -> None:
        """Enter the relation of a table, of a view, or of a node that is kept."""
        match operator:
            case ops.Source(name=name):
                self.tables[name] = relation
            case ops.Sink(name=name):
                self.sinks[name] = relation
            case ops.Keep(name=name):
                self.wanted.setdefault(relation, name)


def link(drafts: ProgramBuilder, linked: LinkedProgram, known: NamingFacts) -> Program:
    """Build the program of the tables and views."""
    strata = _reached(drafts, [*linked.tables.values(), *linked.sinks.values(), *linked.remembering], known)
    wanted = {number: name for name, number in sorted(linked.sinks.items(), reverse=True)}
    for number, name in linked.wanted.items():
        wanted.setdefault(number, name)
    numbers = [number for stratum in strata for number in stratum.relations]
    relations = {number: _wanting(drafts.relations[number], wanted.get(number, ""), linked.sinks) for number in numbers}
    rules = {number: drafts.rules[number] for number in numbers if number in drafts.rules}
    return named(ProgramBuilder(relations, rules=rules), strata, linked.tables, linked.sinks, known)


def _wanting(draft: DraftRelation, wanted: str, sinks: Mapping[str, str]) -> DraftRelation:
    """The draft with its wanted name: its own, or that of a view; a table of a view's name is renamed."""
    if isinstance(draft.definition, Table):
        return replace(draft, wanted=f"{draft.wanted}.in") if draft.wanted in sinks else draft
    return replace(draft, wanted=wanted) if wanted and not draft.wanted else draft


def _reached(drafts: ProgramBuilder, roots: Sequence[str], known: NamingFacts) -> list[Stratum]:
    """The strata that the roots are computed from, each after those that it reads."""
    result = dict[int, Stratum]()
    seen = set[int]()
    pending: list[tuple[Stratum, Iterator[str]]] = []

    def enter(number: str) -> None:
        stratum = drafts.strata[number]
        if id(stratum) not in seen:
            seen.add(id(stratum))
            pending.append((stratum, (read for own in stratum.relations for read in known.reads(drafts, own))))

    for root in roots:
        enter(root)
        while pending:
            stratum, reads = pending[-1]
            if (read := next(reads, None)) is not None:
                enter(read)
            else:
                result[id(stratum)] = stratum
                pending.pop()
    return list(result.values())
