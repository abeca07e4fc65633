"""Builds, in this process, the relations that another program or another placement needs from those on the shards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from deltic.engine.batches import Changed
from deltic.engine.changes import Changes, ViewChange
from deltic.engine.executors.inline.version import together
from deltic.engine.executors.shards.evolution import Former, Rows, ShardEvolution, evolution
from deltic.engine.executors.shards.extension import consolidated
from deltic.engine.executors.shards.group import ShardGroup
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.setting import ShardDefinition
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.image import Json
from deltic.engine.result import EpochResult
from deltic.engine.storage.store import Store
from deltic.program.definitions import Definition
from deltic.program.operators.integrate import Summed
from deltic.program.program import Program, Relation

NOTHING = Former(Program({}, (), (), {}, {}), ShardPlan(Program({}, (), (), {}, {}), {}, ()), lambda name: 0)
"""The empty state before the first epoch."""


def evolved(former: Former, old: ShardDefinition, new: ShardDefinition) -> ShardEvolution:
    """Return how to continue with another definition or placement."""
    alike = new.options.strategies.of, old.options.strategies.of
    return evolution(former, new.program, new.maintained, lambda now, was: alike[0](now) is alike[1](was))


def former(
    placed: PlacedProgram, stores: Sequence[Store], other: ShardDefinition, begun: Mapping[str, Changed]
) -> Former:
    """Return the state of some stores as another definition can use it.

    Tables that become bags, or that are `begun` with other rows, are not usable.
    """
    tables, turned = placed.program.tables, {*(placed.options.bags ^ other.options.bags), *begun}
    changed = [tables[table] for table in turned if table in tables and table in other.program.tables]
    return Former(placed.program, placed.plan, rows_in(stores), changed, begun)


def rows_in(stores: Sequence[Store]) -> Rows:
    """Return a function that counts the rows of a relation in some stores."""
    return lambda name: sum(len(store.states[name].contents) for store in stores)


def building(definition: ShardDefinition, found: ShardEvolution) -> PlacedProgram:
    """Return the placed program of the epoch that computes what an evolution needs."""
    return PlacedProgram(replace(definition, program=found.program), found.building)


def build(
    placed: PlacedProgram, found: ShardEvolution, stores: Sequence[Store], learned: Sequence[Sequence[Json]]
) -> tuple[list[Shard], EpochResult]:
    """Return the shards of a placed program: some relations are taken from stores, the others computed in an epoch.

    Cost histories of recursions, `learned` on each shard, stay with the recursions. The stores do not change.
    """
    builder = building(placed.definition, found)
    relations = builder.plan.program.relations
    pairs = [(relations[name], was) for name, was in found.taken.items()]
    group = ShardGroup(builder, builder.shards(_taken(store, pairs) for store in stores))
    result = group.run(builder.beginning(found), "trust")
    made = sum(_made_orders(new, before, found.taken) for new, before in zip(group.stores, stores, strict=True))
    group.forget_changes()
    stay = [(r, name) for name, r in placed.plan.program.relations.items() if placed.plan.placed[name].kept]
    shards = placed.shards(store.evolved(stay) for store in group.stores)
    for shard, known in zip(shards, learned, strict=True):
        shard.learn([each for each in known if all(found.taken.get(name) == name for name in each[0])])
    return shards, replace(result, rows_visited=result.rows_visited + made)


def _taken(store: Store, relations: Iterable[tuple[Relation, str]]) -> Store:
    """Return a store of relations of another one, given with their names there, with all their column orders."""
    other = store.evolved(relations)
    for state in other.states.values():
        state.keep_orders()
    return other


def _made_orders(new: Store, old: Store, taken: Mapping[str, str]) -> int:
    """Return the number of rows in column orders that were built for relations taken over from another store."""
    pairs = ((new.states[name], old.states[was]) for name, was in taken.items())
    return sum(len(a) for state, before in pairs for order, a in state.built.items() if order not in before.built)


def is_due(plan: ShardPlan, stores: Sequence[Store]) -> bool:
    """Return whether the next epoch has work even without changes: rows of a delay, or first rows of a sum."""
    timed = [(name, r.definition) for name, r in plan.program.relations.items() if r.definition.is_timed]
    return any(_is_due(store, name, definition) for store in stores for name, definition in timed)


def _is_due(store: Store, name: str, definition: Definition) -> bool:
    if isinstance(definition, Summed):
        return bool(len(store.states[definition.source].contents))
    return any(arrangement.runs for arrangement in store.states[name].auxiliary.values())


def after(due: EpochResult, result: EpochResult, old: Program, new: Program) -> EpochResult:
    """Combine the result of an epoch that ran due work with that of the next one, by another program."""
    changes = {view: change for view in result.changes if (change := result.changes.batch(view)) is not None}
    for view in (v for v in due.changes if v in new.sinks):
        first, schema = due.changes.batch(view), old.relations[old.sinks[view]].schema
        if first is not None and new.relations[new.sinks[view]].schema == schema:
            parts = [first, *([changes.pop(view)] if view in changes else [])]
            rows = consolidated(schema, together(part.to_arrow() for part in parts))
            changes |= {view: ViewChange.of(rows)} if rows.num_rows else {}
    visited = due.rows_visited + result.rows_visited
    return replace(result, changes=Changes(changes), rows_visited=visited)
