"""Streams as power series [DBSP App. A]: catches a product that is off by one, and an inverse that is none."""

from __future__ import annotations

import operator

import pytest
from theory.tests.streams.examples import ID, STREAMS

from deltic_theory.group_laws import check_group
from deltic_theory.groups import INTEGERS
from deltic_theory.law import Law, check
from deltic_theory.streams import Stream, delay, difference, integral, lift
from deltic_theory.streams.convolution import (
    INTEGER_RING,
    ModularRing,
    PowerSeries,
    convolve,
    one,
    z_inverse,
)
from deltic_theory.streams.laws import check_causal, check_equivalent, check_time_invariant


def series(stream, ring=INTEGER_RING):
    return PowerSeries(ring, stream)


def same(left, right):
    return left.coefficients.prefix(6) == right.coefficients.prefix(6)


def times(factor):
    """The operator that multiplies by a series."""
    return lambda stream: (factor * series(stream)).coefficients


@pytest.mark.law("DBSP Def A.1", "DBSP Def A.2")
def test_as_printed():
    assert str(series(ID)) == "0 + 1z⁻¹ + 2z⁻² + 3z⁻³ + 4z⁻⁴ + …"
    assert convolve(INTEGER_RING, ID, ID).prefix(5) == [0, 0, 1, 4, 10]


@pytest.mark.law("DBSP Prop A.3")
@pytest.mark.parametrize("ring", [INTEGER_RING, ModularRing(6)], ids=["ℤ", "ℤ/6"])
def test_power_series_are_a_commutative_ring(ring):
    reduce = lift(lambda n: n % 6, ring) if isinstance(ring, ModularRing) else (lambda s: s)
    elements = [series(reduce(s), ring) for s in STREAMS[1:5]]
    laws = [
        Law("not a ring", "ab = ba", ("a", "b"), operator.mul, lambda a, b: b * a, same),
        Law("not a ring", "1a = a", ("a",), lambda a: one(ring) * a, lambda a: a, same),
        Law(
            "not a ring", "(ab)c = a(bc)", ("a", "b", "c"), lambda a, b, c: a * b * c, lambda a, b, c: a * (b * c), same
        ),
        Law(
            "not a ring",
            "a(b + c) = ab + ac",
            ("a", "b", "c"),
            lambda a, b, c: a * (b + c),
            lambda a, b, c: a * b + a * c,
            same,
        ),
        Law("not a ring", "a − b + b = a", ("a", "b"), lambda a, b: a - b + b, lambda a, b: a, same),
    ]
    check(laws, dict.fromkeys("abc", elements))
    check_group(ring, range(6) if isinstance(ring, ModularRing) else range(-3, 4))


@pytest.mark.law("DBSP Prop A.3")
def test_delays_differences_and_integrals_are_products():
    z, unit = z_inverse(INTEGER_RING), one(INTEGER_RING)
    check_equivalent("z⁻¹(s) = z⁻¹ * s", delay, times(z), [STREAMS])
    check_equivalent("D(s) = (1 − z⁻¹) * s", difference, times(unit - z), [STREAMS])
    check_equivalent("I(s) = (1 − z⁻¹)⁻¹ * s", integral, times((unit - z).inverse()), [STREAMS])
    assert (unit - z).inverse().coefficients.prefix(6) == [1] * 6
    check_causal(lambda a, b: convolve(INTEGER_RING, a, b), [STREAMS, STREAMS])
    check_time_invariant(times(series(ID)), [STREAMS])


def test_inverses():
    for stream in STREAMS:
        begins_with_one = series(Stream(INTEGERS, lambda t, s=stream: s[t] if t else 1))
        assert same(begins_with_one * begins_with_one.inverse(), one(INTEGER_RING))
    with pytest.raises(ValueError, match="not for 0 \\+ 1z⁻¹"):
        series(ID).inverse()
