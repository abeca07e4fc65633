"""Small domains to go through in full, and strategies to search, for the tests of the algebra."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise, product

from hypothesis import strategies as st

from deltic.algebra.zset import ZSet
from deltic_theory.boolean import Change
from deltic_theory.finite import Finite, Tables, boolean_changes, full_changes, functions, join_changes, meet_changes
from deltic_theory.lattices import Powerset

AB = Powerset(frozenset("ab"))
ABC = Powerset(frozenset("abc"))

JOIN, MEET, BOOLEAN = join_changes(AB), meet_changes(AB), boolean_changes(AB)
"""L_∨, L_∧ and L⋈ on the four subsets of {a, b}."""

POINTS = (0, 1, 2)

zsets = st.dictionaries(st.integers(0, 4), st.integers(-3, 3), max_size=5).map(ZSet)
sets = st.frozensets(st.integers(0, 5))
words = st.lists(st.sampled_from("ab"), max_size=4).map(tuple)


def disjoint(pair):
    up, down = pair
    return Change(up - down, down)


boolean_pairs = st.tuples(sets, sets).map(disjoint)


def generated(tables: Iterable[tuple[int, ...]], points: tuple[int, ...] = POINTS) -> Finite[int, tuple[int, ...]]:
    """The change action on the points whose changes are all compositions of the given functions."""
    action = Tables(points)
    changes, fresh = {action.empty}, {action.empty}
    steps = list(tables)
    while fresh:
        fresh = {action.compose(d, step) for d in fresh for step in steps} - changes
        changes |= fresh
    return Finite(action, points, sorted(changes))


def point_actions() -> list[Finite[int, tuple[int, ...]]]:
    """Actions on three points, from the discrete to the full one, that reach all kinds of preorders."""
    generators = [
        [],
        [(1, 1, 2)],
        [(1, 2, 2)],
        [(0, 0, 1)],
        [(1, 2, 0)],
        [(1, 0, 2)],
        [(2, 2, 2)],
        [(1, 1, 2), (0, 2, 2)],
        [(1, 0, 2), (0, 2, 2)],
        [(1, 1, 1), (0, 0, 0)],
    ]
    return [*map(generated, generators), full_changes(POINTS)]


def point_functions() -> list:
    return functions(POINTS, POINTS)


def chains(elements, leq, length: int = 3) -> list[tuple]:
    """All ascending chains of the given length, repetitions included."""
    return [c for c in product(elements, repeat=length) if all(leq(a, b) for a, b in pairwise(c))]
