"""Groups: catches a wrong negation or zero in any of the constructions, and an integral that is not D's inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory.tests.domains import zsets

from deltic.algebra.zset import ZSet
from deltic_theory.group_laws import check_group, check_incremental, check_linear
from deltic_theory.groups import INTEGERS, Z_SETS, FiniteMaps, Functions, IntegersModulo, Pairs, subtract, total
from deltic_theory.law import LawViolation
from deltic_theory.streams import differentiate, integrate, nested_stream, nested_streams
from deltic_theory.streams.laws import same_beginning

integers = st.integers(-5, 5)
streams_of_zsets = st.lists(zsets, max_size=4)


def agree_on(points):
    return lambda f, g: [f(x) for x in points] == [g(x) for x in points]


def test_integers():
    check_group(INTEGERS, integers)
    check_group(IntegersModulo(6), range(6))


@pytest.mark.law("DBSP Prop 3.19")
def test_functions_and_streams():
    linear = st.tuples(integers, integers).map(lambda c: lambda t: c[0] * t + c[1])
    check_group(Functions(INTEGERS), linear, equal=agree_on(range(4)))
    nested = linear.map(lambda f: nested_stream(INTEGERS, 2, lambda t, u: f(t) * u))
    check_group(nested_streams(INTEGERS, 2), nested, equal=same_beginning(3, 3))


def test_finite_maps_agree_with_zsets():
    small = [{}, {"a": 1}, {"a": -1}, {"b": 2}, {"a": 1, "b": -2}]
    check_group(FiniteMaps(INTEGERS), small)
    nested = [{}, *({"x": inner} for inner in small[1:]), {"x": {"a": 1}, "y": {"b": 2}}]
    check_group(FiniteMaps(FiniteMaps(INTEGERS)), nested)


@given(st.dictionaries(st.sampled_from("ab"), integers), st.dictionaries(st.sampled_from("ab"), integers))
def test_finite_maps_of_integers_are_zsets(left, right):
    assert ZSet(FiniteMaps(INTEGERS).add(left, right)) == ZSet(left) + ZSet(right)


def test_pairs():
    check_group(Pairs(INTEGERS, IntegersModulo(3)), st.tuples(integers, st.integers(0, 2)))


@given(st.lists(integers))
def test_total_and_subtract(values):
    assert total(INTEGERS, values) == sum(values)
    assert subtract(INTEGERS, 7, 3) == 4


@pytest.mark.law("DBSP Thm 3.30")
@given(streams_of_zsets)
def test_integration_and_differentiation_are_inverse(stream):
    assert differentiate(Z_SETS, integrate(Z_SETS, stream)) == stream
    assert integrate(Z_SETS, differentiate(Z_SETS, stream)) == stream


@pytest.mark.law("DBSP Def 4.1")
def test_incremental_programs_are_checked_against_the_definition():
    def squares(changes):
        total_before, out = 0, []
        for change in changes:
            out.append(2 * total_before * change + change * change)
            total_before += change
        return out

    check_incremental(lambda n: n * n, squares, INTEGERS, INTEGERS, st.lists(integers, max_size=4))
    with pytest.raises(LawViolation, match=r"QΔ\(s\)"):
        check_incremental(
            lambda n: n * n, lambda s: [n * n for n in s], INTEGERS, INTEGERS, st.lists(integers, max_size=4)
        )


def test_nonlinear_is_caught():
    with pytest.raises(LawViolation, match="not linear"):
        check_linear(ZSet.distinct, Z_SETS, Z_SETS, zsets)
