"""Z-sets as a ring, and operators made of others: catches a bag operator right on sets alone [DBSP §6, §8.4]."""

from __future__ import annotations

import operator
from collections import Counter

import pytest
from theory.tests.domains import zsets

from deltic.algebra.zset import ZSet
from deltic_theory.group_laws import check_linear
from deltic_theory.groups import Z_SETS
from deltic_theory.law import Law, LawViolation, check
from deltic_theory.relational import (
    bag_difference,
    bag_intersection,
    difference,
    multiply,
    positive_part,
    union,
)
from deltic_theory.streams import Stream
from deltic_theory.streams.laws import check_multilinear

bags = zsets.map(positive_part)
sets = zsets.map(ZSet.distinct)
R = ZSet({"joe": 1, "anne": -1})


@pytest.mark.law("DBSP §6.1", "DBSP Def 6.1", "DBSP Def 6.2", "DBSP Def 6.3")
def test_as_printed():
    assert (R.weight("joe"), R.weight("anne"), len(R)) == (1, -1, 2)
    assert 3 * ZSet.of(["frank"]) == ZSet({"frank": 3})
    assert ZSet({"joe": 2, "anne": -2}) == 2 * R
    assert ZSet.of({"joe", "anne"}) == ZSet({"joe": 1, "anne": 1})
    assert not R.is_set()
    assert not R.is_positive()
    assert R.distinct() == ZSet({"joe": 1})
    s = Stream(Z_SETS, lambda t: (t + 1) // 2 * (1 if t % 2 else -1) * R)
    assert s.prefix(5) == [ZSet(), R, -1 * R, 2 * R, -2 * R]
    assert s[2] == ZSet({"joe": -1, "anne": 1})


def law(statement, variables, left, right):
    return Law("fails", statement, tuple(variables), left, right)


@pytest.mark.law("DBSP §6.1")
def test_scaling():
    laws = [
        law("c · m is m added c times", "zn", lambda z, n: n * z, lambda z, n: sum([z] * n, ZSet())),
        law("(−c) · m = −(c · m)", "zn", lambda z, n: -n * z, lambda z, n: -(n * z)),
        law("c · (d · m) = (c d) · m", "zn", lambda z, n: n * (-2 * z), lambda z, n: (-2 * n) * z),
        law("c · a + c · b = c · (a + b)", "zyn", lambda z, y, n: n * z + n * y, lambda z, y, n: n * (z + y)),
    ]
    check(laws, {"z": zsets, "y": zsets, "n": range(4)}, examples=60)


@pytest.mark.law("DBSP §6.1")
def test_z_sets_are_a_ring():
    laws = [
        law("a b = b a", "ab", multiply, lambda a, b: multiply(b, a)),
        law(
            "(a b) c = a (b c)",
            "abc",
            lambda a, b, c: multiply(multiply(a, b), c),
            lambda a, b, c: multiply(a, multiply(b, c)),
        ),
        law(
            "the product of weights",
            "abx",
            lambda a, b, x: multiply(a, b).weight(x),
            lambda a, b, x: a.weight(x) * b.weight(x),
        ),
    ]
    check(laws, {"a": zsets, "b": zsets, "c": zsets, "x": range(5)}, examples=60)
    check_multilinear(multiply, [Z_SETS] * 2, Z_SETS, [zsets] * 2, examples=60)


@pytest.mark.law("DBSP Def 6.2")
def test_greater_is_a_partial_order():
    def geq(a, b):
        return (a - b).is_positive()

    laws = [
        law("m ≥ m", "a", lambda a: geq(a, a), lambda a: True),
        law("antisymmetric", "ab", lambda a, b: geq(a, b) and geq(b, a), lambda a, b: a == b),
        law("transitive", "abc", lambda a, b, c: geq(a, b) and geq(b, c) and not geq(a, c), lambda a, b, c: False),
        law("weight by weight", "ab", geq, lambda a, b: all(a.weight(x) >= b.weight(x) for x in range(5))),
    ]
    check(laws, {"a": zsets, "b": zsets, "c": zsets}, examples=100)


@pytest.mark.law("DBSP Table 1")
def test_sets():
    laws = [
        law("∪", "ab", union, lambda a, b: ZSet.of(a.support() | b.support())),
        law("∩", "ab", multiply, lambda a, b: ZSet.of(a.support() & b.support())),
        law("∖", "ab", difference, lambda a, b: ZSet.of(a.support() - b.support())),
    ]
    check(laws, {"a": sets, "b": sets}, examples=60)


def counted(zset):
    return Counter(dict(zset))


@pytest.mark.law("DBSP §8.4")
def test_bags():
    """Python's multisets: + is UNION ALL, − EXCEPT ALL, & INTERSECT ALL; the others count what rows become."""
    laws = [
        law("UNION ALL", "ab", lambda a, b: counted(a + b), lambda a, b: counted(a) + counted(b)),
        law("EXCEPT ALL", "ab", lambda a, b: counted(bag_difference(a, b)), lambda a, b: counted(a) - counted(b)),
        law("INTERSECT ALL", "ab", lambda a, b: counted(bag_intersection(a, b)), lambda a, b: counted(a) & counted(b)),
        law(
            "SELECT x // 2",
            "a",
            lambda a: counted(a.map(lambda x: x // 2)),
            lambda a: Counter(x // 2 for x in elements(a)),
        ),
        law(
            "WHERE x > 1",
            "a",
            lambda a: counted(a.filter(lambda x: x > 1)),
            lambda a: Counter(x for x in elements(a) if x > 1),
        ),
        law(
            "product",
            "ab",
            lambda a, b: counted(a.product(b)),
            lambda a, b: Counter((x, y) for x in elements(a) for y in elements(b)),
        ),
        law("DISTINCT", "a", lambda a: counted(a.distinct()), lambda a: Counter(set(elements(a)))),
    ]
    check(laws, {"a": bags, "b": bags}, examples=60)


def elements(bag):
    return list(counted(bag).elements())


@pytest.mark.law("DBSP §8.4")
def test_operators_on_bags_keep_them_positive():
    for q in (operator.add, bag_difference, bag_intersection, multiply, ZSet.product, parity_antijoin):
        check(
            [law("positive", "ab", lambda a, b, q=q: q(a, b).is_positive(), lambda a, b: True)],
            {"a": bags, "b": bags},
            60,
        )


def parity_antijoin(left, right):
    return left.antijoin(right, lambda x: x % 3, lambda y: y // 2)


def parity_join(left, keys):
    return left.join(keys, lambda x: x % 3, lambda k: k, lambda x, k: x)


def keys(zset):
    return zset.map(lambda y: y // 2).distinct()


@pytest.mark.law("DBSP §6.5.2 antijoin")
def test_antijoin():
    laws = [
        law("a ▷ b = a − a ⋈ distinct(π(b))", "ab", parity_antijoin, lambda a, b: a - parity_join(a, keys(b))),
        law(
            "(a ▷ b) + (a ⋈ π(b)) = a",
            "ab",
            lambda a, b: parity_antijoin(a, b) + parity_join(a, keys(b)),
            lambda a, b: a,
        ),
        law(
            "the derivative: Δa ▷ b' − a ⋈ Δb",
            "abcd",
            lambda a, b, c, d: parity_antijoin(a + c, b + d) - parity_antijoin(a, b),
            lambda a, b, c, d: parity_antijoin(c, b + d) - parity_join(a, keys(b + d) - keys(b)),
        ),
    ]
    check(laws, {"a": zsets, "b": zsets, "c": zsets, "d": zsets}, examples=100)


@pytest.mark.law("DBSP §6.5.2 antijoin")
def test_antijoin_of_sets():
    def unmatched(a, b):
        return ZSet.of(x for x in a.support() if x % 3 not in {y // 2 for y in b.support()})

    check([law("of sets", "ab", parity_antijoin, unmatched)], {"a": sets, "b": sets}, examples=60)


@pytest.mark.law("DBSP §6.5.2 antijoin")
def test_antijoin_as_a_rule_with_negation():
    """O(v, z) :- I1(v, z), not I2(v) is C(v, z) :- I1(v, z), I2(v) and O(v, z) :- I1(v, z), not C(v, z)."""
    by_difference = law(
        "a ▷ b = a ∖ (a ⋈ b)", "ab", parity_antijoin, lambda a, b: difference(a, parity_join(a, keys(b)))
    )
    check([by_difference], {"a": sets, "b": zsets}, examples=60)
    with pytest.raises(LawViolation, match="fails"):
        check([by_difference], {"a": bags, "b": zsets})


def test_antijoin_is_linear_in_its_first_argument_alone():
    right = ZSet({1: 2, 3: -1, 4: 1})
    check_linear(lambda z: parity_antijoin(z, right), Z_SETS, Z_SETS, zsets, examples=60)
    with pytest.raises(LawViolation):
        check_linear(lambda z: parity_antijoin(ZSet.of(range(5)), z), Z_SETS, Z_SETS, zsets)
