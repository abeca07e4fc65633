"""Builds, in this process, the relations that another program or another placement needs from those on the shards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from deltic.engine.changes import Changes, ViewChange
from deltic.engine.comparing import netted
from deltic.engine.executors.evolution import rows_in_new_orders
from deltic.engine.executors.shards.evolution import Former, Rows, ShardEvolution
from deltic.engine.executors.shards.group import ShardGroup
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.recursion import ShardDefinition
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.image import Json
from deltic.engine.options import Options
from deltic.engine.result import EpochResult
from deltic.engine.state_version import together
from deltic.engine.storage.store import Store
from deltic.program.program import Program, Relation

_EMPTY = Program({}, (), (), {}, {})
NOTHING = Former(_EMPTY, ShardPlan(_EMPTY, {}, ()), Options(shards=0), lambda name: 0)
"""The empty state before the first epoch."""


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
    both = zip(group.stores, stores, strict=True)
    made = sum(rows_in_new_orders(new.states, before.states, found.taken) for new, before in both)
    group.forget_changes()
    stay = [(r, name) for name, r in placed.plan.program.relations.items() if placed.plan.placed[name].kept]
    shards = placed.shards(store.evolved(stay) for store in group.stores)
    kept = {name: was for name, was in found.taken.items() if name in placed.program.relations}
    for shard, known in zip(shards, learned, strict=True):
        shard.histories.learn(known, kept)
    return shards, replace(result, rows_visited=result.rows_visited + made)


def _taken(store: Store, relations: Iterable[tuple[Relation, str]]) -> Store:
    """Return a store of relations of another one, given with their names there, with all their column orders."""
    other = store.evolved(relations)
    for state in other.states.values():
        state.keep_orders()
    return other


def after(due: EpochResult, result: EpochResult, old: Program, new: Program) -> EpochResult:
    """Combine the result of an epoch that ran due work with that of the next one, by another program."""
    changes = {view: change for view in result.changes if (change := result.changes.batch(view)) is not None}
    for view in (v for v in due.changes if v in new.sinks):
        first, schema = due.changes.batch(view), old.relations[old.sinks[view]].schema
        if first is not None and new.relations[new.sinks[view]].schema == schema:
            parts = [first, *([changes.pop(view)] if view in changes else [])]
            rows = netted(together(part.to_arrow() for part in parts))
            changes |= {view: ViewChange.of(rows)} if rows.num_rows else {}
    visited = due.rows_visited + result.rows_visited
    return replace(result, changes=Changes(changes), rows_visited=visited)
