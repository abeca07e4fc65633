"""Rules of functions of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial

from sqlglot import exp

from deltic.circuit.expressions import is_literal
from deltic.circuit.expressions.casts import is_null_of_a_type
from deltic.circuit.expressions.duckdb import takes_pattern
from deltic.functions.binary import CHARSETS
from deltic.functions.formats import HOLE, is_hole
from deltic.functions.java_patterns import PART_OF_REPLACEMENT, compiled, for_re2
from deltic.functions.json import is_supported, steps_of
from deltic.sql.collations import HINT, PLAIN, Collation
from deltic.sql.scalars import conditions, operators
from deltic.sql.scalars.coercion import coerced
from deltic.sql.scalars.functions.definitions import kind
from deltic.sql.scalars.functions.lookup import Unknown
from deltic.sql.scalars.functions.rules import (
    RULES,
    apply,
    attempt,
    is_bare,
    literal_of,
    must,
    plain,
    rule,
    to,
    where_present,
)
from deltic.sql.scalars.operators import Mismatch, case
from deltic.sql.scalars.typed import NULL, Typed, attempted, constant, folded
from deltic.values.types import Kind, Type

TEXT, INT, LONG, BYTES = Type.STRING, Type.INT32, Type.INT64, Type.BINARY
_TEXTS = Type.array(TEXT.or_null)


@rule("concat", of="concat array_concat")
def concat(*parts: Typed) -> Typed:
    """Texts or arrays, one after the other."""
    if any(part.type.type.kind is Kind.ARRAY for part in parts):
        return RULES["array_concat"](*parts)
    return operators.joined(parts) if parts else constant("", TEXT)


@rule("concat_ws")
def concat_ws(separator: Typed, *parts: Typed) -> Typed:
    """The texts that are not NULL, and those in arrays, with a separator between them."""
    own = [coerced(p, _TEXTS) if p.type.type.kind is Kind.ARRAY else to(p, TEXT) for p in parts]
    return attempt("concat_ws", to(separator, TEXT), *own)


@kind("pattern")
def pattern_of(argument: Typed, name: str) -> Typed:
    """A regular expression; one that is a literal has to be right."""
    own = to(argument, TEXT)
    if not is_literal(own.expression):
        return own
    shared = for_re2(written := own.expression.name, True)
    if compiled(written) is None and (shared is None or not takes_pattern(shared)):
        raise Mismatch(f"the pattern of {name} is no regular expression")
    return own


def shared_pattern(argument: Typed, name: str) -> Typed | None:
    """Return a literal that RE2 reads as Java does; None for another pattern, which Python reads for each row."""
    own = pattern_of(argument, name)
    if is_null_of_a_type(own.expression):
        literal_of(own, f"the pattern of {name}", sample="(x)")
    written = for_re2(own.expression.name, name == "rlike") if is_literal(own.expression) else None
    return None if written is None or not takes_pattern(written) else constant(written, TEXT)


def _searched(name: str, text: Typed, pattern: Typed) -> Typed:
    """Return whether a pattern is in a text, or how often."""
    known, own = shared_pattern(pattern, name), to(text, TEXT)
    return apply(f"java_{name}", own, to(pattern, TEXT)) if known is None else apply(name, own, known)


rule("rlike", "regexp", "regexp_like", of="rlike")(partial(_searched, "rlike"))
rule("regexp_count", of="regexp_count")(partial(_searched, "regexp_count"))


def _extracted(name: str, text: Typed, pattern: Typed, group: Typed | None = None) -> Typed:
    """Return the text of a pattern's group, the first where none is asked for, at the first match, or at every
    match.
    """
    known, own = shared_pattern(pattern, name), to(text, TEXT)
    number = constant(1, INT) if group is None else to(group, INT)
    if is_literal(number.expression) and is_literal(pattern.expression):
        found, place = compiled(pattern.expression.name), int(literal_of(number, "the group", INT))
        if found is not None and not 0 <= place <= found.groups:
            raise Mismatch(f"the pattern has no group {place}")
    if known is None or not is_literal(number.expression):
        return apply(f"java_{name}", own, to(pattern, TEXT), number)
    return apply(name, own, known, number)


rule("regexp_extract")(partial(_extracted, "regexp_extract"))
rule("regexp_extract_all")(partial(_extracted, "regexp_extract_all"))


@rule("regexp_replace", of="regexp_replace java_regexp_replace")
def regexp_replace(text: Typed, pattern: Typed, replacement: Typed, position: Typed | None = None) -> Typed:
    """Every match, from a position on, replaced; $1 in the replacement is what the first group holds."""
    if position is not None:
        return _replaced_from(text, pattern, replacement, int(literal_of(position, "the position", INT, "1")))
    known, own, written = shared_pattern(pattern, "regexp_replace"), to(text, TEXT), to(replacement, TEXT)
    if known is None or not is_literal(written.expression) or _is_of_nothing(pattern):
        return apply("java_regexp_replace", own, to(pattern, TEXT), written)
    parts = list(PART_OF_REPLACEMENT.finditer(written.expression.name))
    if any(part["wrong"] for part in parts):
        raise Mismatch(r"in the replacement of regexp_replace, $ must precede a digit, and \ a letter or sign")
    if any(len(part["group"] or "") > 1 for part in parts):
        return apply("java_regexp_replace", own, to(pattern, TEXT), written)
    numbers = [int(part["group"]) for part in parts if part["group"]]
    found = compiled(pattern.expression.name)
    if numbers and found is not None and max(numbers) > found.groups:
        raise Mismatch(f"the pattern has no group {max(numbers)}")
    put = constant(PART_OF_REPLACEMENT.sub(_for_duckdb, written.expression.name), TEXT)
    return apply("regexp_replace", own, known, put)


def _is_of_nothing(pattern: Typed) -> bool:
    """Return whether a pattern has matches of nothing, which RE2 sees otherwise than Java."""
    found = compiled(pattern.expression.name)
    return found is not None and found.match("") is not None


def _for_duckdb(part: re.Match[str]) -> str:
    if part["group"]:
        return f"\\{part['group']}"
    return "\\\\" if part["sign"] == "\\" else part["sign"]


def _replaced_from(text: Typed, pattern: Typed, replacement: Typed, position: int) -> Typed:
    """Return the text with the matches from a position on replaced; where it has no such position, as it is."""
    if position < 1:
        raise Mismatch("the position counts from 1")
    if position == 1:
        return regexp_replace(text, pattern, replacement)
    place = constant(position, INT)
    rest = regexp_replace(plain("substring", [text, place]), pattern, replacement)
    whole = operators.joined([plain("left", [text, constant(position - 1, INT)]), rest])
    is_there = operators.comparison(exp.GTE, plain("length", [text]), place)
    return folded(case([(is_there, whole)], to(text, TEXT)))


@rule("get_json_object", of="get_json_object is_json_path raised")
def get_json_object(text: Typed, path: Typed) -> Typed:
    """The value at a path of a JSON text, as text; NULL without one, or if the text is not JSON."""
    if not (is_literal(path.expression) or is_bare(path)):
        found = attempt("get_json_object", to(text, TEXT), to(path, TEXT))
        refused = coerced(must("raised", constant(_PATH, TEXT)), TEXT)
        return where_present(case([(apply("is_json_path", to(path, TEXT)), found)], refused), to(path, TEXT))
    written = literal_of(path, "the path of get_json_object", sample="$")
    if not written.startswith("$"):
        return coerced(NULL, TEXT)
    if steps_of(written) is None or not is_supported(written):
        raise Mismatch(_PATH)
    return attempt("get_json_object", to(text, TEXT), constant(written, TEXT))


_PATH = "a path has fields and elements, $.a['b'][0], and after a field all elements, [*], at most once"


@rule("split", of="split java_split letters")
def split(text: Typed, pattern: Typed, limit: Typed | None = None) -> Typed:
    """The parts between the matches of a pattern, at most this many where a limit above zero is given."""
    known, own = shared_pattern(pattern, "split"), to(text, TEXT)
    most = constant(-1, INT) if limit is None else to(limit, INT)
    is_empty = known is not None and not known.expression.name
    if is_empty and limit is not None:
        return attempt("letters", own, most)
    if known is None or limit is not None or (not is_empty and _is_of_nothing(pattern)):
        return apply("java_split", own, to(pattern, TEXT), most)
    return apply("split", own, known)


def like(name: str, text: Typed, pattern: Typed, escape: str = "\\") -> Typed:
    """Return whether the whole text is like a pattern with % for any letters and _ for one."""
    if len(escape) != 1:
        raise Mismatch("the ESCAPE of LIKE is one letter")
    if not pattern.is_null and isinstance(pattern.expression, exp.Literal):
        plain_text = pattern.expression.name.replace(escape * 2, "")
        if re.search(re.escape(escape) + r"(?![%_])", plain_text):
            raise Mismatch(f"in the pattern of LIKE, {escape} must precede %, _ or {escape}")
    own, sign = to(pattern, TEXT), constant(escape, TEXT)
    result = apply(name, to(text, TEXT), own, sign)
    if is_literal(own.expression):
        return result
    return folded(where_present(case([(apply("is_pattern", own, sign), result)], None), to(text, TEXT)))


def _like_function(name: str, text: Typed, pattern: Typed, escape: Typed | None = None) -> Typed:
    """LIKE or ILIKE as a function."""
    return like(name, text, pattern, "\\" if escape is None else literal_of(escape, "the ESCAPE of LIKE"))


rule("like")(partial(_like_function, "like"))
rule("ilike")(partial(_like_function, "ilike"))


def within_bound(text: Typed, limit: int, fixed: bool) -> Typed:
    """Return a text as a column of at most this many letters has it, an error if it is longer; see `Storing`."""
    return apply("bounded_text", text, constant(limit, INT), constant(fixed, Type.BOOLEAN))


def _to_binary(safe: bool, text: Typed, kind: Typed | None = None) -> Typed:
    """Return the bytes that a text writes: in hex, the letters themselves, or in base64."""
    name = "hex" if kind is None else literal_of(kind, "the format of to_binary", sample="hex").lower()
    if name in ("utf-8", "utf8"):
        return coerced(to(text, TEXT), BYTES)
    if name not in ("hex", "base64") and safe:
        return coerced(NULL, BYTES)
    if name not in ("hex", "base64"):
        raise Mismatch("the formats of to_binary are 'hex', 'utf-8' and 'base64'")
    call = attempt if safe else must
    return call({"hex": "unhex", "base64": "of_base64"}[name], to(text, TEXT))


rule("to_binary", of="unhex of_base64")(partial(_to_binary, False))
rule("try_to_binary", of="unhex of_base64")(partial(_to_binary, True))


@rule("format_string", "printf", of="formatted concat")
def format_string(pattern: Typed, *values: Typed) -> Typed:
    """A text in which %s, %d, %x, %.2f and their like stand for values, one for each."""
    pieces = HOLE.split(literal_of(pattern, "the pattern of format_string"))
    if any("%" in piece for piece in pieces[::2]):
        flags = "the flags - + 0, a blank and a comma, a width and places"
        raise Mismatch(f"format_string knows %s, %b, %c, %d, %x, %X, %o, %f, %e, %g and %%, with {flags}")
    left = iter(values)
    return operators.joined(
        [
            _filled(piece, _argument(piece, values, left)) if i % 2 and piece not in _SIGNS else _constant(piece)
            for i, piece in enumerate(pieces)
        ]
    )


_SIGNS = {"%%": "%", "%n": "\n"}


def _constant(piece: str) -> Typed:
    return constant(_SIGNS.get(piece, piece), TEXT)


def _argument(hole: str, values: Sequence[Typed], left: Iterator[Typed]) -> Typed:
    """Return the value of a placeholder: the next one, or the one of its number."""
    number = re.match(r"%(\d+)\$", hole)
    result = next(left, None) if number is None else dict(enumerate(values, 1)).get(int(number[1]))
    if result is None:
        raise Mismatch(f"there is no value for {hole}")
    return result


def _filled(hole: str, value: Typed) -> Typed:
    """Return a value's text in a placeholder; `null` for NULL."""
    if not is_hole(hole):
        raise Mismatch(f"{hole} has flags, a width or places that do not go together")
    kind, own = hole[-1].lower(), _as_java_has(value)
    type_, taken = own.type.type, _TAKEN.get(kind, LONG)
    if kind == "b":
        is_true = value if type_ is Type.BOOLEAN else conditions.chosen([conditions.is_null(value)], [NULL], _TRUE)
        own = coerced(is_true, TEXT)
    elif not own.is_null and kind != "s" and not (type_.is_numeric if taken is Type.FLOAT64 else type_.is_integer):
        raise Mismatch(f"{hole} stands for {'a number' if taken is Type.FLOAT64 else 'an integer'}")
    bits = 8 * type_.arrow.byte_width if taken is LONG and not own.is_null else 64
    exact = type_ if taken is Type.FLOAT64 and type_.kind is Kind.DECIMAL else taken
    return attempt("formatted", constant(hole, TEXT), constant(bits, INT), coerced(own, exact))


