"""Searches of small changes: those of all queries that a step follows run in one call of compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deltic.engine.kernels import join
from deltic.engine.kernels.joins import S, search_all
from deltic.engine.kernels.memory import address_of
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.operators.search import Derivations, QueryStatistics, Visits
from deltic.engine.plan.bind import Tables
from deltic.engine.storage.arrangement import descriptors
from deltic.engine.storage.run import NO_TIMES, Run


@dataclass(frozen=True)
class SmallSearch:
    """The search of one query for all derivations from a small change: its tables, its sign, the runs of each atom.

    `words` is the width of the head, `statistics` are those of the query.
    """

    tables: Tables
    words: int
    sign: int
    runs: Sequence[Sequence[Run]]
    statistics: QueryStatistics


def derivations(searches: Sequence[SmallSearch], visits: Visits, thresholds: Thresholds) -> Iterator[Derivations]:
    """Yield the derivations of searches for one head, without times. Empty ones come while nothing is found for long.

    Raises DomainOverflow if a computed value has no place.
    """
    queries, atoms, runs = list[tuple[int, ...]](), list[tuple[int, int]](), list[Run]()
    for each in searches:
        query = each.tables.query
        queries.append((address_of(query), query.size, each.sign, len(atoms), len(each.runs), 0, 0))
        for some in each.runs:
            start = len(runs)
            runs.extend(some)
            atoms.append((start, len(runs)))
    table, given = np.array(queries, np.int64), (np.array(atoms, np.int64), descriptors(runs))
    status, at, room, continues = join.FULL, 0, thresholds.first_chunk, False
    try:
        while status != join.DONE:
            limits = searches[0].words, room, thresholds.patience
            status, at, words, weights = search_all(table, *given, at, continues, *limits)
            if status == join.OVERFLOW:
                raise next(searches[at].tables.overflows())
            if status == join.FULL:
                room = min(4 * room, thresholds.last_chunk)
            continues = True
            yield Derivations(words, NO_TIMES, weights)
    finally:
        done = table[:, S.DERIVED :].tolist()
        visits.rows += sum([visited for _, visited in done])
    for each, (derived, visited) in zip(searches, done, strict=True):
        each.statistics.add(sum([run.count for run in each.runs[0]]), derived, visited)
