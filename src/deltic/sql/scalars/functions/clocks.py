"""Rules of functions of times of a day."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from deltic.functions.times import SPANS
from deltic.sql.scalars import operators
from deltic.sql.scalars.coercion import coerced, converted
from deltic.sql.scalars.functions.rules import RULES, attempt, literal_of, rule, to
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, constant
from deltic.values.types import Type

_UNITS = {unit: span // SPANS["MICROSECOND"] for unit, span in SPANS.items() if unit not in ("WEEK", "DAY")}


def _unit(given: Typed) -> Typed:
    """Return the microseconds of a unit, which is a literal."""
    name = literal_of(given, "the unit", sample="HOUR").upper()
    if name not in _UNITS:
        raise Mismatch(f"the units are {', '.join(_UNITS)}")
    return constant(_UNITS[name], Type.INT64)


def _clock(value: Typed) -> Typed:
    if not (value.is_null or value.type.type in (Type.TIME, Type.STRING)):
        raise Mismatch("a TIME is taken here")
    return coerced(value, Type.TIME)


@rule("time_trunc", of="clock_floor")
def time_trunc(unit: Typed, clock: Typed) -> Typed:
    """A time of a day without what is below a unit."""
    return attempt("clock_floor", _clock(clock), _unit(unit))


@rule("time_diff", of="instant_of_clock")
def time_diff(unit: Typed, start: Typed, end: Typed) -> Typed:
    """The whole units between two times of a day."""
    micros = operators.arithmetic(exp.Sub, operators.micros_of(_clock(end)), operators.micros_of(_clock(start)))
    return operators.arithmetic(exp.IntDiv, micros, _unit(unit))


def _to_time(is_safe: bool, text: Typed, pattern: Typed | None = None) -> Typed:
    """Return a text as a time of a day, by a pattern if there is one."""
    own = to(text, Type.STRING)
    if pattern is None:
        return (converted if is_safe else coerced)(own, Type.TIME)
    return attempt("clock_of_time", RULES["try_to_timestamp" if is_safe else "to_timestamp"](own, pattern))


rule("to_time", of="read_time clock_of_time")(partial(_to_time, False))
rule("try_to_time", of="read_time clock_of_time")(partial(_to_time, True))
