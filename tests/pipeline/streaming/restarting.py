"""A stream that is restarted again and again, at any instant: the views must be those of all its input.

    python -m tests.pipeline.streaming.restarting 100 9 > benchmarks/results/stream-restarts.txt
    python -m tests.pipeline.streaming.restarting 100 0 > benchmarks/results/stream-kills.txt

The numbers are how often it is restarted, and how often a driver stops at least before it is killed.

Files of changes come all the time. Drivers, this file with the argument `drive`, apply them to a state. Each stops the
query at random instants and begins anew with another pipeline, until it is killed with its JVM: at a random instant, or
right behind the record of an epoch, so that the batch is in the state and not in Spark's checkpoint. A change that is
applied twice, or forgotten, is a conflict or a difference.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from deltic import Durability, Pipeline
from tests.pipeline.streaming.files import Folder

SCHEMA = "x bigint, y bigint, op string"
PROGRAM = """
    CREATE TABLE edge (x BIGINT, y BIGINT, PRIMARY KEY (x, y));
    CREATE VIEW reach AS
        WITH RECURSIVE r AS (SELECT x, y FROM edge UNION SELECT r.x, e.y FROM r JOIN edge e ON r.y = e.x)
        SELECT * FROM r;
    CREATE VIEW degree AS SELECT x, count(*) AS n FROM edge GROUP BY x
