"""Number formats such as `S$99,999.00` for Spark's `to_char` and `to_number`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache, cached_property

from sqlglot import exp

from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Type

_FORMAT = re.compile(
    r"(?P<before>S|MI)?(?P<dollar>\$)?(?P<whole>[09](?:[,G]?[09])*)?(?P<point>[.D])?(?P<fraction>[09]*)(?P<behind>S|MI|PR)?"
)


@dataclass(frozen=True)
class NumberFormat:
    """A sign before or after, a dollar, digits of which 9 may be left out, groups between commas, and a fraction."""

    before: str
    dollar: str
    whole: str
    point: str
    fraction: str
    behind: str

    @cached_property
    def type(self) -> Type:
        """The DECIMAL type with the format's digits."""
        digits = len(self.whole.replace(",", ""))
        return Type.decimal(digits + len(self.fraction), len(self.fraction))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression of texts in this format."""
        first, *others = (
            rf"\d{{{len(group)}}}" if group.startswith("0") else rf"\d{{0,{len(group)}}}"
            for group in self.whole.split(",")
        )
        whole = first
        for group in others:
            whole = f"(?:{whole},)?{group}" if whole.startswith((r"\d{0", "(?:")) else f"{whole},{group}"
        fraction = rf"(?:\.(?P<fraction>\d{{0,{len(self.fraction)}}}))?" if self.point else ""
        sign = {"": "", "S": "[+-]?", "MI": "-?"}
        number = rf"{re.escape(self.dollar)}(?P<whole>{whole}){fraction}"
        if self.behind == "PR":
            return re.compile(rf"(?P<sign><)?{number}(?(sign)>)", re.ASCII)
        return re.compile(f"(?P<sign>{sign[self.before]}){number}(?P<behind>{sign[self.behind]})", re.ASCII)


@cache
def number_format(text: str) -> NumberFormat | None:
    """Parse a format; None where it is invalid."""
    result = _FORMAT.fullmatch(text.upper())
    if result is None or not (result["whole"] or result["fraction"]) or (result["before"] and result["behind"]):
        return None
    if result["fraction"] and not result["point"]:
        return None
    parts = {name: value or "" for name, value in result.groupdict().items()}
    made = NumberFormat(**{**parts, "whole": parts["whole"].replace("G", ",")})
    return made if len(made.whole.replace(",", "")) + len(made.fraction) <= 38 else None


def _read(text: str, written: str) -> Decimal | None:
    """Parse a number in this format; blanks are skipped."""
    form = number_format(written)
    assert form is not None
    result = form.pattern.fullmatch("".join(text.split()))
    if result is None:
        return None
    parts = result.groupdict()
    whole, fraction = parts["whole"].replace(",", ""), parts.get("fraction") or ""
    if not whole + fraction:
        return None
    minus = any(parts.get(name) in ("-", "<") for name in ("sign", "behind"))
    return Decimal(f"{'-' if minus else ''}{whole or 0}.{fraction.ljust(len(form.fraction), '0')}")


def _written(number: Decimal, written: str) -> str:
    """Format a number; `#` fills the result where it has too many digits."""
    form = number_format(written)
    assert form is not None
    whole, _, fraction = f"{abs(number):f}".partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    places, decimals = len(form.whole.replace(",", "")), len(form.fraction)
    if len(whole) > places or len(fraction) > decimals:
        whole, fraction = "#" * places, "#" * decimals
    is_below = number < 0
    sign = {"": "", "PR": "", "S": "-" if is_below else "+", "MI": "-" if is_below else " "}
    shown = _whole_written(sign[form.before] + form.dollar, form.whole, iter(whole.rjust(places)))
    if form.point:
        shown = (f"{shown[:-1]}0" if shown.endswith(" ") else shown) + "." + fraction.ljust(decimals, "0")
    if form.behind != "PR":
        return shown + sign[form.behind]
    bare = shown.lstrip(" ")
    return f"{shown[: len(shown) - len(bare)]}<{bare}>" if is_below else f"{shown}  "


def _whole_written(shown: str, places: str, digits: Iterator[str]) -> str:
    """Return the digits before the point after what is shown; a sign stands directly before them."""
    begun = False
    for place in places:
        letter = "," if place == "," else next(digits)
        begun |= place == "0" or letter not in ", "
        if begun and (place != "," or shown[-1:].isdigit()):
            shown += "0" if letter == " " else letter
        else:
            shown = f"{shown[:-1]} {shown[-1]}" if shown[-1:] in ("+", "-") else f"{shown} "
    return shown


_SIGNS = r"[^#0,.%;'\u2030E]*"
_PATTERN = re.compile(
    rf"(?P<before>{_SIGNS})(?P<whole>[#,]*[0,]*)(?P<point>\.(?P<places>0*)(?P<more>#*))?(?P<behind>%?{_SIGNS})"
)
_DOUBLES = Context(prec=1100)


def is_java_pattern(text: str) -> bool:
    """Return whether a text is a pattern of Java's DecimalFormat, of digits, a point, groups, a percent and signs
    around.
    """
    result = _PATTERN.fullmatch(text)
    return not text or (result is not None and bool(result["whole"]) and not result["whole"].endswith(","))


def _by_pattern(number: Decimal | float, pattern: str) -> str:
    """Format a number by a pattern of Java's DecimalFormat, rounding half to even."""
    result = _PATTERN.fullmatch(pattern or "#,###")
    assert result is not None
    if not math.isfinite(number):
        return "NaN" if number != number else f"{'-' if number < 0 else ''}{result['before']}∞{result['behind']}"
    whole, places, more = result["whole"], len(result["places"] or ""), len(result["more"] or "")
    exact = Decimal(number).scaleb(2 if result["behind"].startswith("%") else 0, _DOUBLES)
    rounded = exact.quantize(Decimal(1).scaleb(-places - more), ROUND_HALF_EVEN, _DOUBLES)
    digits, _, fraction = f"{abs(rounded):f}".partition(".")
    fraction = fraction[:places] + fraction[places:].rstrip("0")
    least = whole.count("0") or int(not fraction or (not places and more > 0))
    digits = digits.lstrip("0").rjust(least, "0")
    group = len(whole) - whole.rindex(",") - 1 if "," in whole else len(digits)
    shown = re.sub(rf"(?<=[0-9])(?=(?:[0-9]{{{group}}})+$)", ",", digits) if group else digits
    return f"{'-' if exact < 0 else ''}{result['before']}{shown}{'.' * bool(fraction)}{fraction}{result['behind']}"


def _type(node: exp.Expression, types: Sequence[Type]) -> Type:
    form = number_format(node.expressions[1].this)
    assert form is not None
    return form.type


FUNCTIONS |= by_rows(
    "no library has Spark's number formats",
    {
        "read_number": Function(
            _type,
            python=_read,
            partial=True,
            failure=lambda given: f"it is not written as {given[1]}" if given else "it is not written so",
        ),
        "number_by_pattern": Function(Type.STRING, python=_by_pattern),
        "written_number": Function(Type.STRING, python=_written),
    },
)
