"""The collations of texts by their names in Spark, and what else of values their types do not say: fields of
intervals. Composite values have these modifiers for each part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version

from deltic.values.types import Type

_LANGUAGES = (
    "af am ar ar_SAU as az be bg blo bn bo br bs ca ceb cs cy da de de_AUT dsb dz ee en en_USA eo es et fa fa_AFG ff "
    "ff_Adlm fi fil fo fr fr_CAN fy ga gl gu ha haw he he_ISR hi hr hsb hu hy id id_IDN ig is it ja ka kk kl km kn ko "
    "kok ku ky lb lij lkt ln lo lt lv ml mr ms mt my nb nb_NOR ne nl nn no nso om or pa pa_Guru pa_Guru_IND pl ps pt "
    "ro ru sa se si sk sl smn sq sr_Latn sr_Latn_BIH sr_Latn_SRB st sv sw ta te th tk tn to tr ug uk ur uz vi wae wo "
    "xh yi yo zh zh_Hans zh_Hans_CHN zh_Hans_SGP zh_Hant zh_Hant_HKG zh_Hant_MAC zh_Hant_TWN zu"
)
_BASES = {name.upper(): name for name in ("UTF8_BINARY", "UTF8_LCASE", "UNICODE", *_LANGUAGES.split())}
_TAGS = {
    "UNICODE": "und",
    "de_AUT": "de_AT",
    "fa_AFG": "fa_AF",
    "fr_CAN": "fr_CA",
    "sr_Latn": "hr",
    "wae": "und",
    "zh_Hant": "zh_TW",
}
"""The languages that ICU knows by other names."""
_LETTERS = "^((?:..)*?)01"
_LEVELS = {
    frozenset[str](): "^(.*)",
    frozenset({"CI"}): "^((?:..)*?01(?:..)*?)01",
    frozenset({"AI"}): _LETTERS,
    frozenset({"CI", "AI"}): _LETTERS,
}
"""What does not count beside letters, and which part of the key in hexadecimal is compared then, 01 between levels.
Where accents alone do not count, the case of letters is compared after their keys."""
_DEFAULTS = frozenset({"CS", "AS"})


@cache
def maker() -> str:
    """Return what makes ICU's keys: part of each call, so that a state with keys of another version computes them
    again.
    """
    return f"DuckDB {version('duckdb')}"


@dataclass(frozen=True)
class Collation:
    """How texts are compared: by their bytes or by ICU's rules of a language, maybe without blanks at the end.

    One that `is_explicit`, by COLLATE in the same expression, decides about texts of others.
    """

    base: str
    ignored: frozenset[str] = frozenset()
    trims: bool = False
    is_explicit: bool = False

    @classmethod
    def named(cls, name: str) -> Collation | None:
        """Return the collation of a name in any case; None where there is none, or none that is supported."""
        found = [base for base in _BASES if f"{name.upper()}_".startswith(f"{base}_")]
        base = max(found, key=len, default="")
        parts = name.upper().removeprefix(base).split("_")[1:]
        ignored = frozenset(parts) - _DEFAULTS - {"RTRIM"}
        is_plain = not base.startswith("UTF8") or set(parts) <= {"RTRIM"}
        if not base or ignored not in _LEVELS or not is_plain or len({part[:1] for part in parts}) < len(parts):
            return None
        return cls(_BASES[base], ignored, "RTRIM" in parts)

    @property
    def name(self) -> str:
        """Its name in Spark."""
        ignored = [part for part in ("CI", "AI") if part in self.ignored]
        return "_".join([self.base, *ignored, *(["RTRIM"] if self.trims else [])])

    @property
    def icu(self) -> tuple[str, str, str]:
        """ICU's language, the pattern of the part of its key that is compared, and what makes keys."""
        language = "_".join(self.base.split("_")[:2])
        named = _TAGS.get(language, language.split("_")[0].lower())
        return named, _LEVELS[self.ignored], maker()

    @property
    def is_plain(self) -> bool:
        """Whether texts are compared as they are."""
        return self.base == "UTF8_BINARY" and not self.trims

    def as_explicit(self, is_explicit: bool = True) -> Collation:
        """Return the same collation, named by COLLATE or not."""
        return replace(self, is_explicit=is_explicit)


PLAIN = Collation("UTF8_BINARY")
HINT = "docs/sql.md lists the collations, such as UTF8_LCASE, UNICODE_CI and de_CI_AI"


Fields = tuple[str, str]
"""The first and the last of YEAR and MONTH, or of DAY, HOUR, MINUTE and SECOND."""


@dataclass(frozen=True)
class Within:
    """The modifiers of the parts of an array, a map or a struct."""

    parts: tuple[Modifier | None, ...]


Modifier = Fields | Collation | Within
"""What a type alone does not say: the fields of an interval, the collation of a text that is not compared by bytes."""


def within(*parts: Modifier | None) -> Within | None:
    """Return the modifier of a composite value whose parts have these."""
    return Within(parts) if any(parts) else None


def part(modifier: Modifier | None, place: int = 0) -> Modifier | None:
    """Return the modifier of a part of a composite value, such as the elements of an array."""
    return modifier.parts[place] if isinstance(modifier, Within) else None


def texts_of(type_: Type, modifier: Modifier | None) -> Iterator[Collation | None]:
    """Yield the collation of each text in a value of a type."""
    if type_ is Type.STRING:
        yield modifier if isinstance(modifier, Collation) else None
    for place, own in enumerate(type_.parts):
        yield from texts_of(own.type, part(modifier, place))


def everywhere(type_: Type, collation: Collation | None) -> Modifier | None:
    """Return the modifier of a value whose texts all have one collation."""
    if type_ is Type.STRING:
        return collation
    return within(*(everywhere(own.type, collation) for own in type_.parts))


def implied(modifier: Modifier | None) -> Modifier | None:
    """Return the modifier of the values of a column, which no COLLATE beside them names."""
    if isinstance(modifier, Within):
        return Within(tuple(map(implied, modifier.parts)))
    return modifier.as_explicit(False) if isinstance(modifier, Collation) else modifier
