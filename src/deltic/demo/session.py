"""A Spark session for the demonstration: local, without a web page, and silent."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING

from deltic.errors import DelticError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DemoError(DelticError):
    """The demonstration cannot go on; the message says what is missing."""


@contextmanager
def spark_session(master: str) -> Iterator[SparkSession]:
    """A session for the block, stopped after it; raises DemoError when there is no Java or it does not start."""
    require_java()
    with TemporaryDirectory(prefix="deltic-demo-") as scratch:
        with _silenced_stderr():
            spark = _start(master, Path(scratch))
        try:
            yield spark
        finally:
            with _silenced_stderr():
                spark.stop()


def require_java() -> None:
    """Raises DemoError unless there is a Java runtime where Spark will look for one."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which(os.path.join(home, "bin", "java") if home else "java") is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no `java` on the PATH"
        raise DemoError(f"Spark needs a Java 17 runtime, and {where}.")


def _start(master: str, scratch: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging = files("deltic.demo").joinpath("log4j2.properties")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging}",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch),
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    }
    builder = SparkSession.builder.master(master).appName("deltic demo")
    for key, value in options.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as failure:
        raise DemoError(f"Spark did not start: {failure}") from failure


@contextmanager
def _silenced_stderr() -> Iterator[None]:
    """Keeps what the Java launcher writes to this process's standard error off the terminal."""
    sys.stderr.flush()
    kept = os.dup(2)
    with TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
