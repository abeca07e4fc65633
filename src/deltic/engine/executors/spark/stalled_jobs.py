"""Cancels jobs that no executor runs: Spark would wait forever."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING
from uuid import uuid4

from deltic.engine.executors.spark.job_descriptions import is_connect
from deltic.errors import DelticError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = "spark.deltic.patience"
"""The session's setting for the seconds that a job waits without executors."""
_DEFAULT = "30"
# The seconds without executors after which the session's master is checked.
_GRACE = 3.0
_PAUSE = 0.25


@contextmanager
def watched(spark: SparkSession) -> Iterator[None]:
    """Cancel the jobs of this block if the session has had no executor for a while, and raise DelticError.

    If its master does not answer either, they are cancelled soon. A local session has its executor; the executors of
    Spark Connect are known to the server alone.
    """
    master = "" if is_connect(spark) else spark.sparkContext.master or ""
    if not master or master.startswith("local") or not hasattr(spark.sparkContext.statusTracker(), "getExecutorInfos"):
        yield
        return
    tag = f"deltic-{uuid4().hex}"
    watch = _Watch(spark, master, tag)
    spark.sparkContext.addJobTag(tag)
    try:
        with watch:
            yield
    except Exception as error:
        if watch.reason:
            raise DelticError(watch.reason) from error
        raise
    finally:
        spark.sparkContext.removeJobTag(tag)


class _Watch:
    """Watches the executors of a session from another thread; `reason` says why jobs were cancelled."""

    def __init__(self, spark: SparkSession, master: str, tag: str) -> None:
        self._spark, self._master, self._tag = spark, master, tag
        self._patience = float(spark.conf.get(PATIENCE, _DEFAULT) or _DEFAULT)
        self._is_over = Event()
        self._thread = Thread(target=self._look, name="deltic-executors", daemon=True)
        self.reason = ""

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        tracker, last = self._spark.sparkContext.statusTracker(), time.monotonic()
        while not self._is_over.wait(_PAUSE):
            if len(tracker.getExecutorInfos()) > 1:  # the driver is one of them
                last = time.monotonic()
            elif reason := self._hopeless(time.monotonic() - last):
                self.reason = reason
                self._spark.sparkContext.cancelJobsWithTag(self._tag)
                return

    def _hopeless(self, waited: float) -> str:
        """Return why no executor will come, after this many seconds without one; "" if one may still come."""
        if waited > _GRACE and (reasons := no_answer(self._master)):
            return f"Spark has no executors, and its master {self._master} does not answer ({reasons})"
        if waited > self._patience:
            return (
                f"Spark has had no executors for {waited:.0f} s, and {self._master} has given it none: check "
                f"that its workers run and have free cores and memory, or wait longer: {PATIENCE}, in seconds"
            )
        return ""


def no_answer(master: str) -> str:
    """Return why no address of spark://HOST:PORT,… answers; "" if one does, and for other masters."""
    reasons = []
    for address in master.removeprefix("spark://").split(",") if master.startswith("spark://") else []:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_GRACE).close()
            return ""
        except OSError as error:
            reasons.append(f"{address}: {error.strerror or error}")
        except ValueError as error:
            reasons.append(f"{address}: {error}")
    return "; ".join(reasons)
