"""Functions that are defined in SQL itself: their parameters, and the expression that replaces a call.

A key has the names and the parameters, each with the accepted arguments: a type, to which the argument is converted;
one of `KINDS`; or one of `EXACT` with a `!`, without which the definition does not apply. The first definition that
applies is taken. In the expression, `spark_f(…)` is a function of the table, `try_spark_f(…)` is NULL where it is
undefined, and `must_spark_f(…)` is an error where it is NULL although no argument is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from deltic.sql.scalars.coercion import as_signed, settled
from deltic.sql.scalars.functions.rules import array_of, array_or_null, map_or_null, to
from deltic.sql.scalars.operators import INTERVALS, Mismatch
from deltic.sql.scalars.typed import Typed
from deltic.values.types import Kind, Type

_DEFINITIONS: dict[str, str] = {
    # of any type
    "nvl, ifnull (value any, other any)": "coalesce(value, other)",
    "isnotnull (value any)": "value IS NOT NULL",
    "equal_null (a any, b any)": "a <=> b",
    "nullifzero (value any)": "nullif(value, 0)",
    "zeroifnull (value any)": "coalesce(value, 0)",
    "nvl2 (value any, present any, absent any)": "if(value IS NOT NULL, present, absent)",
    "isnan (number number)": "(double(number) = double('NaN')) IS TRUE",
    "nanvl (number number, other number)": "CASE WHEN isnan(number) THEN double(other) ELSE double(number) END",
    # texts and bytes
    "length, char_length, character_length, len (value binary!)": "spark_byte_length(value)",
    "octet_length (value binary!)": "spark_byte_length(value)",
    "bit_length (value any)": "octet_length(value) * 8",
    "substring, substr (value binary!, start any)": "spark_substring_bytes(value, start)",
    "substring, substr (value binary!, start any, count any)": "spark_substring_bytes(value, start, count)",
    "left (value binary!, count INT)": "spark_substring_bytes(value, 1, count)",
    "overlay (value binary!, other BINARY, start INT, length INT = -1)": (
        "spark_overlay_bytes(value, other, start, length)"
    ),
    "reverse (value binary!)": "spark_reverse_bytes(value)",
    "startswith (value binary!, part BINARY)": "spark_bytes_start_with(value, part)",
    "endswith (value binary!, part BINARY)": "spark_bytes_end_with(value, part)",
    "contains (value binary!, part BINARY)": "spark_bytes_contain(value, part)",
    "bitmap_count (value BINARY)": "spark_bits_of_bytes(value)",
    "is_valid_utf8 (value BINARY)": "if(value IS NOT NULL, try_spark_decode(value, 'UTF-8') IS NOT NULL, NULL)",
    "make_valid_utf8 (value BINARY)": "spark_valid_text(value)",
    "validate_utf8 (value BINARY)": "spark_decode(value, 'UTF-8')",
    "try_validate_utf8 (value BINARY)": "try_spark_decode(value, 'UTF-8')",
    "to_char, to_varchar (value binary!, form STRING)": (
        "CASE lower(form) WHEN 'base64' THEN base64(value) WHEN 'hex' THEN hex(value)"
        " WHEN 'utf-8' THEN spark_decode(value, 'UTF-8')"
        " ELSE string(raise_error('the formats of bytes are base64, hex and utf-8')) END"
    ),
    "current_database, current_schema ()": "'default'",
    "current_catalog ()": "'spark_catalog'",
    "raise_error (message STRING)": "must_spark_raised(coalesce(message, 'null'))",
    "assert_true (condition any, message STRING = 'the condition is not true')": (
        "if(condition, NULL, raise_error(message))"
    ),
    "trim (text any)": "btrim(text)",
    "ltrim (text any)": "spark_ltrim(text, ' ')",
    "rtrim (text any)": "spark_rtrim(text, ' ')",
    "ltrim (letters any, text any)": "spark_ltrim(text, letters)",
    "rtrim (letters any, text any)": "spark_rtrim(text, letters)",
    "locate, position (part any, text any)": "instr(text, part)",
    "locate, position (part any, text any, start any)": "if(start IS NULL, 0, spark_locate(part, text, start))",
    "instr (text STRING, part STRING, start INT, occurrence INT = 1)": (
        "spark_instr_from(text, part, start, occurrence)"
    ),
    "regexp_substr (text STRING, pattern any)": "nullif(regexp_extract(text, pattern, 0), '')",
    "regexp_instr (text STRING, pattern pattern)": "spark_java_regexp_instr(text, pattern)",
    "regexp_instr (text STRING, pattern pattern, group INT)": "if(group IS NULL, NULL, regexp_instr(text, pattern))",
    "levenshtein (a STRING, b STRING, most INT)": "try_spark_levenshtein_up_to(a, b, most)",
    "parse_url (url STRING, part STRING)": (
        "CASE WHEN part IS NULL THEN NULL WHEN spark_is_url(url) THEN try_spark_url_part(url, part) END"
    ),
    "parse_url (url STRING, part STRING, key STRING)": (
        "CASE WHEN part IS NULL OR key IS NULL THEN NULL"
        " WHEN spark_is_url(url) THEN try_spark_url_part(url, part, key) END"
    ),
    "try_parse_url (url STRING, part STRING)": "try_spark_url_part(url, part)",
    "try_parse_url (url STRING, part STRING, key STRING)": "try_spark_url_part(url, part, key)",
    "try_url_decode (text STRING)": "try_spark_url_decode(text)",
    "mask (str STRING, upperChar letter = 'X', lowerChar letter = 'x', digitChar letter = 'n',"
    " otherChar letter = NULL)": "try_spark_masked(str, upperChar, lowerChar, digitChar, otherChar)",
    "hex (value binary!)": "spark_hex_bytes(value)",
    "hex (value numeric!)": "spark_hex(value)",
    "hex (value any)": "spark_hex_text(value)",
    "encode (text STRING, charset charset)": "spark_encode(text, charset)",
    "decode (bytes BINARY, charset charset)": "spark_decode(bytes, charset)",
    "lpad (value binary!, count INT)": "spark_lpad_bytes(value, count, X'00')",
    "lpad (value binary!, count INT, filler binary!)": "spark_lpad_bytes(value, count, filler)",
    "rpad (value binary!, count INT)": "spark_rpad_bytes(value, count, X'00')",
    "rpad (value binary!, count INT, filler binary!)": "spark_rpad_bytes(value, count, filler)",
    # numbers
    "mod (a any, b any)": "a % b",
    "bitmap_bucket_number (number BIGINT)": ("if(number > 0, (number - 1) div 32768 + 1, number div 32768)"),
    "bitmap_bit_position (number BIGINT)": "if(number > 0, (number - 1) % 32768, -(number % 32768))",
    "width_bucket (value interval!, low interval!, high interval!, count BIGINT)": (
        "width_bucket(double(spark_units_of_interval(value)), double(spark_units_of_interval(low)),"
        " double(spark_units_of_interval(high)), count)"
    ),
    "div (a any, b any)": "a div b",
    "positive (span interval!)": "span",
    "positive (number number)": "number",
    "negative (number any)": "-number",
    "pi ()": "3.141592653589793D",
    "e ()": "2.718281828459045D",
    "shiftleft (value any, places any)": "value << places",
    "shiftright (value any, places any)": "value >> places",
    "shiftrightunsigned (value bigint!, places INT)": "spark_shift_unsigned(value, places, 64)",
    "shiftrightunsigned (value INT, places INT)": "spark_shift_unsigned(value, places, 32)",
    "abs (span interval!)": "CASE WHEN span < span - span THEN -span ELSE span END",
    "sign, signum (span interval!)": (
        "CASE WHEN span > span - span THEN 1D WHEN span < span - span THEN -1D WHEN span IS NOT NULL THEN 0D END"
    ),
    "abs (number float!)": "CASE WHEN number <= 0 THEN 0F - number ELSE number END",
    "abs (number double!)": "CASE WHEN number <= 0 THEN 0D - number ELSE number END",
    "abs (text string!)": "abs(double(text))",
    "abs (number number)": "CASE WHEN number < 0 THEN -number ELSE number END",
    "conv (number STRING, base INT, other INT)": (
        "CASE WHEN spark_is_narrow(number, base, other) THEN try_spark_conv(number, base, other) END"
    ),
    "to_number (text STRING, form form)": "spark_read_number(text, form)",
    "try_to_number (text STRING, form form)": "try_spark_read_number(text, form)",
    "log (number any)": "ln(number)",
    "bit_count (value boolean!)": "int(value)",
    # dates and times
    "date_add, dateadd (day DATE, days whole)": "day + days",
    "date_sub (day DATE, days whole)": "day - days",
    "unix_date (day any)": "datediff(day, '1970-01-01')",
    "date_from_unix_date (days any)": "date_add('1970-01-01', days)",
    "unix_seconds (time TIMESTAMP)": "bigint(time)",
    "date_format (clock clock!, pattern writable)": "spark_date_format(spark_instant_of_clock(clock), pattern)",
    "date_format (time TIMESTAMP, pattern writable)": "spark_date_format(time, pattern)",
    "to_char, to_varchar (time time!, pattern any)": "date_format(time, pattern)",
    "unix_timestamp, to_unix_timestamp (text string!, pattern readable = 'yyyy-MM-dd HH:mm:ss')": (
        "unix_micros(spark_read_time(text, pattern)) div 1000000"
    ),
    "unix_timestamp, to_unix_timestamp (time any, pattern any = NULL)": "unix_micros(time) div 1000000",
    "from_unixtime (seconds BIGINT, pattern writable = 'yyyy-MM-dd HH:mm:ss')": (
        "spark_date_format(timestamp(seconds), pattern)"
    ),
    "date_trunc (unit unit, time TIMESTAMP)": "spark_date_trunc(unit, time)",
    "trunc (day DATE, unit unit_of_dates)": "spark_trunc(day, unit)",
    "current_timezone ()": "'UTC'",
    "convert_timezone (target STRING, time TIMESTAMP_NTZ)": "spark_converted_time('UTC', target, time)",
    "convert_timezone (source STRING, target STRING, time TIMESTAMP_NTZ)": "spark_converted_time(source, target, time)",
    "hour (clock clock!)": "hour(spark_instant_of_clock(clock))",
    "minute (clock clock!)": "minute(spark_instant_of_clock(clock))",
    "second (clock clock!)": "second(spark_instant_of_clock(clock))",
    "time_to_seconds (clock clock!)": "CAST(unix_micros(spark_instant_of_clock(clock)) * 0.000001 AS DECIMAL(14, 6))",
    "time_to_millis (clock clock!)": "unix_millis(spark_instant_of_clock(clock))",
    "time_to_micros (clock clock!)": "unix_micros(spark_instant_of_clock(clock))",
    "time_from_seconds (seconds number)": "spark_clock_of_micros(bigint(seconds * 1000000L))",
    "time_from_millis (millis BIGINT)": "spark_clock_of_micros(millis * 1000)",
    "time_from_micros (micros BIGINT)": "spark_clock_of_micros(micros)",
    "make_time (hour INT, minute INT, second any)": (
        "spark_clock_of_micros(CASE WHEN hour < 0 OR hour > 23 OR minute < 0 OR minute > 59 OR second < 0 OR"
        " second >= 60 THEN -1 ELSE bigint((hour * 3600 + minute * 60 + second) * 1000000L) END)"
    ),
    "time_trunc (unit unit_of_clocks, clock time_of_day)": "try_spark_clock_floor(clock, unit)",
    "time_diff (unit unit_of_clocks, first time_of_day, last time_of_day)": (
        "(time_to_micros(last) - time_to_micros(first)) div unit"
    ),
    "to_time (text STRING)": "CAST(text AS TIME)",
    "to_time (text STRING, pattern any)": "try_spark_clock_of_time(to_timestamp(text, pattern))",
    "try_to_time (text STRING)": "TRY_CAST(text AS TIME)",
    "try_to_time (text STRING, pattern any)": "try_spark_clock_of_time(try_to_timestamp(text, pattern))",
    # arrays and maps
    "get (items array, index INT)": "try_spark_get(items, index)",
    "array_size (items array_or_null)": "size(items)",
    "slice (items array_or_null, start INT, length INT)": "spark_slice(items, start, length)",
    "str_to_map (text STRING, first pattern = ',', second pattern = ':')": "spark_str_to_map(text, first, second)",
    "array_repeat (value typed, count INT)": "CASE WHEN count IS NOT NULL THEN spark_array_repeat(value, count) END",
    "element_at (items array!, place whole)": (
        "CASE WHEN place <> 0 AND place >= -size(items) AND place <= size(items)"
        " THEN try_spark_at(items, place) ELSE must_spark_at(items, place) END"
    ),
    "try_element_at (items array!, place whole)": (
        "CASE WHEN place <> 0 THEN try_spark_at(items, place) ELSE must_spark_at(items, place) END"
    ),
    "array_join (items texts, separator STRING)": "try_spark_array_join(items, separator)",
    "array_join (items texts, separator STRING, instead STRING)": "try_spark_array_join(items, separator, instead)",
    "reverse (items array!)": "try_spark_array_reverse(items)",
    # arrays of texts that have a collation
    "array_distinct (items collated!)": "filter(items, (x, i) -> NOT exists(slice(items, 1, i), y -> y <=> x))",
    "array_union (items collated!, others any)": "array_distinct(concat(items, others))",
    "array_intersect (items collated!, others any)": "filter(array_distinct(items), x -> exists(others, y -> y <=> x))",
    "array_except (items collated!, others any)": (
        "filter(array_distinct(items), x -> NOT exists(others, y -> y <=> x))"
    ),
    "array_remove (items collated!, value any)": (
        "CASE WHEN value IS NOT NULL THEN filter(items, x -> x IS NULL OR x <> value) END"
    ),
    "array_min (items collated!)": "try_element_at(array_sort(items), 1)",
    "array_max (items collated!)": "try_element_at(sort_array(items, FALSE), 1)",
    "array_sort (items collated!)": (
        "array_sort(items, (x, y) -> CASE WHEN x < y OR x IS NOT NULL AND y IS NULL THEN -1"
        " WHEN x > y OR x IS NULL AND y IS NOT NULL THEN 1 ELSE 0 END)"
    ),
    "sort_array (items collated!, ascending truth = TRUE)": (
        "array_sort(items, (x, y) -> if(ascending, 1, -1) * CASE WHEN x < y OR x IS NULL AND y IS NOT NULL THEN -1"
        " WHEN x > y OR x IS NOT NULL AND y IS NULL THEN 1 ELSE 0 END)"
    ),
    "sort_array (items ordered, ascending truth = TRUE)": "try_spark_sort_array(items, ascending)",
    "map_keys (value map_or_null)": "try_spark_map_keys(value)",
    "map_values (value map_or_null)": "try_spark_map_values(value)",
    "map_entries (value map_or_null)": "try_spark_map_entries(value)",
    # vectors
    "vector_inner_product (a vector, b vector)": (
        "if(size(a) <> size(b), float(raise_error('the vectors differ in length')),"
        " float(try_spark_inner_product(a, b)))"
    ),
    "vector_l2_distance (a vector, b vector)": (
        "if(size(a) <> size(b), float(raise_error('the vectors differ in length')), float(try_spark_l2_distance(a, b)))"
    ),
    "vector_cosine_similarity (a vector, b vector)": (
        "if(size(a) <> size(b), float(raise_error('the vectors differ in length')), float(try_spark_inner_product(a, b)"
        " / nullif(sqrt(try_spark_inner_product(a, a) * try_spark_inner_product(b, b)), 0D)))"
    ),
    "vector_norm (value vector)": "float(try_spark_norm(value, float(2)))",
    "vector_norm (value vector, degree float!)": (
        "if(degree NOT IN (float(1), float(2), float('inf')),"
        " float(raise_error('the degree of a norm is 1, 2 or inf')), float(try_spark_norm(value, degree)))"
    ),
    "vector_normalize (value vector)": "vector_normalize(value, float(2))",
    "vector_normalize (value vector, degree float!)": (
        "if(isnotnull(vector_norm(value, degree)) AND (try_spark_norm(value, degree) > 0 OR size(value) = 0),"
        " transform(value, x -> float(x / try_spark_norm(value, degree))), NULL)"
    ),
}

Taken = TypeVar("Taken", bound=Callable[[Typed, str], Typed])

KINDS: dict[str, Callable[[Typed, str], Typed]] = {"any": lambda argument, _: argument}
"""What a parameter takes beside types: an argument of the function of that name as the expression has it."""

EXACT: Mapping[str, Callable[[Type], bool]] = {
    "array": lambda type_: type_.kind is Kind.ARRAY,
    "bigint": lambda type_: type_ is Type.INT64,
    "binary": lambda type_: type_ is Type.BINARY,
    "boolean": lambda type_: type_ is Type.BOOLEAN,
    "clock": lambda type_: type_ is Type.TIME,
    "double": lambda type_: type_ is Type.FLOAT64,
    "float": lambda type_: type_ is Type.FLOAT32,
    "interval": lambda type_: type_ in INTERVALS,
    "numeric": lambda type_: type_.is_numeric,
    "string": lambda type_: type_ is Type.STRING,
    "time": lambda type_: type_ in (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ),
}
"""What an argument's type is, for a definition with `!` to count."""

