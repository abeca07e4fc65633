"""Continuing with another program: which relations are kept, and how the views change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from deltic.engine.options import Options
from deltic.engine.result import Extension
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.columns import placed
from deltic.engine.storage.kinds import RelationKind, kind_of
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.program import Program, Stratum
from deltic.program.queries import Rule

NOTHING: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def kept_relations(
    old: Program, new: Program, was: Options, now: Options, begun: Collection[str] = ()
) -> dict[str, str]:
    """Return the relations of the new program that the old one has, by name, with their names in the old one.

    They have the same fingerprint, so the same contents, and by the old and the new options the engine stores the same
    for them. Relations that read tables that become bags or sets, or that are `begun` with other rows, are not kept. A
    relation whose rows are passed on but not stored is kept only if no new relation reads it.
    """
    tables = {*(was.bags ^ now.bags), *begun} & old.tables.keys() & new.tables.keys()
    changed = {old.tables[table] for table in tables}
    named = defaultdict[str, list[str]](list)
    for name, relation in old.relations.items():
        if not changed or old.below(name).isdisjoint(changed):
            named[relation.fingerprint].append(name)
    kept: dict[str, str] = {}
    for stratum in new.strata:
        result = _counterparts(stratum, old, new, named)
        before = was.strategies.of(tuple(result.values()))
        if result and (not stratum.recursive or now.strategies.of(stratum.relations) is before):
            kept |= result
            for name in result.values():
                named[old.relations[name].fingerprint].remove(name)
    for name in passed_to_new(new, kept):
        kept.pop(name, None)
    return kept


def unchanged_rules(old: Program, new: Program, kept: Mapping[str, str]) -> dict[str, tuple[Rule, ...]]:
    """Return the kept relations that have the same definitions and rules over the same names, with their rules."""
    same = (name for name, was in kept.items() if name == was and new.relations[name] is old.relations[name])
    return {name: new.rules_of(name) for name in same if all(kept.get(read) == read for read in new.reads(name))}


def extension(
    old: Program,
    new: Program,
    kept: Mapping[str, str],
    moved: Iterable[str] = (),
    partial: Mapping[str, tuple[str, ...]] = NOTHING,
) -> Extension:
    """Return what became of the relations; `kept` are those of the new program, each with its name in the old one."""
    gone = old.relations.keys() - kept.values() - new.relations.keys()
    built = tuple(name for name in new.relations if name not in kept)
    return Extension(built, tuple(kept), tuple(name for name in old.relations if name in gone), tuple(moved), partial)


def rows_in_new_orders(new: Mapping[str, State], old: Mapping[str, State], kept: Mapping[str, str]) -> int:
    """Return the number of rows in column orders that were built for kept relations."""
    pairs = ((new[name], old[was]) for name, was in kept.items())
    return sum(len(a) for state, was in pairs for order, a in state.built.items() if order not in was.built)


def passed_to_new(program: Program, kept: Collection[str]) -> set[str]:
    """Return the relations without stored rows that a new relation reads."""
    new = [relation for name, relation in program.relations.items() if name not in kept]
    sources = {source for relation in new for source in relation.definition.sources}
    return {source for source in sources if kind_of(program, source) is RelationKind.TRANSIENT}


def _counterparts(stratum: Stratum, old: Program, new: Program, named: dict[str, list[str]]) -> dict[str, str]:
    """Return the old relations that correspond to those of a stratum; none unless all have one."""
    result: dict[str, str] = {}
    for name in stratum.relations:
        candidates = [
            other
            for other in named.get(new.relations[name].fingerprint, ())
            if kind_of(old, other) is kind_of(new, name) and other not in result.values()
        ]
        if not candidates:
            return {}
        result[name] = name if name in candidates else candidates[0]
    return result


def difference(old: State | None, new: State) -> Run | None:
    """Return the change from the rows of one relation (None: no rows) to those of another with the same columns.

    Raises DomainOverflow if a row of the old one has no place in the layout of the new one.
    """
    batch = CountChanges()
    batch.add(*new.rows())
    if old is not None:
        words, weights = old.rows()
        values = old.layout.values(words)
        batch.add(new.layout.pack((), len(weights), placed(new.domains, values)), -weights)
    return batch.run()
