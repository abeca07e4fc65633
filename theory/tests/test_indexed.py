"""Indexed Z-sets [DBSP §8.1]: catches a group that is kept though empty, and what is linear for one key alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory.tests.domains import zsets

from deltic.algebra.zset import ZSet
from deltic_theory.group_laws import check_group, check_incremental, check_linear
from deltic_theory.groups import INTEGERS, Z_SETS, FiniteMaps
from deltic_theory.indexed import INDEXED_Z_SETS, IndexedZSet, unnest
from deltic_theory.law import Law, LawViolation, check
from deltic_theory.relational import positive_part
from deltic_theory.streams.laws import check_multilinear


def third(value):
    return value % 3


def grouped(zset):
    return IndexedZSet.by(zset, third)


indexed = zsets.map(grouped)


def total(group):
    return sum(value * weight for value, weight in group)


def count(group):
    return sum(weight for _, weight in group)


def greatest(group):
    return max(value for value, _ in group)


def whole(group):
    """The group itself, as in a nested relation."""
    return group


def law(statement, variables, left, right):
    return Law("fails", statement, tuple(variables), left, right)


@pytest.mark.law("DBSP §8.1.1")
def test_indexed_z_sets_are_a_group():
    check_group(INDEXED_Z_SETS, indexed, examples=100)


@given(indexed, indexed)
def test_a_difference_is_what_leads_from_one_to_the_other(left, right):
    assert (left - right) + right == left


@pytest.mark.law("DBSP §8.1.1")
def test_a_partition_sums_up_to_the_whole():
    pairs = ZSet({(1, "a"): 1, (1, "b"): -2, (2, "a"): 3})
    assert IndexedZSet.by(pairs, lambda pair: pair[0]).group(1) == ZSet({(1, "a"): 1, (1, "b"): -2})
    laws = [
        law("Σ k(a) = a", "z", lambda z: grouped(z).sum(), lambda z: z),
        law(
            "k(a)[b] has the values of key b",
            "zk",
            lambda z, k: grouped(z).group(k),
            lambda z, k: z.filter(lambda x: third(x) == k),
        ),
        law("finite support", "z", lambda z: grouped(z).keys(), lambda z: {third(x) for x in z.support()}),
    ]
    check(laws, {"z": zsets, "k": range(4)}, examples=60)


@pytest.mark.law("DBSP §8.1.1", "DBSP §8.1.2")
def test_grouping_and_its_inverse_are_linear():
    check_linear(grouped, Z_SETS, INDEXED_Z_SETS, zsets, examples=60)
    check_linear(IndexedZSet.sum, INDEXED_Z_SETS, Z_SETS, indexed, examples=60)


def joined(left, right):
    return left.join(right)


@pytest.mark.law("DBSP §8.1.1")
def test_the_join_of_groups_is_the_join_on_their_keys():
    check_multilinear(joined, [INDEXED_Z_SETS] * 2, INDEXED_Z_SETS, [indexed] * 2, examples=60)
    on_keys = law(
        "Σ (a[k] × b[k]) = a ⋈ b",
        "ab",
        lambda a, b: grouped(a).join(grouped(b)).sum(),
        lambda a, b: a.join(b, third, third, lambda x, y: (x, y)),
    )
    check([on_keys], {"a": zsets, "b": zsets}, examples=60)


@pytest.mark.law("DBSP §8.1.3")
@pytest.mark.parametrize("function", [total, count], ids=lambda f: f.__name__)
def test_linear_aggregates(function):
    """For each key; as a bag of results, without the keys, not even SUM is linear."""
    maps = FiniteMaps(INTEGERS)
    check_linear(lambda g: g.map_groups(function, INTEGERS), INDEXED_Z_SETS, maps, indexed, examples=60)
    with pytest.raises(LawViolation, match="not linear"):
        check_linear(lambda g: g.aggregate(function), INDEXED_Z_SETS, Z_SETS, indexed)


@pytest.mark.law("DBSP §8.1.3")
def test_aggregates_into_z_sets_that_are_added_up_are_linear():
    def halves(group):
        return group.map(lambda x: x // 2)

    check_linear(lambda g: unnest(g.aggregate(lambda z: (0, halves(z)))), INDEXED_Z_SETS, Z_SETS, indexed, examples=60)


@pytest.mark.law("DBSP §8.1.3")
def test_the_greatest_is_no_linear_aggregate():
    with pytest.raises(LawViolation, match="not linear"):
        check_linear(lambda g: g.aggregate(greatest), INDEXED_Z_SETS, Z_SETS, indexed)


@pytest.mark.law("DBSP §8.1.3")
@pytest.mark.parametrize("function", [total, count, greatest, whole], ids=lambda f: f.__name__)
def test_aggregation_is_incremental_on_the_groups_that_change(function):
    def incremental(stream):
        old, results = IndexedZSet(), []
        for change in stream:
            results.append(old.aggregate_change(change, function))
            old += change
        return results

    streams = st.lists(indexed, max_size=5)
    check_incremental(lambda g: g.aggregate(function), incremental, INDEXED_Z_SETS, Z_SETS, streams, examples=100)


@pytest.mark.law("DBSP §8.1.3")
def test_only_groups_that_change_are_visited():
    seen = []
    old, change = grouped(ZSet.of(range(900))), grouped(ZSet({3: -1}))
    old.aggregate_change(change, lambda group: seen.append(greatest(group)))
    assert seen == [897, 897]


@pytest.mark.law("DBSP §8.1.1")
def test_nested_relations():
    laws = [
        law("unnest ∘ nest = Σ", "g", lambda g: unnest(g.nest()), IndexedZSet.sum),
        law("nest is a set", "g", lambda g: g.nest().is_set(), lambda g: True),
        law("a pair for each key", "g", lambda g: {k for k, _ in g.nest().support()}, IndexedZSet.keys),
    ]
    check(laws, {"g": indexed}, examples=60)
    nested = indexed.map(lambda g: g.nest().map(lambda pair: (0, pair[1])))
    check_linear(unnest, Z_SETS, Z_SETS, nested, examples=60)


@pytest.mark.law("DBSP Prop 8.1")
def test_flatmap_is_linear_and_keeps_bags_and_zero():
    images = {0: ZSet(), 1: ZSet({5: 2}), 2: ZSet({5: -2, 6: 1}), 3: ZSet({7: 3}), 4: ZSet.of("aab")}
    check_linear(lambda z: z.flat_map(images.__getitem__), Z_SETS, Z_SETS, zsets, examples=60)
    laws = [
        law(
            "Σ i[x] · f(x)",
            "z",
            lambda z: z.flat_map(images.__getitem__),
            lambda z: sum((w * images[x] for x, w in z), ZSet()),
        ),
        law(
            "plain values count one each",
            "z",
            lambda z: z.flat_map(range),
            lambda z: sum((w * ZSet.of(range(x)) for x, w in z), ZSet()),
        ),
    ]
    check(laws, {"z": zsets}, examples=60)
    assert ZSet().flat_map(images.__getitem__) == ZSet()


@pytest.mark.law("DBSP Prop 11.1")
def test_flatmap_of_collections_is_positive():
    check(
        [law("positive", "z", lambda z: positive_part(z).flat_map(range).is_positive(), lambda z: True)],
        {"z": zsets},
        60,
    )
    collections = ZSet.of([frozenset({1, 2}), frozenset({2, 3})])
    extended = collections.flat_map(lambda c: ((c, x) for x in c))
    assert extended == ZSet.of([(c, x) for c in collections.support() for x in c])
    assert extended.map(lambda pair: pair[1]).distinct() == ZSet.of([1, 2, 3])
