"""Times of a day, which are microseconds since midnight."""

from __future__ import annotations

from deltic.functions.calendar import DAY
from deltic.functions.function import FUNCTIONS, Function
from deltic.values.types import Type

FUNCTIONS |= {
    "instant_of_clock": Function(Type.TIMESTAMP, vector=lambda clocks: (clocks, None)),
    "clock_of_time": Function(Type.TIME, vector=lambda times: (times % DAY, None)),
    "clock_of_micros": Function(
        Type.TIME,
        vector=lambda micros: (micros % DAY, (micros < 0) | (micros >= DAY)),
        partial=True,
        failure=lambda _: "a time of a day is from 00:00:00 to 23:59:59.999999",
    ),
    "clock_floor": Function(Type.TIME, vector=lambda clocks, unit: (clocks // unit * unit, None)),
}