_TYPES = {
    "BIGINT": Type.INT64,
    "BINARY": Type.BINARY,
    "BOOLEAN": Type.BOOLEAN,
    "DATE": Type.DATE,
    "INT": Type.INT32,
    "STRING": Type.STRING,
    "TIMESTAMP": Type.TIMESTAMP,
    "TIMESTAMP_NTZ": Type.TIMESTAMP_NTZ,
}


def kind(name: str) -> Callable[[Taken], Taken]:
    """Enter what parameters of a kind take."""

    def enter(brought: Taken) -> Taken:
        KINDS[name] = brought
        return brought

    return enter


@dataclass(frozen=True)
class DefinedParameter:
    """A parameter: its name, what it takes, and the literal that stands for an argument that is not given."""

    name: str
    takes: str
    default: str

    def counts(self, argument: Typed) -> bool:
        """Return whether the definition counts for an argument."""
        if self.takes == "collated!":
            return argument.is_collated
        is_exact = self.takes.endswith("!")
        return not is_exact or (not argument.is_null and EXACT[self.takes[:-1]](argument.type.type))

    def of(self, argument: Typed, function: str) -> Typed:
        """Return the argument as the expression has it."""
        if self.takes.endswith("!"):
            return argument
        type_ = _TYPES.get(self.takes)
        return KINDS[self.takes](argument, function) if type_ is None else to(argument, type_)


