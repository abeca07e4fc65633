"""Functions with Spark's meaning, outside of the closed core: DuckDB computes them, or Python where DuckDB differs.

In circuits a function is called by its name in Spark behind `spark_`. It takes values of exactly the types that its
row says; SQL brings its arguments to them.
"""

from deltic.functions import (
    assertions,
    binary,
    charsets,
    collections,
    formats,
    hashes,
    intervals,
    json,
    number_formats,
    numbers,
    patterns,
    records,
    texts,
    times,
    urls,
    zones,
)
from deltic.functions.function import FUNCTIONS, PROVIDED, Function, call, function_of, is_call, names_in_sql, provide

__all__ = [
    "FUNCTIONS",
    "PROVIDED",
    "Function",
    "assertions",
    "binary",
    "call",
    "charsets",
    "collections",
    "formats",
    "function_of",
    "hashes",
    "intervals",
    "is_call",
    "json",
    "names_in_sql",
    "number_formats",
    "numbers",
    "patterns",
    "provide",
    "records",
    "texts",
    "times",
    "urls",
    "zones",
]
