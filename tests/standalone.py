"""A standalone cluster of Spark on loopback, from PySpark's own package, and drivers on it: for tests and benchmarks.

A master and some workers, each a JVM of its own, start executors, which start Python workers. `close` ends them all.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_PATIENCE = 60.0
_QUIET = (
    "rootLogger.level = error",
    "rootLogger.appenderRef.none.ref = none",
    "appender.none.type = Null",
    "appender.none.name = none",
)
_SMALL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Standalone:
    """A master and `workers` workers of `cores` cores, whose executors have `memory`; what they say is in `folder`.

    Each worker has an address of its own, since Spark never speculates about a task on the host that has it.
    """

    def __init__(self, folder: Path, workers: int = 2, cores: int = 1, memory: str = "512m") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.cores, self.memory = folder, cores, memory
        self.master_process: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.port, self._hosts = free_port(), count(2)
        self.start_master()
        for _ in range(workers):
            self.start_worker()

    @property
    def master(self) -> str:
        """What sessions are told."""
        return f"spark://127.0.0.1:{self.port}"

    def start_master(self) -> None:
        """Start the master, and wait until it answers."""
        parts = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0"]
        self.master_process = self._start("org.apache.spark.deploy.master.Master", "127.0.0.1", parts)
        wait_for(lambda: answers(self.port), "the master does not answer")

    def start_worker(self) -> None:
        """Start one more worker, and wait until the master knows it."""
        before, host = self._registered(), f"127.0.0.{next(self._hosts)}"
        parts = ["--host", host, "--cores", str(self.cores), "--memory", self.memory, "--webui-port", "0"]
        parts += ["--work-dir", str(self.folder / host), self.master]
        self.workers.append(self._start("org.apache.spark.deploy.worker.Worker", host, parts))
        wait_for(lambda: self._registered() > before, "the worker was not registered")

    def _registered(self) -> int:
        return (self.folder / "127.0.0.1.log").read_text().count("Registering worker")

    def _start(self, java_class: str, host: str, told: list[str]) -> subprocess.Popen[bytes]:
        here = {"SPARK_LOCAL_IP": host, "SPARK_DAEMON_MEMORY": "128m", "SPARK_DAEMON_JAVA_OPTS": _SMALL_JVM}
        with (self.folder / f"{host}.log").open("ab") as log:
            return subprocess.Popen(
                [str(_CLASS), java_class, *told],
                stdout=log,
                stderr=log,
                env={**os.environ, **here, "PYSPARK_PYTHON": sys.executable},
                start_new_session=True,
            )

    def executors(self) -> list[int]:
        """The JVMs of executors, by their process ids."""
        family = [pid for worker in self.workers for pid in descendants(worker.pid)]
        return [pid for pid in family if "CoarseGrainedExecutorBackend" in command_of(pid)]

    def kill_worker(self, number: int) -> None:
        """Let a worker and all that it has started be gone at once."""
        kill(self.workers.pop(number))

    def kill_master(self) -> None:
        """Let the master be gone at once."""
        if self.master_process is not None:
            kill(self.master_process)
            self.master_process = None

    def close(self) -> None:
        """End all processes."""
        while self.workers:
            self.kill_worker(0)
        self.kill_master()

    def __enter__(self) -> Standalone:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Driver:
    """A process that has a session on a cluster; it begins with the first call, and anew after it was killed.

    What is called, its arguments and what it gives travel between processes: functions of modules, and plain data.
    """

    def __init__(self, folder: Path, master: str, **settings: str) -> None:
        self._begun = (folder, master, settings)
        self._pool: ProcessPoolExecutor | None = None

    def begin(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Call a function with the session of the driver and these arguments, and do not wait for it."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=_begin, initargs=self._begun)
        return self._pool.submit(_call, function, args)

    def run(self, function: Callable[..., Any], *args: Any, timeout: float = 300) -> Any:
        """What a function gives for the session of the driver and these arguments; raises what it raises."""
        return self.begin(function, *args).result(timeout)

    def close(self) -> None:
        """End the process and its JVM."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            begun = [process.pid for process in pool._processes.values() if process.pid is not None]
            family = [pid for own in begun for pid in (own, *descendants(own))]
            with suppress(Exception):
                pool.submit(_end).result(20)
            pool.shutdown(wait=False, cancel_futures=True)
            for pid in family:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


_session: list[SparkSession] = []
"""That of a driver's process."""


def _begin(folder: Path, master: str, settings: dict[str, str]) -> None:
    _session.append(session(folder, master, **settings))


def _call(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return function(_session[0], *args)


def _end() -> None:
    _session.pop().stop()


def session(folder: Path, master: str, **settings: str) -> SparkSession:
    """A small session on a master; settings have _ for the dots of their names where they have no dots.

    `python` is the executors' one.
    """
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = settings.pop("python", sys.executable)
    log = folder / "log4j2.properties"
    log.write_text("\n".join(_QUIET))
    options = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": f"{_SMALL_JVM} -Dlog4j2.configurationFile={log}",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": _SMALL_JVM,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        **{name if "." in name else name.replace("_", "."): value for name, value in settings.items()},
    }
    builder = SparkSession.builder.master(master).appName("deltic-tests")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def free_port() -> int:
    """A port of loopback that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether somebody listens at a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(is_so: Callable[[], bool], otherwise: str, patience: float = _PATIENCE) -> None:
    """Wait until something is so; raises TimeoutError."""
    end = time.monotonic() + patience
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(otherwise)
        time.sleep(0.05)


def descendants(root: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    children: dict[int, list[int]] = {}
    for pid in _processes():
        with suppress(OSError, IndexError):
            parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
            children.setdefault(parent, []).append(pid)
    found, pending = [], [root]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def command_of(pid: int) -> str:
    """The command of a process, empty when it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it has started."""
    for pid in (process.pid, *descendants(process.pid)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
