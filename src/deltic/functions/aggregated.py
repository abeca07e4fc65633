"""Functions of collected arrays that aggregates use: bitmaps of 4,096 bytes, and percentiles with frequencies."""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect_right
from collections.abc import Sequence
from functools import reduce

from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Type

_BYTES = 4096


def _of_positions(positions: Sequence[int]) -> bytes | None:
    """Return the bitmap with the bits at these positions set."""
    if any(not 0 <= position < 8 * _BYTES for position in positions):
        return None
    return _bitmap(reduce(operator.or_, (1 << position for position in positions), 0))


def _bitmap(bits: int) -> bytes:
    return bits.to_bytes(_BYTES, "little")


def _bits(bitmap: bytes) -> int:
    return int.from_bytes(bitmap[:_BYTES], "little")


def _percentile(counted: Sequence[tuple[float, int]], part: float) -> float | None:
    """Return the percentile of values with frequencies; NULL for no values."""
    ends = list(itertools.accumulate(count for _, count in counted))
    if not ends or not ends[-1]:
        return None
    place = part * (ends[-1] - 1)
    below, above = math.floor(place), math.ceil(place)
    first, second = (counted[bisect_right(ends, rank)][0] for rank in (below, above))
    return first if first == second else (above - place) * first + (place - below) * second


FUNCTIONS |= by_rows(
    "no library has Spark's bitmaps, nor percentiles of values with counts",
    {
        "bitmap_construct_agg": Function(
            Type.BINARY, python=_of_positions, partial=True, failure=lambda _: "a bitmap has positions from 0 to 32767"
        ),
        "bitmap_or_agg": Function(
            Type.BINARY, python=lambda bitmaps: _bitmap(reduce(operator.or_, map(_bits, bitmaps), 0))
        ),
        "bitmap_and_agg": Function(
            Type.BINARY,
            python=lambda bitmaps: _bitmap(reduce(operator.and_, map(_bits, bitmaps), (1 << 8 * _BYTES) - 1)),
        ),
        "percentile_of_counted": Function(Type.FLOAT64, python=_percentile, nullable=True, tolerant=True),
    },
)
