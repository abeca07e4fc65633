"""Exact sums of decimals: integers in units of the last digit, split into digits below 2²⁴ with a sum each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.sum import overflow
from deltic.engine.accumulators.slots import Linear, Natural, NoResult, Result, Slots, Totals, reads
from deltic.engine.kernels.results import MEAN
from deltic.engine.kernels.totals import LIMBS
from deltic.engine.operators import decimals, numbers
from deltic.engine.storage.columns import Column
from deltic.engine.storage.value_order import LARGE
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type

_WIDTH = 24
_LIMBS = 6  # 144 bits, of which 38 decimal digits need 127
_MASK = (1 << _WIDTH) - 1
_SHORT = 3  # of them are enough for what is below
_ROOM = 1 << 61
_SHIFTS = _WIDTH * np.arange(_LIMBS)
_UNITS = np.exp2(_SHIFTS)


def _digits(values: Natural) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield the digits of numbers, lowest first, as many as needed. The last one has the sign."""
    rest, limb = values, 0
    while len(rest) and (rest.min() < -_MASK or rest.max() > _MASK):
        yield limb, (rest & _MASK).astype(np.int64)
        rest, limb = rest >> _WIDTH, limb + 1
    yield limb, rest.astype(np.int64)


DECIMALS = Linear(_LIMBS, lambda values, types: list(_digits(values[0])), compiled=LIMBS)


def decimal_sums(totals: Totals, slot: int) -> Natural:
    """Return the sum of each group, whose digits start at this slot, in the form of `natural`."""
    result = totals[:, slot : slot + _LIMBS]
    is_short = (np.abs(result) @ _UNITS < _ROOM).all()
    parts = result[:, :_SHORT] << _SHIFTS[:_SHORT] if is_short else result.astype(object) << _SHIFTS
    sums: Natural = parts.sum(axis=1)
    return sums


def checked(found: Natural, what: str, type_: Type, slots: Slots, is_partial: bool) -> Column:
    """Return integers in units of the last digit as decimals of a type.

    What has too many digits is NULL if the result `is_partial`, and NoResult is raised otherwise.
    """
    values, beyond = decimals.fitting(found, type_)
    if beyond is not None and not is_partial:
        raise NoResult(int(np.flatnonzero(beyond)[0]), overflow(what, type_))
    return numbers.stored(values, type_, slots.interner), beyond


def small(type_: Type) -> int:
    """Return the magnitude from which on a decimal has too many digits, or is interned."""
    bound: int = 10**type_.precision
    return min(bound, LARGE)


@reads("decimal_mean", "tried_decimal_mean")
def decimal_mean(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate an exact sum and the number of values, whose quotient is the result."""
    result_type = ACCUMULATORS[call.function].result(types)
    slot, count = slots.sum(call.columns, DECIMALS), slots.count(call.columns)
    digits, is_partial = result_type.scale - types[0].scale, slots.is_partial(call)

    def result(totals: Totals) -> Column:
        some = totals[:, count] > 0
        sums = decimals.rescaled(np.where(some, decimal_sums(totals, slot), 0), 0, digits)
        means = decimals.quotient(sums, np.where(some, totals[:, count], 1))
        return checked(means, "mean", result_type, slots, is_partial)

    return Result(result, (MEAN, slot, count, -1, small(result_type), 10**digits))
