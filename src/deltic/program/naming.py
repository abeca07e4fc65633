"""Names and fingerprints of relations, which depend only on their contents, not on the rest of the program."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest

from deltic.program.definitions import Table
from deltic.program.program import Program, Relation, Stratum
from deltic.program.queries import Rule
from deltic.program.scope import DraftRelation, ProgramBuilder

# The number of digits of a fingerprint in a name.
_DIGITS = 8


@dataclass
class NamingFacts:
    """Cached facts about relations by number. They depend only on the relations and on what these read."""

    prints: dict[str, str] = field(default_factory=dict)
    _reads: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _named: dict[str, tuple[list[str], Relation, tuple[Rule, ...]]] = field(default_factory=dict)

    def reads(self, drafts: ProgramBuilder, number: str) -> tuple[str, ...]:
        """Return the relations that a relation's definition and rules read."""
        if number not in self._reads:
            rules = drafts.rules.get(number, ())
            read = [*drafts.relations[number].definition.sources, *(name for rule in rules for name in rule.relations)]
            self._reads[number] = tuple(dict.fromkeys(read))
        return self._reads[number]

    def named(self, drafts: ProgramBuilder, number: str, names: Mapping[str, str]) -> tuple[Relation, tuple[Rule, ...]]:
        """Return the relation and its rules under these names; the same objects as long as the names are the same."""
        given = [names[number], *(names[read] for read in self.reads(drafts, number))]
        if number in self._named and self._named[number][0] == given:
            return self._named[number][1:]
        draft = drafts.relations[number]
        relation = Relation(names[number], draft.schema, draft.definition.renamed(names), self.prints[number])
        rules = tuple(rule.renamed(names) for rule in drafts.rules.get(number, ()))
        self._named[number] = given, relation, rules
        return relation, rules


def named(
    drafts: ProgramBuilder,
    strata: Sequence[Stratum],
    tables: Mapping[str, str],
    sinks: Mapping[str, str],
    known: NamingFacts,
) -> Program:
    """Return the program of the drafts, with its strata in their order.

    Tables, views and recursive relations have names of their own. A relation without one, or with the name of a table
    or view, is named after a relation that it reads, with a part of its fingerprint.
    """
    _fingerprint_all(drafts, strata, known.prints)
    names = _names(drafts, {*tables.values(), *sinks.values()}, known)
    made = {number: known.named(drafts, number, names) for number in drafts.relations}
    return Program(
        {names[number]: relation for number, (relation, _) in made.items()},
        tuple(replace(s, relations=tuple(names[n] for n in s.relations)) for s in strata),
        tuple(rule for _, rules in made.values() for rule in rules),
        {view: names[number] for view, number in sinks.items()},
        {table: names[number] for table, number in tables.items()},
    )


# Fingerprints


def _fingerprint_all(drafts: ProgramBuilder, strata: Sequence[Stratum], prints: dict[str, str]) -> None:
    """Add the fingerprints of relations that have none yet, of lower strata first.

    Mutually recursive relations are distinguished by partition refinement: each round uses the fingerprints of the
    round before. A round that distinguishes no more relations is the last one, because further rounds would not either.
    """
    for stratum in strata:
        if stratum.relations[0] in prints:
            continue
        skeletons = {name: [*map(_skeleton, drafts.rules.get(name, ()))] for name in stratum.relations}
        prints |= dict.fromkeys(stratum.relations, "")
        kinds, before = 1, 0
        while kinds > before:
            prints |= {n: _fingerprint(drafts.relations[n], skeletons[n], prints) for n in stratum.relations}
            before, kinds = kinds, len({prints[name] for name in stratum.relations}) if stratum.recursive else 0
        if stratum.recursive:
            whole = _digest(sorted(prints[name] for name in stratum.relations))
            prints |= {name: _digest([whole, prints[name]]) for name in stratum.relations}


Skeleton = tuple[Sequence[str], Sequence[str]]
"""The text of a rule split at the names of relations, and these names."""


def _skeleton(rule: Rule) -> Skeleton:
    names = (rule.head, *(atom.relation for atom in (*rule.body.atoms, *rule.body.absent)))
    gap, text = "\0", rule.normalized()
    while gap in text:
        gap += "\0"
    return rule.renamed(dict.fromkeys(names, gap)).normalized().split(gap), names


def _fingerprint(draft: DraftRelation, skeletons: Sequence[Skeleton], prints: Mapping[str, str]) -> str:
    """Return the fingerprint of the relation, given the fingerprints `prints` of the relations that it reads."""
    texts = sorted(
        "".join(chain.from_iterable(zip_longest(around, (prints[name] for name in names), fillvalue="")))
        for around, names in skeletons
    )
    table = draft.definition.table if isinstance(draft.definition, Table) else ""
    meaning = str(draft.definition.renamed(prints)) + draft.definition.kept
    return _digest([meaning, table, str(draft.schema), *texts])


def _digest(parts: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


# Names


def _names(drafts: ProgramBuilder, first: Collection[str], known: NamingFacts) -> dict[str, str]:
    """Return a name for each relation; the relations `first` choose before the others."""
    names: dict[str, str] = {}
    taken: set[str] = set()

    def give(number: str, name: str) -> None:
        while name in taken:
            name += "'"
        taken.add(name)
        names[number] = name

    wanting = [(number, draft.wanted) for number, draft in drafts.relations.items() if draft.wanted]
    for number, wanted in sorted(wanting, key=lambda each: (each[0] not in first, known.prints[each[0]])):
        give(number, wanted if wanted not in taken else f"{wanted}.{known.prints[number][:_DIGITS]}")
    for number, draft in drafts.relations.items():
        if number not in names and not draft.role:
            give(number, f"%{_stem(number, drafts, known)}.{known.prints[number][:_DIGITS]}")
    for parent, draft in drafts.relations.items():
        for source in draft.definition.sources:
            if role := drafts.relations[source].role:
                give(source, f"{names[parent]}.{role}")
    return names


def _stem(number: str, drafts: ProgramBuilder, known: NamingFacts) -> str:
    """Return the name of the nearest named relation on the path of first inputs; else the first word of the
    definition.
    """
    seen: set[str] = set()
    while True:
        draft = drafts.relations[number]
        seen.add(number)
        if draft.wanted:
            return draft.wanted
        read = known.reads(drafts, number)
        if not read or read[0] in seen:
            return str(draft.definition).split()[0]
        number = read[0]
