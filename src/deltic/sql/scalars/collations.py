"""Collations: `x COLLATE UNICODE_CI` beside a comparison compares keys that ICU makes of the texts.

What compares texts takes it: comparisons, IN, BETWEEN, LIKE, CASE x WHEN, some functions, keys of GROUP BY, ORDER BY
and PARTITION BY. A column or result with a collation is refused: its later comparisons are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import version
from typing import NamedTuple

from sqlglot import exp

from deltic.sql.scalars.functions.refused import COLLATION
from deltic.sql.scalars.functions.rules import plain
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, constant
from deltic.values.types import Type

_LANGUAGES = (
    "af ar as az be bg blo bn br bs ca ceb cs cy da de dsb ee en eo es et fa ff fi fil fo fr fy ga gl gu ha haw hi hr "
    "hsb hu hy id ig is it ka kk kl kn ko kok ku ky lb lij lkt ln lo lt lv ml mr ms mt nb ne nl nn no nso om or pa pl "
    "ps pt ro ru sa se si sk sl smn sq st sv sw ta te th tk tn to tr ug uk ur uz vi wo xh yo zh zu"
)
_BASES = {name.upper(): name for name in ("UTF8_BINARY", "UTF8_LCASE", "UNICODE", *_LANGUAGES.split())}
_LEVELS = {
    frozenset[str](): "^(.*)",
    frozenset({"CI"}): "^((?:..)*?01(?:..)*?)01",
    frozenset({"CI", "AI"}): "^((?:..)*?)01",
}
"""What does not count beside letters, and which part of the key in hexadecimal is compared then, 01 between levels."""
_DEFAULTS = frozenset({"CS", "AS"})
_SIGMA = "ς", "σ"
"""The letter at the end of words, which equals the other where case does not count."""
_PASSING = {
    *("upper", "ucase", "lower", "lcase", "left", "right", "repeat", "reverse", "concat", "lpad", "rpad"),
    *("coalesce", "ifnull", "nvl"),
}
"""Functions whose value is the same in each collation, and has that of its arguments."""
_SEARCHING = {"contains", "startswith", "endswith", "find_in_set"}
_BLIND = {
    *("length", "len", "char_length", "character_length", "octet_length", "bit_length", "ascii", "levenshtein"),
}
"""Functions for which collations do not count."""


@cache
def maker() -> str:
    """What makes ICU's keys: part of each call, so that a state with keys of another version computes them again."""
    return f"DuckDB {version('duckdb')}"


class Collation(NamedTuple):
    """How texts are compared: by their bytes or by ICU's rules of a language, maybe without blanks at the end."""

    base: str
    ignored: frozenset[str] = frozenset()
    trims: bool = False

    @classmethod
    def named(cls, name: str) -> Collation:
        """The collation of a name in any case. Raises Mismatch where there is none, or none that is supported."""
        base = next((base for base in _BASES if f"{name.upper()}_".startswith(f"{base}_")), "")
        parts = name.upper().removeprefix(base).split("_")[1:]
        ignored = frozenset(parts) - _DEFAULTS - {"RTRIM"}
        is_plain = not base.startswith("UTF8") or set(parts) <= {"RTRIM"}
        if not base or ignored not in _LEVELS or not is_plain or len({part[:1] for part in parts}) < len(parts):
            raise Mismatch(f"{name}: {COLLATION}")
        return cls(_BASES[base], ignored, "RTRIM" in parts)

    @property
    def name(self) -> str:
        """Its name in Spark."""
        ignored = [part for part in ("CI", "AI") if part in self.ignored]
        return "_".join([self.base, *ignored, *(["RTRIM"] if self.trims else [])])

    def key(self, value: Typed) -> Typed:
        """What of a text is compared, byte by byte."""
        if self.trims:
            value = plain("rtrim", [value, constant(" ", Type.STRING)])
        match self.base:
            case "UTF8_BINARY":
                return value
            case "UTF8_LCASE":
                return plain("translate", [plain("lower", [value]), *(constant(sign, Type.STRING) for sign in _SIGMA)])
        language = "und" if self.base == "UNICODE" else self.base.lower()
        parts = language, _LEVELS[self.ignored], maker()
        return plain("collation_key", [value, *(constant(part, Type.STRING) for part in parts)])

    def compared(self, values: Sequence[Typed]) -> list[Typed]:
        """Texts folded for comparison; unchanged if some values are not texts."""
        if not all(value.is_null or value.type.type is Type.STRING for value in values):
            return list(values)
        return [self.key(value) for value in values]


PLAIN = Collation("UTF8_BINARY")
SEARCHED = ("UTF8_BINARY", "UTF8_LCASE")
"""The collations in which parts of a text are compared."""
KEY = "key in collation"
"""The name of a call in a query that stands for what of a text is compared in a collation."""


def text_of(node: exp.Expression) -> tuple[exp.Expression, set[str]]:
    """An operand without its collation, also within functions that pass it on, and the collations that it names."""
    inner = node.unnest()
    if isinstance(inner, exp.Collate):
        return inner.this, {inner.expression.name}
    if not isinstance(inner, exp.Anonymous | exp.Coalesce | exp.DPipe | exp.Substring):
        return node, set()
    name = inner.name.lower()
    if name == "collate" and len(inner.expressions) == 2:
        return inner.expressions[0], {inner.expressions[1].name}
    if isinstance(inner, exp.Anonymous) and name not in _PASSING:
        return node, set()
    found: set[str] = set()
    result: exp.Expression = inner.copy()
    for part in list(result.iter_expressions()):
        text, named = text_of(part)
        found |= named
        if text is not part:
            part.replace(text.copy())
    return (result, found) if found else (node, found)


def texts_of(nodes: Sequence[exp.Expression]) -> tuple[list[exp.Expression], Collation]:
    """Operands that are compared, without collations, and the only collation that they name."""
    pairs = [text_of(node) for node in nodes]
    return [text for text, _ in pairs], only(name for _, names in pairs for name in names)


def only(names: Iterable[str]) -> Collation:
    """The collation of these names. Raises Mismatch for an unknown collation, and for two of them."""
    named = {Collation.named(name) for name in names}
    if len(named) > 1:
        both = " and ".join(sorted(collation.name for collation in named))
        raise Mismatch(f"{both} are compared: name one of them")
    return named.pop() if named else PLAIN


def key(node: exp.Expression) -> exp.Expression:
    """A key by which rows are ordered, grouped or divided, as a value: what of a text is compared."""
    text, names = text_of(node)
    if not names - {"UTF8_BINARY"}:
        return node
    result = exp.Anonymous(this=KEY, expressions=[text.copy(), *map(exp.Literal.string, sorted(names))])
    result.meta.update(node.unnest().meta)
    return result


def called(
    name: str, arguments: Sequence[exp.Expression], values: Callable[[Sequence[exp.Expression]], list[Typed]]
) -> list[Typed]:
    """The arguments of a function, as the collation compares them that one names; collations that do not count go."""
    if name not in _SEARCHING | _BLIND | {"equal_null"}:
        return values(arguments)
    texts, collation = texts_of(arguments)
    if name in _BLIND:
        return values(texts)
    if name in _SEARCHING and collation.name not in SEARCHED:
        raise Mismatch(f"{name} takes COLLATE UTF8_LCASE alone")
    return collation.compared(values(texts))
