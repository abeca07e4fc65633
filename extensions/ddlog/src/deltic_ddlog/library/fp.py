"""The functions of `fp`; those that end with `_f` give numbers of 32 bits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from deltic_ddlog.natives import native
from deltic_ddlog.runtime import single
from deltic_ddlog.values import NONE, Struct, err, ok, some


def _guarded(function: Callable[..., float]) -> Callable[..., float]:
    """NaN outside the function's domain, infinity where the result overflows."""

    def value(*given: float) -> float:
        try:
            return function(*given)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    return value


def _whole(rounding: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: math.copysign(float(rounding(x)), x) if math.isfinite(x) else x


def _half_away(x: float) -> float:
    return math.floor(abs(x) + 0.5) * math.copysign(1.0, x)


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else function(x)


def _power(base: float, exponent: float) -> float:
    result = base**exponent if base or exponent >= 0 else math.inf
    return math.nan if isinstance(result, complex) else result


_SAME = "sqrt", "exp", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "cosh", "tanh", "asinh", "acosh", "atan2"
_FUNCTIONS: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in _SAME},
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "round": _whole(_half_away),
    "trunc": _whole(math.trunc),
    "fract": lambda x: math.fmod(x, 1.0),
    "abs": abs,
    "signum": lambda x: x if math.isnan(x) else math.copysign(1.0, x),
    "exp2": lambda x: 2.0**x,
    "ln": _logarithm(math.log),
    "log2": _logarithm(math.log2),
    "log10": _logarithm(math.log10),
    "sinh": lambda x: math.sinh(x) if abs(x) < 700 else math.copysign(math.inf, x),
    "atanh": lambda x: math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x),
    "recip": lambda x: 1 / x if x else math.copysign(math.inf, x),
    "to_degrees": math.degrees,
    "to_radians": math.radians,
    "mul_add": lambda a, b, c: a * b + c,
    "powi": _power,
    "powf": _power,
    "log": lambda x, base: math.log(x) / math.log(base),
    "nan": lambda: math.nan,
}


def _single(function: Callable[..., float]) -> Callable[..., float]:
    return lambda *given: single(function(*given))


def _int_from(x: float) -> Struct:
    return some(math.trunc(x)) if math.isfinite(x) else NONE


def _parsed(convert: Callable[[float], float]) -> Callable[[str], Struct]:
    def parse(text: str) -> Struct:
        if re.fullmatch(r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf|NaN)", text):
            return ok(convert(float(text)))
        return err("invalid float literal" if text else "cannot parse float from empty string")

    return parse


def _register() -> None:
    for name, function in _FUNCTIONS.items():
        native(f"fp::{name}_d")(_guarded(function))
        native(f"fp::{name}_f")(_single(_guarded(function)))
    tests: dict[str, Callable[[float], Any]] = {
        "is_nan": math.isnan,
        "is_infinite": math.isinf,
        "is_finite": math.isfinite,
        "int_from": _int_from,
    }
    for name, test in tests.items():
        native(f"fp::{name}_d")(test)
        native(f"fp::{name}_f")(test)
    native("fp::parse_d")(_parsed(float))
    native("fp::parse_f")(_parsed(single))


_register()
