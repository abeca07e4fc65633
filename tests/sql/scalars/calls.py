"""Calls of SQL's functions over columns, and random rows of these columns: what Spark is asked, see ask_spark.py.

A call is a line of calls.txt. Its columns have the types and values of `COLUMNS`: edges that are often where functions
differ, and random ones.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from deltic.values.types import Type

HERE = Path(__file__).parent
CALLS = list(dict.fromkeys((HERE / "calls.txt").read_text().splitlines()))

TEXT, INT, LONG, DOUBLE = Type.STRING, Type.INT32, Type.INT64, Type.FLOAT64
DATE, TIME, NTZ, BYTES, BOOL = Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.BINARY, Type.BOOLEAN
NAN, INF = math.nan, math.inf
_TEXTS = ("", "a", "abc", "Hello World", " pad ", "é", "Straße", "e\u0301x", "𝒳y𝒳", "x-y-z", "İI", "ǆ", "%_", "a,b,,c")
_TEXTS += ("12", "日本語", "\t\n", "ab" * 9, 'o\'ne "q"', "a\\b", "ΑΣ", "ﬁn", "don't stop", "aXbXc", "🇦🇶x")  # type: ignore[assignment]
_INTS = (0, 1, -1, 2, 3, 7, -5, 12, 100, 2**31 - 1, -(2**31))
_LONGS = (0, 1, -1, 5, 63, 2**63 - 1, -(2**63), 10**10, -(10**6), 2**31)
_DOUBLES = (0.0, -0.0, NAN, INF, -INF, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e300, 5e-324, -1e-7, 0.1, 123456.789, 1e16, 2.0)
_DATES = tuple(
    map(
        date.fromisoformat,
        ["0001-01-01", "9999-12-31", "1582-10-04", "1582-10-15", "1970-01-01", "1969-12-31", "2000-02-29"],
    )
)
_DATES += tuple(
    map(date.fromisoformat, ["2100-02-28", "2024-02-29", "2024-12-30", "2021-01-03", "1900-03-01", "2023-01-31"])
)
_TIMES = tuple(
    datetime.fromisoformat(line).replace(tzinfo=UTC)
    for line in [
        "",
        "0001-01-01 00:00:00",
        "9999-12-31 23:59:59.999999",
        "1969-12-31 23:59:59.999999",
        "1970-01-01 00:00:00",
        "2024-02-29 12:00:00.5",
        "2023-03-26 02:30:00",
        "2023-10-29 01:30:00",
        "1582-10-10 10:10:10.1",
        "2000-01-01 00:00:00.000001",
        "2024-12-30 13:05:09.987",
        "1900-01-01 11:59:59",
        "",
    ][1:-1]
)
_JSON = (
    '{"a":1,"b":[1,2.50,{"c":"x"}]}',
    '{"a":{"b":"y"},"a":2}',
    "[1,2,3]",
    '["x",null,{"a":3}]',
    "{}",
    "[]",
    "1",
    '"t"',
    "null",
    "{'a':'s'}",
    '{"a":null,"b":""}',
    "{bad",
    "",
    '{"a":1e3,"b":[]}',
    '{"a":"\\u00e9\\n","b":[[1],[2]]}',
    ' {"a":true} ',
    '{"a":12345678901234567890,"b":[0.1]}',
)
_URLS = (
    "http://user:pw@host.org:80/p/a?q=1&r=%20x#frag",
    "https://a.b/",
    "ftp://h/x?y",
    "no url",
    "mailto:a@b",
    "http://a.b?q=é&q=2",
    "http://[::1]:8/x",
    "/only/path?k=v",
    "http://a.b/%zz",
    "http://a_b.c/d",
    "",
)
_NUMBERS = ("0", "1", "-7", " 12 ", "1.5", "-0.05", "+3", "1e3", "1,234", "$5.00", "abc", "", "NaN", "-", "ff", "7F")
_NUMBERS += ("9223372036854775808", "18446744073709551615", "-8000000000000000", "0x1A", "1234.567", "١٢")  # type: ignore[assignment]
_DATE_TEXTS = (
    "2020-02-29",
    "2021-02-29",
    "2020-1-5",
    " 2020-01-31 ",
    "2020",
    "2020-12",
    "20200101",
    "x",
    "",
    "0000-01-01",
)
_DATE_TEXTS += ("2020-01-31T10:11:12", "2020-01-31 10:11:12.1234567", "2020-06-15 23:59:59+02:00", "10000-01-01")  # type: ignore[assignment]
_DATE_TEXTS += ("2020-06-15 1:2:3 America/New_York", "2020-13-01", "2020-06-15 24:00:00", "31/01/2020")  # type: ignore[assignment]
_HEX = ("", "4A", "4a4B", "f", "FF00", "xyz", "00ff7", "YWJj", "YWI=", "YQ==", "Y Q = =", "YWJj\r\nYWJj", "*", "Y")
_BYTES = (b"", b"abc", b"\x00\xff", "é".encode(), b"\xff\xfe", b"Spark SQL")
_ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "+02:30",
    "-08:00",
    "Z",
    "GMT+3",
    "PST",
    "Nowhere",
    "",
    "Asia/Kolkata",
)
_DAYS = ("Mon", "TUESDAY", "fr", "Sunday", "xx", "", "WE", " th ")
_SMALL = (0, 1, -1, 2, 3, -2, 5, -4, 9, 12, -20, 40)
_UNITS = (
    "YEAR",
    "mon",
    "QUARTER",
    "week",
    "DAY",
    "hour",
    "MINUTE",
    "second",
    "MILLISECOND",
    "microsecond",
    "yy",
    "nope",
)
_ARRAYS = ((), (1, None, 3), (0,), (2**31 - 1, 5, 5), (None,), (3, 1, 2), (None, None, 7, 7), (-1, 0, 1))
_NESTED = ((), ((1,), (2, 3)), ((1, None), None), ((), (4,)), ((None,),))
_OF_TEXTS = ((), ("a", None, "é"), ("12",), ("b", "a", "b"), ("k", "l", "m"), ("", "𝒳", "e\u0301"), (None,), ("A", "a"))
_OF_DOUBLES = ((), (1.5, NAN, None), (0.0, -1.0), (INF, -INF, NAN), (2.5, 2.5), (-0.0, 0.0))
_MAPS = ((), (("a", 1), ("b", None)), (("b", 7),), (("a", 1), ("c", 3), ("é", -2)), (("", 0),))


def _decimals(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))


def _text(rng: random.Random) -> str:
    return "".join(rng.choice("abcXYZ 012-,.é𝒳%_") for _ in range(rng.randint(0, 12)))


def _time(rng: random.Random) -> datetime:
    return datetime(1800, 1, 1, tzinfo=UTC) + timedelta(microseconds=rng.randrange(400 * 365 * 86_400_000_000))


def _array(rng: random.Random) -> tuple[int | None, ...]:
    return tuple(rng.choice((None, *range(-3, 9))) for _ in range(rng.randint(0, 6)))


COLUMNS: Mapping[str, tuple[Type, Sequence[Any], Callable[[random.Random], Any] | None]] = {
    **dict.fromkeys(("s", "t", "u"), (TEXT, _TEXTS, _text)),
    **dict.fromkeys(("i", "j"), (INT, _INTS, lambda rng: rng.randint(-1000, 1000))),
    **dict.fromkeys(("k", "n", "o"), (INT, _SMALL, lambda rng: rng.randint(-3, 12))),
    "y": (Type.INT8, (0, 1, -1, 127, -128, 5), None),
    "h": (Type.INT16, (0, 1, -1, 32767, -32768, 300), None),
    **dict.fromkeys(("l", "g"), (LONG, _LONGS, lambda rng: rng.randint(-(10**12), 10**12))),
    **dict.fromkeys(("d", "e"), (DOUBLE, _DOUBLES, lambda rng: rng.gauss(0, 10) ** 3)),
    "f": (Type.FLOAT32, (0.0, NAN, INF, 0.5, -1.5, 2.5, 16777216.0), lambda rng: rng.randint(-(2**20), 2**20) / 64),
    "p": (
        Type.decimal(10, 2),
        _decimals("0.00", "1.55", "-99999999.99", "99999999.99", "-0.05", "2.50", "-2.50", "0.50"),
        lambda rng: Decimal(rng.randint(-(10**6), 10**6)).scaleb(-2),
    ),
    "q": (
        Type.decimal(20, 6),
        _decimals("0.000000", "1.500000", "-99999999999999.999999", "0.000001", "-12345.678901"),
        lambda rng: Decimal(rng.randint(-(10**12), 10**12)).scaleb(-6),
    ),
    **dict.fromkeys(("b", "c"), (BOOL, (True, False), None)),
    **dict.fromkeys(("x", "w"), (DATE, _DATES, lambda rng: date(1800, 1, 1) + timedelta(days=rng.randrange(146_000)))),
    **dict.fromkeys(("z", "v"), (TIME, _TIMES, _time)),
    "ntz": (NTZ, tuple(time.replace(tzinfo=None) for time in _TIMES), lambda rng: _time(rng).replace(tzinfo=None)),
    "a": (BYTES, _BYTES, lambda rng: rng.randbytes(rng.randint(0, 9))),
    **dict.fromkeys(("xs", "ys"), (Type.array(INT.or_null), _ARRAYS, _array)),
    "ts": (Type.array(TEXT.or_null), _OF_TEXTS, lambda rng: tuple(_text(rng) for _ in range(rng.randint(0, 4)))),
    "ds": (Type.array(DOUBLE.or_null), _OF_DOUBLES, None),
    "xss": (Type.array(Type.array(INT.or_null).or_null), _NESTED, None),
    **dict.fromkeys(("m", "mm"), (Type.map(TEXT, LONG.or_null), _MAPS, None)),
    "key": (TEXT, ("a", "b", "", "é", "z"), None),
    "json": (TEXT, _JSON, None),
    "url": (TEXT, _URLS, None),
    "part": (TEXT, ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO", "host"), None),
    "num": (TEXT, _NUMBERS, lambda rng: str(rng.randint(-(10**9), 10**9))),
    "day": (TEXT, _DATE_TEXTS, lambda rng: str(date(1900, 1, 1) + timedelta(days=rng.randrange(60_000)))),
    "code": (TEXT, _HEX, lambda rng: rng.randbytes(3).hex()),
    "zone": (TEXT, _ZONES, None),
    "week": (TEXT, _DAYS, None),
    "unit": (TEXT, _UNITS, None),
    "base": (INT, (2, 8, 10, 16, 36, -10, -16, 1, 37, 0), None),
    "bits": (INT, (0, 224, 256, 384, 512, 1, -1), None),
    "year": (INT, (0, 1, 1970, 2023, 2024, 9999, 10000, -5), lambda rng: rng.randint(1800, 2100)),
    "month": (INT, (0, 1, 2, 12, 13), lambda rng: rng.randint(1, 12)),
    "dom": (INT, (0, 1, 28, 29, 30, 31, 32), lambda rng: rng.randint(1, 31)),
    "sec": (
        Type.decimal(16, 6),
        _decimals("0.000000", "59.999999", "60.000000", "61.000000", "-1.500000", "7.250000"),
        None,
    ),
}


def columns_of(call: str) -> list[str]:
    """The names of the columns that a call reads, in order."""
    bare = re.sub(r"'(?:[^']|'')*'", "", call)
    return [name for name in dict.fromkeys(re.findall(r"(?<![.\w])[a-z]+(?![\w(])", bare)) if name in COLUMNS]


def rows_for(call: str, count: int, seed: int = 0) -> list[tuple[Any, ...]]:
    """Random rows of the columns of a call, each once."""
    rng, columns = random.Random(f"{call}{seed}"), [COLUMNS[name] for name in columns_of(call)]
    rows: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for _ in range(count):
        row = tuple(_value(rng, edges, made) for _, edges, made in columns)
        rows.setdefault(tuple(map(repr, row)), row)
    return [*rows.values()]


def _value(rng: random.Random, edges: Sequence[Any], made: Callable[[random.Random], Any] | None) -> Any:
    if rng.random() < 0.06:
        return None
    return rng.choice(edges) if made is None or rng.random() < 0.7 else made(rng)
