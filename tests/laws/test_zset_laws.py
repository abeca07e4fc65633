"""The laws of Z-sets in [DBSP §6]: catches an operator that is right on sets alone, or where it need not be."""

from __future__ import annotations

import operator

import pytest
from hypothesis import strategies as st
from theory.tests.domains import zsets

from deltic.algebra.zset import ZSet
from deltic_theory.groups import Z_SETS
from deltic_theory.law import Law, LawViolation, check
from deltic_theory.streams import Stream, delay, difference, incremental, integral, lift
from deltic_theory.streams.laws import check_equivalent

bags = zsets.map(lambda z: ZSet((x, abs(weight)) for x, weight in z))
sets = zsets.map(ZSet.distinct)


def parity_join(left, right):
    return left.join(right, lambda x: x % 2, lambda y: y % 2, lambda x, y: (x, y))


def odd(zset):
    return zset.filter(lambda x: x % 2)


def halves(zset):
    return zset.map(lambda x: x // 2)


def stream_of(zsets):
    return Stream.of(Z_SETS, zsets)


def rows_of(zset):
    """One row of the Z-set after the other."""
    return stream_of([ZSet([pair]) for pair in zset.sorted_pairs()])


def running_maximum(zsets):
    """The stream that has of each row the greatest weight that it had so far, and at least 0: any monotone one."""
    found, so_far = [], {}
    for zset in zsets:
        so_far = {x: max(so_far.get(x, 0), zset.weight(x)) for x in (*so_far, *(x for x, _ in zset))}
        found.append(ZSet(so_far))
    return Stream(Z_SETS, lambda t: found[min(t, len(found) - 1)] if found else ZSet())


def growing(stream):
    return all(difference(stream)[t].is_positive() for t in range(6))


def positive(stream):
    return all(rows.is_positive() for rows in stream.prefix(6))


@pytest.mark.law("DBSP Def 6.1", "DBSP Def 6.2", "DBSP Def 6.3")
def test_sets_bags_and_distinct():
    laws = [
        Law("isset", "all weights are one", ("z",), ZSet.is_set, lambda z: {w for _, w in z} <= {1}),
        Law(
            "ispositive",
            "all weights are positive",
            ("z",),
            ZSet.is_positive,
            lambda z: min([w for _, w in z] or [1]) > 0,
        ),
        Law(
            "distinct",
            "the positive values",
            ("z",),
            lambda z: dict(z.distinct()),
            lambda z: {x: 1 for x, w in z if w > 0},
        ),
    ]
    check(laws, {"z": zsets})


TABLE_1 = {
    "union": (lambda a, b: (a + b).distinct(), operator.or_),
    "projection": (lambda a, b: halves(a).distinct(), lambda a, b: {x // 2 for x in a}),
    "selection": (lambda a, b: a.map(str).distinct(), lambda a, b: {str(x) for x in a}),
    "filtering": (lambda a, b: odd(a), lambda a, b: {x for x in a if x % 2}),
    "product": (lambda a, b: a.product(b), lambda a, b: {(x, y) for x in a for y in b}),
    "join": (parity_join, lambda a, b: {(x, y) for x in a for y in b if x % 2 == y % 2}),
    "intersection": (lambda a, b: a.join(b, abs, abs, lambda x, y: x), operator.and_),
    "difference": (lambda a, b: (a - b).distinct(), operator.sub),
}


@pytest.mark.law("DBSP Table 1")
@pytest.mark.parametrize("row", TABLE_1.values(), ids=TABLE_1.keys())
def test_relational_operators(row):
    circuit, query = row
    law = Law(
        "not the query",
        "on sets",
        ("a", "b"),
        circuit,
        lambda a, b: ZSet.of(query(a.support(), b.support())),
    )
    check([law], {"a": sets, "b": sets}, examples=60)


@pytest.mark.law("DBSP Def 6.6", "DBSP Def 6.7", "DBSP Lemma 6.8", "DBSP Lemma 6.9")
def test_positive_and_monotone_streams():
    several = st.lists(zsets, max_size=5)
    laws = [
        Law(
            "I",
            "I of s is monotone just where s is positive",
            ("s",),
            lambda s: growing(integral(stream_of(s))),
            lambda s: positive(stream_of(s)),
        ),
        Law(
            "D", "D of monotone is positive", ("s",), lambda s: positive(difference(running_maximum(s))), lambda s: True
        ),
        Law("m", "so it was monotone", ("s",), lambda s: growing(running_maximum(s)), lambda s: True),
    ]
    check(laws, {"s": several}, examples=60)
    check([Law("I", "I of positive", ("s",), lambda s: growing(integral(stream_of(s))), lambda s: True)],
          {"s": st.lists(bags, max_size=5)}, examples=60)  # fmt: skip
    assert not growing(integral(stream_of([ZSet({1: -1})])))
    assert not positive(difference(Stream(Z_SETS, lambda t: ZSet({1: 5 - t}))))


COMMUTE = {"filter": lambda a, b: odd(a), "join": parity_join, "product": ZSet.product}
ABSORB = {**COMMUTE, "projection": lambda a, b: halves(a), "addition": operator.add}


def commutes(q):
    return Law(
        "does not commute",
        "Q(distinct(i)) = distinct(Q(i))",
        ("a", "b"),
        lambda a, b: q(a.distinct(), b.distinct()),
        lambda a, b: q(a, b).distinct(),
    )


@pytest.mark.law("DBSP Prop 6.10")
@pytest.mark.parametrize("q", COMMUTE.values(), ids=COMMUTE.keys())
def test_distinct_commutes(q):
    check([commutes(q)], {"a": bags, "b": bags}, examples=60)


@pytest.mark.law("DBSP Prop 6.10")
def test_distinct_does_not_commute_with_all_or_on_all():
    for wrong, domain in ((ABSORB["projection"], bags), (ABSORB["addition"], bags), (COMMUTE["product"], zsets)):
        with pytest.raises(LawViolation, match="does not commute"):
            check([commutes(wrong)], {"a": domain, "b": domain})


@pytest.mark.law("DBSP Prop 6.11")
@pytest.mark.parametrize("q", ABSORB.values(), ids=ABSORB.keys())
def test_distinct_at_the_end_is_enough(q):
    law = Law(
        "distinct is missed",
        "distinct(Q(distinct(i))) = distinct(Q(i))",
        ("a", "b"),
        lambda a, b: q(a.distinct(), b.distinct()).distinct(),
        lambda a, b: q(a, b).distinct(),
    )
    check([law], {"a": bags, "b": bags}, examples=60)


@pytest.mark.law("DBSP Prop 6.12")
def test_the_incremental_distinct():
    law = Law(
        "H",
        "H(i, d) = distinct(i + d) − distinct(i)",
        ("i", "d"),
        ZSet.distinct_change,
        lambda i, d: (i + d).distinct() - i.distinct(),
    )
    check([law], {"i": zsets, "d": zsets})
    h = lift(ZSet.distinct_change, Z_SETS)
    two = [rows_of(z) + delay(rows_of(-z)) for z in (ZSet({1: 2, 2: -1}), ZSet({0: 1, 3: 2, 4: 1}))]
    check_equivalent(
        "(↑distinct)^Δ(d) = ↑H(z⁻¹(I(d)), d)",
        incremental(lift(ZSet.distinct, Z_SETS)),
        lambda d: h(delay(integral(d)), d),
        [two],
    )