@dataclass(frozen=True)
class FunctionDefinition:
    """A function, or one of several of its name, that is an expression of its parameters."""

    name: str
    parameters: tuple[DefinedParameter, ...]
    body: str

    def fits(self, arguments: Sequence[Typed]) -> bool:
        """Return whether it is of such arguments."""
        least = sum(not parameter.default for parameter in self.parameters)
        return least <= len(arguments) <= len(self.parameters) and all(
            parameter.counts(argument) for parameter, argument in zip(self.parameters, arguments, strict=False)
        )

    def brought(self, arguments: Sequence[Typed]) -> dict[str, Typed]:
        """Return the arguments, defaults included, by the names of the parameters, as the expression has them."""
        pairs = zip(self.parameters, arguments, strict=True)
        return {parameter.name.lower(): parameter.of(argument, self.name) for parameter, argument in pairs}


def _parameter(written: str) -> DefinedParameter:
    declared, _, default = written.partition(" = ")
    name, takes = declared.split(" ")
    return DefinedParameter(name, takes, default)


def _defined() -> dict[str, list[FunctionDefinition]]:
    result: dict[str, list[FunctionDefinition]] = {}
    for key, body in _DEFINITIONS.items():
        names, _, written = key.removesuffix(")").partition(" (")
        parameters = tuple(map(_parameter, filter(None, written.split(", "))))
        for name in names.split(", "):
            result.setdefault(name, []).append(FunctionDefinition(names.split(", ")[0], parameters, body))
    return result


