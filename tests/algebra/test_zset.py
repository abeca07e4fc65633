"""Z-sets: catches a zero weight that is kept, a lost or doubled weight, and an order that depends on insertion."""

from __future__ import annotations

import pytest
from hypothesis import given
from theory.tests.domains import zsets

from deltic.algebra.zset import ZSet
from deltic_theory.group_laws import check_group, check_linear
from deltic_theory.groups import Z_SETS
from deltic_theory.law import Law, check


@given(zsets, zsets)
def test_operations_are_pointwise(a, b):
    for value in a.support() | b.support():
        assert (a + b).weight(value) == a.weight(value) + b.weight(value)
        assert (a - b).weight(value) == a.weight(value) - b.weight(value)
        assert (-a).weight(value) == -a.weight(value)
        assert (3 * a).weight(value) == (a * 3).weight(value) == 3 * a.weight(value)
    assert a * 0 == ZSet()


@given(zsets, zsets)
def test_no_weight_is_zero_and_equality_is_by_weight(a, b):
    results = [a + b, a - b, a.map(lambda x: x // 2), a.product(b), a.filter(lambda x: x > 1), a.distinct()]
    assert all(weight for z in results for _, weight in z)
    assert (a == b) == all(a.weight(x) == b.weight(x) for x in a.support() | b.support())
    assert (a + b) - b == a
    assert hash((a + b) - b) == hash(a)


def test_construction_adds_up_and_repr_is_ordered():
    assert ZSet([("b", 1), ("a", 2), ("b", -1)]) == ZSet({"a": 2, "b": 0})
    assert repr(ZSet([("b", 1), ("a", 2)])) == repr(ZSet({"a": 2, "b": 1})) == "ZSet({'a': 2, 'b': 1})"
    assert repr(ZSet({2: 1, None: 1, "x": 1})) == "ZSet({'x': 1, 2: 1, None: 1})"
    assert len(ZSet({"a": 2})) == 1
    assert "a" in ZSet({"a": 2})
    assert "b" not in ZSet({"a": 2})


def test_a_zset_does_not_share_its_source():
    weights = {"a": 1}
    zset = ZSet(weights)
    weights["a"] = 5
    assert zset == ZSet({"a": 1})


def test_empty_zset_is_false_only_in_length():
    assert ZSet().is_set()
    assert ZSet().is_positive()
    assert not ZSet({"a": -1}).is_positive()
    assert not ZSet({"a": 2}).is_set()


@pytest.mark.law("DBSP Prop 6.4", "DBSP Prop 6.5")
def test_distinct_is_an_idempotent_onto_sets():
    laws = [
        Law(
            "not idempotent", "distinct = distinct ∘ distinct", ("m",), ZSet.distinct, lambda m: m.distinct().distinct()
        ),
        Law("not a set", "isset(distinct(m))", ("m",), lambda m: m.distinct().is_set(), lambda _: True),
        Law("not positive", "ispositive(distinct(m))", ("m",), lambda m: m.distinct().is_positive(), lambda _: True),
    ]
    check(laws, {"m": zsets}, examples=60)


def test_map_filter_flat_map_and_product_are_linear():
    check_linear(lambda z: z.map(lambda x: x // 2), Z_SETS, Z_SETS, zsets, examples=60)
    check_linear(lambda z: z.filter(lambda x: x % 2), Z_SETS, Z_SETS, zsets, examples=60)
    check_linear(lambda z: z.flat_map(range), Z_SETS, Z_SETS, zsets, examples=60)
    right = ZSet({1: 2, 3: -1})
    check_linear(lambda z: z.product(right), Z_SETS, Z_SETS, zsets, examples=60)
    check_linear(lambda z: right.join(z, abs, abs, lambda x, y: (x, y)), Z_SETS, Z_SETS, zsets, examples=60)


@given(zsets, zsets)
def test_join_is_the_filtered_product(a, b):
    joined = a.join(b, lambda x: x % 2, lambda y: y % 2, lambda x, y: (x, y))
    assert joined == a.product(b).filter(lambda pair: pair[0] % 2 == pair[1] % 2)


def test_zsets_are_a_group():
    check_group(Z_SETS, zsets, examples=100)
