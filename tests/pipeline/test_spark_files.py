"""Tables that reach Spark through files: what a DataFrame holds, where the files stand, and when they go.

Catches a file that is left behind, one that is gone while a plan may read it, and names that Spark takes for others.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

import deltic
from deltic.pipeline.spark import files as spark_files
from deltic.pipeline.spark.spark import _IN_PLANS, to_dataframe

pytestmark = pytest.mark.spark
ROWS = pa.table({"a b": [1, 2, 3], "A B": ["x", None, "z"], "`.`": [[1], [], None]})


@pytest.fixture
def shared(spark, tmp_path):
    spark.conf.set(spark_files.DIRECTORY, str(tmp_path / "frames"))
    yield tmp_path / "frames"
    spark.conf.unset(spark_files.DIRECTORY)


def files(shared):
    return list(shared.rglob("*.parquet"))


def test_large_tables_stand_in_the_directory_that_the_session_names(spark, shared):
    directory = spark_files.directory_of(spark)
    small, large = to_dataframe(spark, ROWS, directory), to_dataframe(spark, ROWS, directory, small=0)
    assert len(files(shared)) == 1
    assert large.columns == ROWS.column_names
    assert sorted(large.collect()) == sorted(small.collect())
    assert large.select("```.```").distinct().count() == 3, "a file is there for every plan that is made of the frame"


def test_without_a_directory_that_executors_share_rows_go_through_the_driver(spark):
    before = spark.conf.get(_IN_PLANS)
    assert sorted(to_dataframe(spark, ROWS, small=0).collect()) == sorted(to_dataframe(spark, ROWS).collect())
    assert spark.conf.get(_IN_PLANS) == before


def test_a_large_view_is_a_file_in_the_temporary_directory_of_a_local_session(spark):
    assert spark_files.directory_of(spark) == Path(tempfile.gettempdir())
    pipeline = deltic.Pipeline(spark)
    pipeline.table("t", {"x": "int64"})
    with pipeline.transaction() as change:
        change.insert("t", pa.table({"x": range(100_000)}))
    frame = pipeline["t"].to_spark()
    assert len(frame.inputFiles()) == 1
    assert frame.selectExpr("sum(x)").collect()[0][0] == sum(range(100_000))


def test_a_directory_that_cannot_be_written(spark, tmp_path):
    (tmp_path / "file").touch()
    spark.conf.set(spark_files.DIRECTORY, str(tmp_path / "file"))
    try:
        with pytest.raises(deltic.DelticError, match=r'spark\.conf\.set\("spark\.deltic\.directory", "/PATH"\)'):
            to_dataframe(spark, ROWS, spark_files.directory_of(spark), small=0)
    finally:
        spark.conf.unset(spark_files.DIRECTORY)


MAKE = """
import os, sys
from pathlib import Path
from deltic.pipeline.spark.files import _folder
(_folder(Path(sys.argv[1])) / "0.parquet").touch()
print(os.getpid(), flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
"""


def test_files_go_with_their_process_or_with_the_next_one(tmp_path):
    def run(how):
        return subprocess.run([sys.executable, "-c", MAKE, str(tmp_path), how], capture_output=True, check=False)

    run("killed")
    assert len(files(tmp_path)) == 1
    run("ends")
    assert list(tmp_path.iterdir()) == []


def test_rows_after_an_empty_chunk(spark):
    """As they come from shards of which the first has no rows."""
    schema = pa.schema([("x", pa.int64())])
    chunks = [pa.record_batch([pa.array(values, pa.int64())], schema=schema) for values in ([], [1, 2], [], [3])]
    assert sorted(row.x for row in to_dataframe(spark, pa.Table.from_batches(chunks)).collect()) == [1, 2, 3]
    assert to_dataframe(spark, pa.Table.from_batches([], schema)).columns == ["x"]