DEFINED: Mapping[str, Sequence[FunctionDefinition]] = _defined()
"""The definitions of each function."""


def definition_of(name: str, arguments: Sequence[Typed]) -> FunctionDefinition | None:
    """Return the definition of a function that counts for such arguments; None where there is none."""
    return next((definition for definition in DEFINED.get(name, ()) if definition.fits(arguments)), None)


@kind("array")
def _array(value: Typed, _: str) -> Typed:
    array_of(value)
    return value


@kind("vector")
def _vector(value: Typed, function: str) -> Typed:
    """An array of FLOATs, to which nothing else is converted."""
    if value.is_null or array_of(value).element.type is not Type.FLOAT32:
        raise Mismatch(f"{function} takes an ARRAY<FLOAT> here")
    return value


kind("array_or_null")(lambda value, _: array_or_null(value))
kind("map_or_null")(lambda value, _: map_or_null(value))
kind("typed")(lambda value, _: settled(value))


@kind("truth")
def _truth(argument: Typed, _: str) -> Typed:
    """A BOOLEAN, to which nothing else is converted."""
    if not argument.is_null and argument.type.type is not Type.BOOLEAN:
        raise Mismatch("BOOLEAN is taken here")
    return to(argument, Type.BOOLEAN)


@kind("whole")
def _whole(value: Typed, function: str) -> Typed:
    """An INT, for which neither a BIGINT nor a number with a fraction stands."""
    type_ = as_signed(value.type.type)
    if not (value.is_null or (type_.is_integer and type_ is not Type.INT64) or type_ is Type.STRING):
        raise Mismatch(f"{function} takes an INT here")
    return to(value, Type.INT32)
