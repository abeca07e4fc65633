"""Rows are routed as Spark routes them: a hash that differs would send a row to a shard that does not know it.

`spark_hashes.json` holds what Spark 4.3 answered for these values; `test_spark_answers_so` asks it again.
"""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from deltic.engine.executors.shards.exchange import shards_of
from deltic.values.hashing import xxhash64

RECORDED = Path(__file__).with_name("spark_hashes.json")
_rng = random.Random(14)
_texts = ["", "a", "abcd", "éü", "x" * 7, "12345678", "y" * 31, "z" * 32, "w" * 33, "long" * 50, None]
_floats = [0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), float("-inf"), 1e-300, None]
_digits = [0, 1, -1, 127, 128, -128, -129, 255, 256, 2**62, -(2**62), 10**37, -(10**37), 2**95 - 1, None]
COLUMNS: dict[str, pa.Array] = {
    "boolean": pa.array([True, False, None]),
    "int8": pa.array([0, 1, -1, 127, -128, None], pa.int8()),
    "int16": pa.array([0, 300, -300, None], pa.int16()),
    "int32": pa.array([0, 1, -1, 2**31 - 1, -(2**31), None], pa.int32()),
    "int64": pa.array([0, 1, -1, 2**63 - 1, -(2**63), None, *(_rng.getrandbits(62) for _ in range(20))]),
    "float32": pa.array([f if f != 1e-300 else 0.5 for f in _floats], pa.float32()),
    "float64": pa.array(_floats, pa.float64()),
    "string": pa.array([*_texts, *("".join(_rng.choices("abcxyzß", k=_rng.randrange(90))) for _ in range(60))]),
    "binary": pa.array([None if t is None else t.encode() for t in _texts], pa.binary()),
    "date": pa.array([date(1970, 1, 1), date(1969, 12, 31), date(2026, 11, 22), None]),
    "timestamp": pa.array([datetime(2026, 1, 2, 3, 4, 5, 6, UTC), datetime(1960, 1, 1, tzinfo=UTC), None]).cast(
        pa.timestamp("us", "UTC")
    ),
    "timestamp_ntz": pa.array([datetime(2026, 1, 2, 3, 4, 5, 6), None], pa.timestamp("us")),
    "duration": pa.array([timedelta(days=1), timedelta(microseconds=-5), None], pa.duration("us")),
    "decimal(10, 2)": pa.array([Decimal("1.25"), Decimal("-99999999.99"), None], pa.decimal128(10, 2)),
    "decimal(38)": pa.array([None if d is None else Decimal(d) for d in _digits], pa.decimal128(38)),
    "array": pa.array([[1, None, 3], [], [None], None, [2] * 9], pa.list_(pa.int64())),
    "array of arrays": pa.array([[["a"], []], [None, ["b", "c"]], None], pa.list_(pa.list_(pa.string()))),
    "struct": pa.array(
        [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, None], pa.struct({"a": pa.int32(), "b": pa.string()})
    ),
}


def test_hashes_are_those_that_spark_gives():
    recorded = json.loads(RECORDED.read_text())
    assert set(recorded) == {*COLUMNS, "two columns"}
    for name, column in COLUMNS.items():
        found = xxhash64([column], len(column)).view(np.int64).tolist()
        assert found == recorded[name], name
        turned = pa.concat_arrays([column.slice(1), column.slice(0, 1)])
        chunked = pa.chunked_array([column.slice(1), column.slice(0, 1)])
        assert xxhash64([turned], len(column)).view(np.int64).tolist() == [*found[1:], found[0]], name
        assert xxhash64([chunked], len(column)).view(np.int64).tolist() == [*found[1:], found[0]], name
        assert xxhash64([column.slice(1)], len(column) - 1).view(np.int64).tolist() == found[1:], name
    both = _two_columns()
    assert xxhash64(both.columns, both.num_rows).view(np.int64).tolist() == recorded["two columns"]


@pytest.mark.spark
def test_spark_answers_so(spark):
    from pyspark.sql import functions as F

    answers = {}
    for name, table in {**{n: pa.table({"v": c}) for n, c in COLUMNS.items()}, "two columns": _two_columns()}.items():
        frame = spark.createDataFrame(table.append_column("place", pa.array(range(table.num_rows)))).orderBy("place")
        answers[name] = [row[0] for row in frame.select(F.xxhash64(*table.column_names)).collect()]
    assert answers == json.loads(RECORDED.read_text())


def _two_columns() -> pa.Table:
    return pa.table({"a": pa.array([1, 2, None], pa.int64()), "b": ["x", None, None]})


def test_values_that_are_equal_as_keys_go_to_one_shard():
    floats = pa.array([0.0, -0.0, float("nan"), -float("nan")])
    a, b, c, d = xxhash64([floats], 4).tolist()
    assert (a, c) == (b, d)
    narrow = pa.array([5, 7, 200], pa.uint8()), pa.array([5, 7, 200], pa.int32())
    assert xxhash64([narrow[0]], 3).tolist() == xxhash64([narrow[1]], 3).tolist()
    wide = (
        pa.array([5, 2**63, 2**64 - 1], pa.uint64()),
        pa.array([Decimal(5), Decimal(2**63), Decimal(2**64 - 1)], pa.decimal128(20)),
    )
    assert xxhash64([wide[0]], 3).tolist() == xxhash64([wide[1]], 3).tolist()
    dictionary = pa.map_(pa.string(), pa.int64())
    maps = pa.array([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)]], dictionary)
    assert len(set(xxhash64([maps], 2).tolist())) == 1


def test_rows_spread_over_the_shards():
    table = pa.table({"k": [f"key {i}" for i in range(4000)], "v": range(4000)})
    counts = np.bincount(shards_of(table, [0], 8), minlength=8)
    assert len(counts) == 8
    assert counts.min() > 400
    assert len(set(shards_of(table, [], 8).tolist())) == 1
