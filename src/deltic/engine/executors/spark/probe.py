"""Tests whether the executors of a cluster can run Deltic, by a job before the first of its jobs.

The tasks report their Python and Deltic versions, whether Deltic has kernels, and whether they can read and write the
directory of the shards. They are sent by value, so that they can report a missing Deltic instead of raising. There is
one task for each slot, so that each executor gets one, as far as Spark spreads them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from deltic import __version__
from deltic.engine.executors.spark.job import collected, reason_of
from deltic.engine.files.files import Files
from deltic.errors import DelticError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_LEAST, _MOST = 2, 256
"""The least and greatest number of tasks."""
_LOOKED = WeakKeyDictionary["SparkSession", set[str]]()
"""The directories for which the executors of a session have passed."""
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH.*?different version: ([\d.]+)", re.DOTALL)


class ExecutorProbe:
    """Probes the executors of a session once for each directory of shards."""

    def __init__(self, spark: SparkSession, files: Files, slots: int) -> None:
        self._spark, self._files = spark, files
        self._tasks = min(max(2 * slots, _LEAST), _MOST)

    def check(self) -> None:
        """Raise DelticError, with the remedy, if an executor cannot run Deltic or does not see the directory."""
        looked = _LOOKED.setdefault(self._spark, set())
        if self._files.place not in looked:
            self._check()
            looked.add(self._files.place)

    def _check(self) -> None:
        folder = self._files.below(f"probe-{uuid4().hex}")
        folder.write("driver", [b"there"])
        try:
            answers = self._ask(folder.place)
            reasons = _reasons(answers) or _unseen(folder, answers)
        finally:
            with suppress(OSError):
                folder.clear()
        if reasons:
            listed = "\n".join(f"  {reason}" for reason in reasons)
            raise DelticError(
                f"the executors of Spark cannot run Deltic's jobs, and nothing was changed:\n{listed}\n"
                f"{_remedy(reasons, self._files.place)}"
            )

    def _ask(self, place: str) -> list[dict[str, Any]]:
        """Return the reports of the tasks."""
        frame = self._spark.range(0, self._tasks, 1, self._tasks).mapInArrow(_asking(place), "told string")
        try:
            rows = collected(frame, "Deltic: a look at the executors").column(0).to_pylist()
        except DelticError:
            raise
        except Exception as error:
            python = _OTHER_PYTHON.search(str(error))
            if python is None and "ModuleNotFoundError" not in str(error):
                raise
            reason = f"Python {python[1]}, and this process has {_python()}" if python else reason_of(str(error))
            return [{"host": "an executor", "reason": reason}]
        return [json.loads(row) for row in rows]


def _asking(place: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a task that needs no import of Deltic. Nested functions are sent by value."""

    def asked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import json
        import socket
        import sys

        import pyarrow as pa

        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        fields: dict[str, object] = {"host": socket.gethostname(), "numbers": numbers, "python": sys.executable}
        try:
            from deltic.engine.executors.spark.probe import seen_by_task

            fields |= seen_by_task(place, numbers)
        except Exception as error:  # noqa: BLE001
            fields["reason"] = f"{type(error).__name__}: {error}"
        yield pa.record_batch([pa.array([json.dumps(fields)])], names=["told"])

    return asked


def seen_by_task(place: str, numbers: Iterable[int]) -> Mapping[str, object]:
    """Return the Deltic installation of a task, and its access to a directory."""
    from deltic.engine.files.address import files_at
    from deltic.engine.kernels.loading import check_compiler, find

    fields: dict[str, object] = {"deltic": __version__, "directory": ""}
    if find() is None:
        check_compiler()
    try:
        files = files_at(place)
        if "driver" not in files.names():
            fields["directory"] = "it is not there, or another one"
        for number in numbers:
            files.write(str(number), [b"there"])
    except (OSError, DelticError) as error:
        fields["directory"] = str(error)
    return fields


def _reasons(answers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the reasons why executors cannot run Deltic, each once."""
    reasons = []
    for each in answers:
        host = each["host"]
        if "reason" in each:
            reasons.append(f"{host}: {each['reason']}" + (f" ({each['python']})" if "python" in each else ""))
        elif each["deltic"] != __version__:
            reasons.append(f"{host}: Deltic {each['deltic']}, and this process has {__version__}")
        elif each["directory"]:
            reasons.append(f"{host}: {_DIRECTORY}: {each['directory']}")
    return sorted(set(reasons))


_DIRECTORY = "the directory of the shards"


def _unseen(folder: Files, answers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the executors that have written where this process does not see it."""
    there = {name.rpartition("/")[2] for name in folder.names()}
    hosts = {each["host"] for each in answers if any(str(number) not in there for number in each["numbers"])}
    return [f"{host}: {_DIRECTORY}: what is written there this process does not see" for host in sorted(hosts)]


def _remedy(reasons: Iterable[str], place: str) -> str:
    if any(_DIRECTORY in reason for reason in reasons):
        return (
            f"{place} has to be the same directory on all machines, or in an object store whose keys the executors "
            'have: Shards(directory="/mnt/shared/deltic"), Shards(directory="s3://bucket/deltic") or --directory'
        )
    return (
        f"Spark's Python processes need Deltic {__version__} and Python {_python()}, in one of these ways:\n"
        f"  on all machines: pip install 'deltic[spark,files]=={__version__}', and PYSPARK_PYTHON with its path\n"
        "  an environment sent along: venv-pack -p ENVIRONMENT -o env.tar.gz, spark.archives=env.tar.gz#env, "
        "PYSPARK_PYTHON=./env/bin/python\n"
        "  Deltic alone sent along: its wheel, renamed to deltic.zip, as --py-files or spark.submit.pyFiles\n"
        "  in a shared folder: pip install --target /mnt/python …, and spark.executorEnv.PYTHONPATH=/mnt/python"
    )


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
