"""Files through which tables reach Spark: executors read them, so that large tables do not pass through the driver's
plan.

They are in a folder of this process, which is removed with it. A DataFrame is a plan that may read its files at any
time, also through other DataFrames, so no file can be removed earlier. The folders of killed processes are removed when
another process of the same machine makes its own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
from itertools import count
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from threading import Lock
from typing import TYPE_CHECKING

from deltic.engine.executors.spark.job_descriptions import is_connect
from deltic.engine.files.address import local_path
from deltic.errors import DelticError
from deltic.lazy import pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

DIRECTORY = "spark.deltic.directory"
"""The setting of a session that names a directory which the driver and all executors see by the same path."""
# Rows of a part of a file that one task reads.
_GROUP = 1 << 18
_NAME = "deltic-frames"

_lock, _numbers = Lock(), count()
_folders: dict[tuple[int, Path], Path] = {}
"""The folders of processes, by their numbers and the directories."""


def directory_of(spark: SparkSession) -> Path | None:
    """Return where files may stand that all tasks of a session read; None where there is no such place."""
    if named := spark.conf.get(DIRECTORY, None):
        return local_path(named)
    return (
        Path(gettempdir())
        if not is_connect(spark) and (spark.conf.get("spark.master", "") or "").startswith("local")
        else None
    )


def through_file(spark: SparkSession, table: pa.Table, types: StructType, directory: Path) -> DataFrame:
    """Return a table as a DataFrame that reads a new file in a directory; its columns may be NULL.

    Raises DelticError where the file cannot be written.
    """
    import pyarrow.parquet as pq
    from pyspark.sql.types import StructField, StructType

    # Spark matches the columns of files by names without case, unless told otherwise.
    names = [f"c{number}" for number in range(table.num_columns)]
    fields = [StructField(name, field.dataType) for name, field in zip(names, types.fields, strict=True)]
    try:
        path = _folder(directory) / f"{next(_numbers)}.parquet"
        pq.write_table(table.rename_columns(names), path, row_group_size=_GROUP)
    except (OSError, pa.ArrowException) as error:
        raise DelticError(
            f"rows for Spark cannot be written to {directory}: {error}; name another directory that all executors see: "
            f'spark.conf.set("{DIRECTORY}", "/PATH")'
        ) from error
    reader = spark.read.schema(StructType(fields)).option("datetimeRebaseMode", "CORRECTED")
    return reader.parquet(f"file://{path}").toDF(*types.names)


def _folder(directory: Path) -> Path:
    """Return the folder of this process in a directory."""
    process, directory = os.getpid(), directory.resolve()
    with _lock:
        result = _folders.get((process, directory))
        if result is None or not result.is_dir():
            _sweep(directory)
            directory.mkdir(parents=True, exist_ok=True)
            result = _folders[process, directory] = Path(mkdtemp(prefix=f"{_mine()}{process}-", dir=directory))
            result.chmod(0o755)  # tasks may run as another user
            atexit.register(_remove, result, process)
        return result


def _mine() -> str:
    return f"{_NAME}-{socket.gethostname()}-"


def _sweep(directory: Path) -> None:
    """Remove what processes of this machine have left that were killed."""
    for path in directory.glob(f"{_mine()}*"):
        process = path.name.removeprefix(_mine()).partition("-")[0]
        if process.isdecimal() and not _is_there(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is another user's
    return True


def _remove(folder: Path, process: int) -> None:
    """Remove the folder of this process; one that was forked leaves it alone."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
