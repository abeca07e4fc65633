"""Programs, which all engines run: relations, the rules that derive them, and the strata in which they are updated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from deltic.circuit.operators.fixpoint import RefreshPolicy
from deltic.program.definitions import Definition, Derived
from deltic.program.histories import BY_ITERATION, History, delay_of
from deltic.program.queries import Rule
from deltic.values.types import Schema


@dataclass(frozen=True)
class Relation:
    """A relation under a name that depends only on its definition, not on the rest of the program.

    `fingerprint` identifies its contents. It is a hash of the definition, the rules and the schema, and of the
    fingerprints of the relations that they read; for mutually recursive relations of all of them. Equal fingerprints
    mean equal contents.
    """

    name: str
    schema: Schema
    definition: Definition
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.definition} {self.name}{self.schema}"


@dataclass(frozen=True)
class Stratum:
    """Relations that are updated together; if `recursive`, several or one that reads itself.

    `refresh` is the recursion's own refresh policy, if it has one. A `signed` stratum has histories: its rows are
    inserted and deleted from iteration to iteration, and each relation follows those that it reads at its own
    iteration.
    """

    relations: tuple[str, ...]
    recursive: bool
    refresh: RefreshPolicy = ""
    signed: bool = False


@dataclass(frozen=True)
class Program:
    """All relations, the strata in an order in which they can be updated, and the rules for that.

    `sinks` are the relations of the views by the views' names, `tables` those of the sources.
    """

    relations: Mapping[str, Relation]
    strata: tuple[Stratum, ...]
    rules: tuple[Rule, ...]
    sinks: Mapping[str, str]
    tables: Mapping[str, str]

    @cached_property
    def recursive(self) -> frozenset[str]:
        """The relations of recursive strata."""
        return frozenset(name for stratum in self.strata if stratum.recursive for name in stratum.relations)

    @cached_property
    def histories(self) -> dict[frozenset[str], dict[str, str]]:
        """For the relations that close the cycles of each recursion, the relations with the iterations of their rows.

        Recursions with a priority order are left out, because their iterations are not those of the circuit.
        """
        result = {}
        for stratum in (stratum for stratum in self.strata if stratum.recursive):
            definitions = {name: self.relations[name].definition for name in stratum.relations}
            if not any(isinstance(each, History) and each.admission for each in definitions.values()):
                closing = (name for name, definition in definitions.items() if delay_of(definition))
                kept = {name.removesuffix(BY_ITERATION): name for name in closing}
                result[frozenset(kept)] = kept
        return result

    @cached_property
    def passed(self) -> frozenset[str]:
        """The sums of which only changes are read: rows that are passed on to a definition."""
        read = {name for rule in self.rules for name in rule.relations} | set(self.sinks.values())
        read |= {name for relation in self.relations.values() for name in relation.definition.contents}
        followed = {name for relation in self.relations.values() for name in relation.definition.sources}
        return frozenset(n for n in followed - read if self.relations[n].definition == Derived(distinct=False))

    def rules_of(self, name: str) -> tuple[Rule, ...]:
        """Return the rules that derive a relation."""
        return self._rules.get(name, ())

    @cached_property
    def _rules(self) -> dict[str, tuple[Rule, ...]]:
        rules: dict[str, tuple[Rule, ...]] = {}
        for rule in self.rules:
            rules[rule.head] = (*rules.get(rule.head, ()), rule)
        return rules

    def below(self, name: str) -> set[str]:
        """Return the relation and all relations that it is computed from."""
        reached: set[str] = set()
        pending = [name]
        while pending:
            if (name := pending.pop()) not in reached:
                reached.add(name)
                pending += self.reads(name)
        return reached

    def reads(self, name: str) -> Iterator[str]:
        """Yield the relations that one relation reads directly."""
        yield from self.relations[name].definition.sources
        yield from (read for rule in self.rules_of(name) for read in rule.relations)

    def views_over(self, name: str) -> list[str]:
        """Return the views that have this relation, or else one view that is computed from it."""
        own = [view for view, relation in self.sinks.items() if relation == name]
        return own or [view for view, relation in self.sinks.items() if name in self.below(relation)][:1]

    @cached_property
    def views_by_relation(self) -> Mapping[str, tuple[str, ...]]:
        """For each relation the views that have it or, if none does, those that read it without another view between.

        A table maps to its own name.
        """
        result = {relation: (table,) for table, relation in self.tables.items()}
        ends = {*self.sinks.values(), *result}
        for view, relation in self.sinks.items():
            pending, reached = [relation], set(ends)
            reached.discard(relation)
            while pending:
                if (name := pending.pop()) not in reached:
                    reached.add(name)
                    result[name] = (*result.get(name, ()), view)
                    pending += self.reads(name)
        return result

    def fingerprints(self) -> dict[str, str]:
        """Return the fingerprint of each relation, by name; relations with equal fingerprints in two programs are the
        same.
        """
        return {name: relation.fingerprint for name, relation in self.relations.items()}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for stratum in self.strata:
            if stratum.recursive:
                yield ", ".join(filter(None, ["recursive", "signed" * stratum.signed, stratum.refresh])) + ":"
            for name in stratum.relations:
                yield "  " * stratum.recursive + str(self.relations[name])
                yield from (f"    {line}" for line in self.relations[name].definition.describe(()))
                yield from (f"    {rule}" for rule in self.rules_of(name))
        yield from (f"view {view}: {name}" for view, name in self.sinks.items())
