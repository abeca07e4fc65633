"""Names and fingerprints of relations: functions of what they contain, whatever else a program has, in any order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from deltic.program.definitions import Table
from deltic.program.program import Program, Relation
from deltic.program.queries import Rule
from deltic.program.scope import Draft, Drafts

# How many digits of a fingerprint are in a name.
_DIGITS = 8


def named(drafts: Drafts) -> Program:
    """The program of the drafts.

    Tables, views and recursive relations have their own names. What has none, or shares one with a table or view, is
    called after what it reads, with a part of its fingerprint.
    """
    rules = _by_head(drafts.rules)
    prints = _fingerprints(drafts, rules)
    names = _names(drafts, rules, prints)
    relations = {
        names[number]: Relation(names[number], draft.schema, draft.definition.renamed(names), prints[number])
        for number, draft in drafts.relations.items()
    }
    return Program(
        relations,
        tuple(replace(s, relations=tuple(names[n] for n in s.relations)) for s in drafts.strata),
        tuple(rule.renamed(names) for rule in drafts.rules),
        {view: names[number] for view, number in drafts.sinks.items()},
        {table: names[number] for table, number in drafts.tables.items()},
    )


def _by_head(rules: Sequence[Rule]) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.head, []).append(rule)
    return found


# Fingerprints


def _fingerprints(drafts: Drafts, rules: Mapping[str, list[Rule]]) -> dict[str, str]:
    """The fingerprint of each relation, of lower strata first.

    Mutually recursive relations are told apart by refinement: each round tells what the round before told of the
    relations that are read. A round that tells no more of them apart is the last: what it tells of all of them together
    is what every further one would.
    """
    prints: dict[str, str] = {}
    for stratum in drafts.strata:
        skeletons = {name: [*map(_skeleton, rules.get(name, ()))] for name in stratum.relations}
        prints |= dict.fromkeys(stratum.relations, "")
        kinds, before = 1, 0
        while kinds > before:
            prints |= {n: _fingerprint(drafts.relations[n], skeletons[n], prints) for n in stratum.relations}
            before, kinds = kinds, len({prints[name] for name in stratum.relations}) if stratum.recursive else 0
        if stratum.recursive:
            whole = _digest(sorted(prints[name] for name in stratum.relations))
            prints |= {name: _digest([whole, prints[name]]) for name in stratum.relations}
    return prints


Skeleton = tuple[Sequence[str], Sequence[str]]
"""The text of a rule around the names of relations, and these names."""


def _skeleton(rule: Rule) -> Skeleton:
    names = (rule.head, *(atom.relation for atom in (*rule.body.atoms, *rule.body.absent)))
    gap, text = "\0", rule.normalized()
    while gap in text:
        gap += "\0"
    return rule.renamed(dict.fromkeys(names, gap)).normalized().split(gap), names


def _fingerprint(draft: Draft, skeletons: Sequence[Skeleton], prints: Mapping[str, str]) -> str:
    """What tells the relation from others, when `prints` tell the relations that it reads from others."""
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


def _names(drafts: Drafts, rules: Mapping[str, list[Rule]], prints: Mapping[str, str]) -> dict[str, str]:
    """A name for each relation."""
    names: dict[str, str] = {}
    taken: set[str] = set()

    def give(number: str, name: str) -> None:
        while name in taken:
            name += "'"
        taken.add(name)
        names[number] = name

    wanting = [(number, draft.wanted) for number, draft in drafts.relations.items() if draft.wanted]
    first = set(drafts.tables.values()) | set(drafts.sinks.values())
    for number, wanted in sorted(wanting, key=lambda each: (each[0] not in first, prints[each[0]])):
        give(number, wanted if wanted not in taken else f"{wanted}.{prints[number][:_DIGITS]}")
    for number, draft in drafts.relations.items():
        if number not in names and not draft.role:
            give(number, f"%{_stem(number, drafts, rules)}.{prints[number][:_DIGITS]}")
    for parent, draft in drafts.relations.items():
        for source in draft.definition.sources:
            if role := drafts.relations[source].role:
                give(source, f"{names[parent]}.{role}")
    return names


def _stem(number: str, drafts: Drafts, rules: Mapping[str, list[Rule]]) -> str:
    """The name of the first relation, on the way down, that has one; the word for the definition where none has."""
    seen: set[str] = set()
    while True:
        draft = drafts.relations[number]
        seen.add(number)
        if draft.wanted:
            return draft.wanted
        read = [*draft.definition.sources, *(name for rule in rules.get(number, ()) for name in rule.relations)]
        if not read or read[0] in seen:
            return str(draft.definition).split()[0]
        number = read[0]
