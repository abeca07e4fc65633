"""Exact sums of decimals: whole numbers of their last digit, cut into digits below 2²⁴ whose sums are added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.checked_sum import overflow
from deltic.circuit.accumulators.decimal_mean import mean_in_units
from deltic.circuit.types import Type
from deltic.engine.local.accumulators.slots import Linear, Natural, NoResult, Result, Slots, Totals, reads
from deltic.engine.local.operators import numbers
from deltic.engine.local.storage.layout import Column
from deltic.program.operators.aggregate import Call

_WIDTH = 24
_LIMBS = 6  # 144 bits, of which 38 decimal digits need 127


def _digits(values: Natural) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    signs = np.where(values < 0, -1, 1).astype(np.int64)
    rest: Natural = values * signs
    for limb in range(_LIMBS):
        yield limb, (rest & ((1 << _WIDTH) - 1)).astype(np.int64) * signs
        rest = rest >> _WIDTH


DECIMALS = Linear(_LIMBS, lambda values, types: list(_digits(values[0])))


def decimal_sums(totals: Totals, slot: int) -> list[int]:
    """The sums of each group whose digits stand from this slot on."""
    rows = totals[:, slot : slot + _LIMBS].tolist()
    return [sum(digit << (_WIDTH * limb) for limb, digit in enumerate(row)) for row in rows]


def checked(found: Sequence[int], what: str, type_: Type, slots: Slots) -> Column:
    """Whole numbers of the last digit as decimals of a type; NoResult where one has too many digits."""
    for position, number in enumerate(found):
        if abs(number) >= 10**type_.precision:
            raise NoResult(position, overflow(what, type_))
    return numbers.stored(np.array(found, numbers.dtype_of(type_)), type_, slots.interner), None


@reads("decimal_mean")
def decimal_mean(slots: Slots, call: Call, types: Sequence[Type]) -> Result:
    """An exact sum by the number of values."""
    result_type = ACCUMULATORS[call.function].result(types)
    slot, count = slots.sum(call.columns, DECIMALS), slots.count(call.columns)
    digits = result_type.scale - types[0].scale

    def result(totals: Totals) -> Column:
        pairs = zip(decimal_sums(totals, slot), totals[:, count].tolist(), strict=True)
        means = [mean_in_units(total, n, digits) if n > 0 else 0 for total, n in pairs]
        return checked(means, "mean", result_type, slots)

    return result
