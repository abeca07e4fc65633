"""Exact sums of decimals: whole numbers of their last digit, cut into digits below 2²⁴ whose sums are added up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.slots import Linear, Natural, Totals

_WIDTH = 24
_LIMBS = 6  # 144 bits, of which 38 decimal digits need 127


def _digits(values: Natural, type_: Type) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    signs = np.where(values < 0, -1, 1).astype(np.int64)
    rest: Natural = values * signs
    for limb in range(_LIMBS):
        yield limb, (rest & ((1 << _WIDTH) - 1)).astype(np.int64) * signs
        rest = rest >> _WIDTH


DECIMALS = Linear(_LIMBS, lambda values, type_: list(_digits(values, type_)))


def decimal_sums(totals: Totals, slot: int) -> list[int]:
    """The sums of each group whose digits stand from this slot on."""
    rows = totals[:, slot : slot + _LIMBS].tolist()
    return [sum(digit << (_WIDTH * limb) for limb, digit in enumerate(row)) for row in rows]
