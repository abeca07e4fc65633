"""Sums of products of floats, split into digits as in `exact`; results are computed as the circuit defines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce

import numpy as np

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.moments import Moments
from deltic.engine.accumulators.exact import LIMBS, WIDTH, Digits, digits_of_floats, integers
from deltic.engine.accumulators.slots import Linear, Natural, Result, Slots, Totals, reads
from deltic.engine.operators import numbers
from deltic.engine.storage.columns import Column
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type

_MASK = (1 << WIDTH) - 1


@cache
def sum_of(product: tuple[int, ...]) -> Linear:
    """Return the sum of a product of columns, which may repeat. Its last slot counts products that are not finite."""
    width = LIMBS * len(product) + 1
    return Linear(width, lambda values, types: [_digits([values[i] for i in product], width)])


def _digits(factors: Sequence[Natural], width: int) -> tuple[Digits, Digits]:
    """Return the digits of n products: positions and values int64[4 · factors, n]."""
    floats = [np.ascontiguousarray(factor, np.float64) for factor in factors]
    strange = ~np.logical_and.reduce([np.isfinite(factor) for factor in floats])
    parts = [digits_of_floats(np.where(strange, 0.0, factor)) for factor in floats]
    sign = np.where(np.logical_xor.reduce([factor < 0 for factor in floats]), -1, 1)
    result = reduce(_product, [np.abs(values) for _, values in parts]) * sign
    first = sum((positions[0] for positions, _ in parts), start=np.zeros(len(sign), np.int64))
    places = np.minimum(first + np.arange(len(result), dtype=np.int64).reshape(-1, 1), width - 2)
    places[0, strange], result[0, strange] = width - 1, 1
    return places, result


def _product(a: Digits, b: Digits) -> Digits:
    """Return the digits, all below 2²⁴, of products of numbers given by their digits."""
    sums = np.zeros((len(a) + len(b), a.shape[1]), np.int64)
    for i, digit in enumerate(a):
        sums[i : i + len(b)] += digit * b
    for i in range(len(sums) - 1):
        sums[i + 1] += sums[i] >> WIDTH
    return sums & _MASK


@reads(*(name for name, accumulator in ACCUMULATORS.items() if isinstance(accumulator, Moments)))
def moments(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slots of each sum."""
    accumulator = ACCUMULATORS[call.function]
    assert isinstance(accumulator, Moments)
    count = slots.count(call.columns)
    sums = [(sum_of(product), slots.sum(call.columns, sum_of(product))) for product in accumulator.products]

    def result(totals: Totals) -> Column:
        there = totals[totals[:, count] > 0]
        columns = [_sums(there[:, slot : slot + linear.width]) for linear, slot in sums]
        counts = there[:, count].tolist()
        found = [accumulator.of(n, row) for n, row in zip(counts, zip(*columns, strict=True), strict=True)]
        values, nulls = np.zeros(len(totals), np.float64), np.ones(len(totals), bool)
        values[totals[:, count] > 0] = [0.0 if value is None else value for value in found]
        nulls[totals[:, count] > 0] = [value is None for value in found]
        return numbers.stored(values, Type.FLOAT64, slots.interner), nulls

    return Result(result)


def _sums(totals: Totals) -> list[int | None]:
    """Return the sums with these digit sums; None where a term is not finite."""
    result = zip(integers(totals[:, :-1]), totals[:, -1].tolist(), strict=True)
    return [None if strange else total for total, strange in result]