"""
NODES, PER_FILE = 60, 12
PATIENCE = 180


def drive(root: Path, seed: int, stops: bool) -> None:
    """Apply the stream until this process is killed, stopping and beginning anew at random instants if it `stops`."""
    chance, stream = random.Random(seed), None
    while True:
        pipeline = Pipeline(state=root / "state", durability=Durability(epochs=20))
        if "edge" not in pipeline:
            pipeline.sql(PROGRAM)
        stream = stream or session(root).readStream.schema(SCHEMA).option("maxFilesPerTrigger", 3)
        query = begun(pipeline, stream, root).trigger(processingTime="0 seconds").start()
        told(root, "ready")
        time.sleep(chance.uniform(0, 3) if stops else PATIENCE)
        query.stop()
        if chance.random() < 0.5:
            pipeline.close()
        else:
            pipeline._keeping.state.close()  # without a checkpoint, as a process ends that has crashed
        told(root, "stopped")


def finish(root: Path) -> None:
    """Apply what is left of the stream."""
    with Pipeline(state=root / "state") as pipeline:
        stream = session(root).readStream.schema(SCHEMA)
        begun(pipeline, stream, root).trigger(availableNow=True).start().awaitTermination()


def begun(pipeline, stream, root):
    """The stream into the table, to be started."""
    return pipeline.stream(stream.json(str(root / "in")), into="edge").option(
        "checkpointLocation", str(root / "checkpoint")
    )


def session(root):
    """A small session."""
    from pyspark.sql import SparkSession

    logging.basicConfig(filename=root / "driver.log", format="%(name)s %(message)s")
    logging.getLogger("deltic.stream").setLevel(logging.INFO)
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "1",
    }
    builder = SparkSession.builder if "SPARK_REMOTE" in os.environ else SparkSession.builder.master("local[1]")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def told(root: Path, what: str) -> None:
    """Let the process that kills know."""
    with (root / "told").open("a") as file:
        file.write(what + "\n")


@dataclass
class World:
    """The input, what it adds up to, and what became of drivers, whose sessions may be of Spark Connect: `remote`."""

    folder: Folder
    chance: random.Random
    remote: str = ""
    edges: set[tuple[int, int]] = field(default_factory=set)
    ends: Counter[str] = field(default_factory=Counter)
    _lines: int = 0
    _files: int = 0

    def put_file(self) -> None:
        """One more file of edges that come and go."""
        rows = []
        for x, y in {(self.chance.randrange(NODES), self.chance.randrange(NODES)) for _ in range(PER_FILE)}:
            is_there = (x, y) in self.edges
            if is_there or len(self.edges) < 2 * NODES:
                (self.edges.remove if is_there else self.edges.add)((x, y))
                rows.append({"x": x, "y": y, "op": "-" if is_there else "+"})
        self.folder.put(*rows)

    def driver(self, *what: str) -> subprocess.Popen[bytes]:
        """Another process that applies the stream, in a group of its own with the JVM that it starts."""
        command = [sys.executable, "-m", "tests.pipeline.streaming.restarting", *what]
        quiet = (self.folder.root / "stderr").open("a")
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        environment |= {"SPARK_REMOTE": self.remote} if self.remote else {}
        return subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True, env=environment)

    def kill_one(self, stops: int) -> None:
        """Start a driver, feed it, let it stop so many times, and kill it at an instant of a kind that is drawn."""
        begun, stopped = self.count("ready"), self.count("stopped")
        driver = self.driver("drive", str(self.folder.root), str(self.chance.random()), str(stops))
        try:
            if self.chance.random() < 0.1:
                kind = "killed while it started"
                time.sleep(self.chance.uniform(0, 4))
            else:
                self.feed(driver, lambda: self.count("ready") > begun)
                self.feed(driver, lambda: self.count("stopped") >= stopped + stops)
                kind = self.chance.choice(["killed at a random instant", "killed behind an epoch"])
                end, size = time.monotonic() + self.chance.uniform(0, 4), self.log_size()
                self.feed(driver, lambda: time.monotonic() > end)
                if kind == "killed behind an epoch":
                    self.feed(driver, lambda: self.log_size() != size)
                    time.sleep(self.chance.uniform(0, 0.03))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
        self.ends[kind] += 1
        if stops:
            self.ends["stopped at a random instant"] += self.count("stopped") - stopped

    def feed(self, driver: subprocess.Popen[bytes], is_enough: Callable[[], bool]) -> None:
        """Put files until it is enough."""
        end = time.monotonic() + PATIENCE
        while not is_enough():
            assert driver.poll() is None, self.errors()
            assert time.monotonic() < end, "the driver is stuck: " + self.errors()
            if self.behind() < 60:
                self.put_file()
            pause = time.monotonic() + 0.3
            while time.monotonic() < pause and not is_enough():
                time.sleep(0.002)

    def behind(self) -> int:
        """How many files were put since the driver told something."""
        lines = self.count("ready") + self.count("stopped")
        if lines != self._lines:
            self._lines, self._files = lines, self.folder.count
        return self.folder.count - self._files

    def count(self, what: str) -> int:
        """How often drivers have told something."""
        file = self.folder.root / "told"
        return file.read_text().split().count(what) if file.exists() else 0

    def errors(self) -> str:
        return (self.folder.root / "stderr").read_text()[-3000:]

    def log_size(self) -> int:
        """The bytes of the log: they are more by an epoch once it is in the state."""
        log = self.folder.root / "state" / "log"
        return sum(path.stat().st_size for path in list(log.glob("*"))) if log.is_dir() else 0

    def check(self) -> int:
        """Apply the rest, and compare the views with those of all input; the number of epochs."""
        assert self.driver("finish", str(self.folder.root)).wait() == 0, self.errors()
        expected = Pipeline()
        expected.sql(PROGRAM)
        with expected.transaction() as change:
            change.insert("edge", sorted(self.edges))
        with Pipeline(state=self.folder.root / "state", durability=Durability(readonly=True)) as found:
            for name in ("edge", "reach", "degree"):
                assert sorted(found[name]) == sorted(expected[name]), name
            assert len(found["edge"]) == len(self.edges)
            return found.epoch

    def repeated(self) -> int:
        """How many batches came again after a kill, and were known."""
        log = self.folder.root / "driver.log"
        return log.read_text().count("was applied before") if log.exists() else 0


def restart(restarts: int, stops: int, seed: int, root: Path, remote: str = "") -> World:
    """Restart a stream so often: drivers stop it so many times each, and are killed."""
    world = World(Folder(root, SCHEMA), random.Random(seed), remote)
    world.put_file()
    while world.ends.total() < restarts:
        world.kill_one(stops)
    return world


def main(restarts: int, stops: int) -> None:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        world = restart(restarts, stops, 14 + (not stops), Path(folder) / "stream")
        epochs = world.check()
        lines = [
            f"one stream restarted {world.ends.total()} times while its input came:",
            *(f"  {count:4} {kind}" for kind, count in sorted(world.ends.items())),
            f"{world.folder.count:,} files, {epochs:,} epochs; {world.repeated()} batches came again and were known",
            "the table and both views (a recursion, an aggregate) equal those of all input at once",
            f"{time.monotonic() - started:,.0f} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        ]
        sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["drive", root, seed, stops]:
            drive(Path(root), int(float(seed) * 1e9), int(stops) > 0)
        case ["finish", root]:
            finish(Path(root))
        case [restarts, stops]:
            main(int(restarts), int(stops))
