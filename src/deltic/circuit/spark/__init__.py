"""Functions with Spark's meaning, outside of the closed core: DuckDB computes them, or Python where DuckDB differs.

In circuits a function is called by its name in Spark behind `spark_`. It takes values of exactly the types that its
row says; SQL brings its arguments to them.
"""

from deltic.circuit.spark import (
    collections,
    ecmascript,
    formats,
    hashes,
    json,
    number_formats,
    numbers,
    patterns,
    records,
    souffle,
    structures,
    texts,
    times,
    urls,
    zones,
)
from deltic.circuit.spark.function import FUNCTIONS, Function, call, function_of, is_call

__all__ = [
    "FUNCTIONS",
    "Function",
    "call",
    "collections",
    "ecmascript",
    "formats",
    "function_of",
    "hashes",
    "is_call",
    "json",
    "number_formats",
    "numbers",
    "patterns",
    "records",
    "souffle",
    "structures",
    "texts",
    "times",
    "urls",
    "zones",
]
