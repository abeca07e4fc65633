"""How rows must be spread for a definition: rows that belong together must be on one shard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from deltic.engine.executors.shards.plan import EVERYWHERE, Key
from deltic.errors import UnsupportedError
from deltic.program.histories import Examined
from deltic.program.operators.aggregate import Grouped
from deltic.program.operators.custom import Recomputed
from deltic.program.operators.linear import Expanded
from deltic.program.operators.over import TopRows, Windows
from deltic.program.operators.streams import Delayed, Summed, Windowed
from deltic.program.program import Program, Relation

# One column of each of some relations: rows that belong together have the same value in these columns.
Lane = Mapping[str, int]


def needs(relation: Relation) -> tuple[Key, tuple[Key, ...]]:
    """Return the required key of a relation with a definition of its own, and those of its sources."""
    whole = tuple(range(len(relation.schema)))
    match relation.definition:
        case Grouped(keys=keys):
            return tuple(range(keys)), (tuple(range(keys)),)
        case TopRows(operator=operator):
            key = tuple(relation.schema.index(name) for name in operator.keys)
            return key, (key,)
        case Windows(operator=operator):
            key = tuple(relation.schema.index(name) for name in operator.keys)
            return key, (key,)
        case Expanded():
            return whole[:-1], (whole[:-1],)
        case Delayed() | Summed():
            return whole, (whole,)
        case Windowed():
            return whole, (whole, EVERYWHERE)
        case Recomputed(sources=sources, keys=keys):
            return tuple(range(keys)), tuple(tuple(range(keys)) for _ in sources)
    raise UnsupportedError(f'engine spark: {relation.definition} has no place on shards yet; engine="local" runs it')


class LinkedHistories(NamedTuple):
    """A history computed from the groups of another one; `columns` are pairs of columns that identify the groups in
    both.
    """

    source: str
    target: str
    columns: Sequence[tuple[int, int]]


def ties(program: Program, relations: Sequence[str]) -> Iterator[LinkedHistories]:
    """Yield the pairs of histories whose groups belong together."""
    for name in relations:
        relation = program.relations[name]
        if not isinstance(definition := relation.definition, Examined):
            continue
        own: Key = tuple(range(len(relation.schema)))
        read = own
        if definition.function is not None:
            own, (read,) = needs(replace(relation, definition=definition.function))
        assert own is not None
        assert read is not None
        yield LinkedHistories(definition.source, name, list(zip(read, own, strict=True)))


def alike(program: Program, relations: Sequence[str]) -> list[tuple[list[str], list[Lane]]]:
    """Return the sets of a recursion's relations that must be spread alike, with the columns by which they can be.

    Without such columns, all rows of these relations belong together.
    """
    lanes: dict[str, list[Lane]] = {n: [{n: c} for c in range(len(program.relations[n].schema))] for n in relations}
    members = {name: [name] for name in relations}
    for source, target, columns in ties(program, relations):
        if members[source] is members[target]:
            result: list[Lane] = [lane for lane in lanes[source] if (lane[source], lane[target]) in columns]
        else:
            members[source] += members[target]
            pairs = ((a, b) for a in lanes[source] for b in lanes[target] if (a[source], b[target]) in columns)
            result = [{**a, **b} for a, b in pairs]
        for name in members[source]:
            members[name], lanes[name] = members[source], result
    return [(members[name], lanes[name]) for name in relations if members[name][0] == name]
