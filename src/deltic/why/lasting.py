"""Derivations in a non-monotone recursion whose premises all hold at the end.

The derivation by which a row first appears may have a premise that is deleted later. Then the rows of the end are
ranked: a row has a rank if some derivation from rows of the end has only premises of lesser ranks. A row without a rank
supports only itself at the end, and is present because of rows that were deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from deltic.why.bound import Row
from deltic.why.derivations import Derivation, Fact
from deltic.why.relations import RecursiveRelation
from deltic.why.rows import Evaluator
from deltic.why.scopes import RecursionBody

Way = tuple[str, str, Derivation]
"""The text of a rule, its position in the source, and a derivation by it."""

Ranks = dict[tuple[str, Row], tuple[int, Way]]
"""For rows, by relation, their rank (an iteration) and a derivation from rows of lesser ranks."""

MOST_WAYS = 1_000
"""The most derivations of one row that are searched for one that lasts."""

_MOST_ROWS = 2_000
"""The most rows that are ranked; if a row depends on more, its first derivation explains it."""


def lasting(roots: Sequence[Fact], evaluator: Evaluator, ways_of: Callable[[Fact], Iterator[Way]]) -> Ranks:
    """Return the ranks of rows at the end of a recursion, and of the rows that they depend on."""
    pending, ways, since = [*roots], dict[tuple[str, Row], list[Way]](), dict[tuple[str, Row], int]()
    while pending:
        fact, key = pending[-1], _key(pending.pop())
        if key in ways:
            continue
        if len(ways) == _MOST_ROWS:
            return {}
        assert isinstance(fact.relation, RecursiveRelation)
        relation = replace(fact.relation, at=None)
        since[key] = evaluator.history(relation, fact.row).span(None)[0]
        ways[key] = [*islice(ways_of(Fact(relation, fact.row)), MOST_WAYS)]
        pending += (premise for way in ways[key] for premise in _recursive(way, relation.recursion))
    return _ranks(ways, since, roots)


def _ranks(ways: dict[tuple[str, Row], list[Way]], since: dict[tuple[str, Row], int], roots: Sequence[Fact]) -> Ranks:
    """Return the least ranks, found by iterating over all rows until none changes."""
    recursion = next(f.relation.recursion for f in roots if isinstance(f.relation, RecursiveRelation))
    below = {key: [[*map(_key, _recursive(way, recursion))] for way in each] for key, each in ways.items()}
    ranks: Ranks = {}
    is_changed = True
    while is_changed:
        is_changed = False
        for key, premises in below.items():
            for way, keys in zip(ways[key], premises, strict=True):
                if ranks.keys() >= set(keys):
                    rank = max(since[key], 1 + max((ranks[k][0] for k in keys), default=0))
                    if key not in ranks or rank < ranks[key][0]:
                        ranks[key], is_changed = (rank, way), True
    return ranks


def _recursive(way: Way, recursion: RecursionBody) -> Iterator[Fact]:
    """Return the premises from the recursion."""
    facts = (premise for premise in way[2].premises if isinstance(premise, Fact))
    return (f for f in facts if isinstance(f.relation, RecursiveRelation) and f.relation.recursion is recursion)


def _key(fact: Fact) -> tuple[str, Row]:
    return fact.relation.name, fact.row