_TAKEN = {"s": TEXT, "b": TEXT, "c": INT, **dict.fromkeys("feg", Type.FLOAT64)}
"""What holes of a kind show; others show integers."""
_TRUE = constant(True, Type.BOOLEAN)


def _as_java_has(value: Typed) -> Typed:
    """Return a value as Java's Formatter sees it: a number of days, microseconds, nanoseconds or months for times."""
    if value.is_null:
        return value
    match value.type.type.kind:
        case Kind.DATE:
            return attempted(exp.Sub, value, constant(date(1970, 1, 1), Type.DATE))
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            return plain("unix_micros", [value])
        case Kind.TIME:
            return operators.arithmetic(exp.Mul, operators.micros_of(value), constant(1000, LONG))
        case Kind.YEAR_MONTH_INTERVAL | Kind.DAY_TIME_INTERVAL:
            return apply("units_of_interval", value)
        case Kind.BINARY | Kind.ARRAY | Kind.STRUCT | Kind.MAP:
            raise Mismatch("Java's Formatter shows where such values are in memory; cast to STRING")
    return value


@rule("collate", of="core")
def collate(text: Typed, name: Typed) -> Typed:
    """The text itself, which is compared in this collation."""
    named = literal_of(name, "the name of a collation")
    result = Collation.named(named)
    if result is None:
        raise Unknown(f"there is no collation {named}", HINT)
    return replace(to(text, TEXT), modifier=result.as_explicit())


@rule("collation", of="core")
def collation(text: Typed) -> Typed:
    """The whole name of the collation of a text."""
    to(text, TEXT)
    return constant(f"SYSTEM.BUILTIN.{(text.collation or PLAIN).name}", TEXT)


@kind("letter")
def _letter(given: Typed, function: str) -> Typed:
    """A letter, or NULL."""
    if given.is_null or is_null_of_a_type(given.expression):
        return to(given, TEXT)
    if len(letter := literal_of(given, f"a letter of {function}")) != 1:
        raise Mismatch(f"{letter!r} is not one letter")
    return constant(letter, TEXT)


@kind("charset")
def _charset(charset: Typed, _: str) -> Typed:
    """The name of a charset, in capitals."""
    name = literal_of(charset, "the charset", sample="utf-8").upper()
    if name not in CHARSETS:
        raise Mismatch(f"the charsets are {', '.join(CHARSETS)}")
    return constant(name, TEXT)
