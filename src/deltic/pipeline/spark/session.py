"""A Spark session that Deltic starts for itself: local by default, without a web page, and silent."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

from deltic.engine.executors.spark.stalled_jobs import no_answer
from deltic.errors import DelticError
from deltic.extras import required

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GIB = 1 << 30
OLDEST = 17
REMEDY = (
    f"install Java {OLDEST} or later (Debian, Ubuntu: apt install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) or point JAVA_HOME at it"
)


@contextmanager
def spark_session(
    master: str = "local[*]", driver_memory: str | None = None, conf: Mapping[str, str] = MappingProxyType({})
) -> Iterator[SparkSession]:
    """A session for the block, stopped after it; `conf` are settings of Spark, which go before those made here.

    Raises DelticError when Java is missing, nothing answers at the master's address or the session does not start.
    """
    required("pyspark.sql", "a Spark session")
    require_java()
    _require_master(master)
    with TemporaryDirectory(prefix="deltic-spark-", ignore_cleanup_errors=True) as scratch:
        with _no_java_left():
            spark = _start(master, _options(driver_memory or default_memory(), Path(scratch), master) | dict(conf))
        try:
            yield spark
        finally:
            with _captured_stderr():
                spark.stop()


def default_memory() -> str:
    """Return a quarter of the machine's memory, from 1 to 4 GiB: rows pass through the session, they do not stay in
    it.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{min(4 * _GIB, max(_GIB, machine // 4)) >> 20}m"


@contextmanager
def _no_java_left() -> Iterator[None]:
    """Ends the Java process, if it was begun in the block, when a session did not start: it writes to the scratch."""
    from pyspark import SparkContext

    before = SparkContext._gateway
    try:
        yield
    except BaseException:
        begun = SparkContext._gateway
        if before is None and begun is not None:
            begun.proc.kill()
            begun.proc.wait()
            SparkContext._gateway = SparkContext._jvm = None
        raise


def _require_master(master: str) -> None:
    """Raise DelticError when nothing answers at the addresses of spark://HOST:PORT,…; Spark would try for minutes."""
    if reasons := no_answer(master):
        raise DelticError(
            f"no answer from the Spark master {master} ({reasons}): "
            "start it, correct its address, or use local[*], which is this machine"
        )


def _start(master: str, options: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("deltic")
    for key, value in options.items():
        builder = builder.config(key, value)
    with _captured_stderr() as log:
        try:
            return builder.getOrCreate()
        except Exception as error:
            raise DelticError(f"Spark did not start with the master {master}: {_cause(error, log)}") from error


def _options(memory: str, scratch: Path, master: str) -> dict[str, str]:
    logging = files("deltic.pipeline.spark").joinpath("log4j2.properties")
    options = {
        # Memory counts when the virtual machine starts, which is when the session does.
        "spark.driver.memory": memory,
        "spark.driver.maxResultSize": "0",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch / "local"),
    }
    if master.startswith("local"):
        options |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return options


@contextmanager
def _captured_stderr() -> Iterator[IO[bytes]]:
    """Keeps what the Java launcher writes to this process's standard error off the terminal, in a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    with TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield sink
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _cause(error: Exception, log: IO[bytes]) -> str:
    """Return the one line that says what went wrong: the first exception of Java, here or in what the launcher said."""
    log.seek(0)
    said = log.read().decode("utf-8", "replace")
    thrown = re.search(r"^(?:: |Exception in thread \S+ )[\w.$]+: (.*)$", f"{error}\n{said}", re.MULTILINE)
    return thrown[1] if thrown else str(error).partition("\n")[0]


def require_java(otherwise: str = "") -> None:
    """Raise DelticError unless there is a Java runtime, recent enough, where Spark looks for one.

    `otherwise` is what the message adds to the remedy: what to do without Java.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if java is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java on the PATH"
        raise DelticError(f"Spark needs Java, and {where}: {REMEDY}{otherwise}")
    result = _version(java)
    if result is not None and result < OLDEST:
        raise DelticError(f"Spark needs Java {OLDEST} or later, and {java} is version {result}: {REMEDY}{otherwise}")


def _version(java: str) -> int | None:
    """Return the major version; None when the runtime does not tell it in the usual way."""
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else None
