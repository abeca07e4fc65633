"""A broker of Kafka on loopback, from packages of Maven, and what Spark needs to talk to it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = Path.home() / ".cache" / "deltic-tests"
BROKER = "org.apache.kafka:kafka_2.13:3.9.1"
# There is no connector of version 4.3.0; this one works with Spark 4.3.0.
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
NEEDED = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")


def jars(artifact: str) -> Path:
    """A folder with a package of Maven and all that it needs; raises RuntimeError where it cannot be had."""
    group, name, version = artifact.split(":")
    folder = CACHE / f"{name}-{version}"
    if folder.is_dir():
        return folder
    if shutil.which("mvn") is None:
        raise RuntimeError("there is no Maven")
    part = CACHE / f"{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    (part / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>deltic</groupId>'
        f"<artifactId>tests</artifactId><version>1</version><dependencies><dependency><groupId>{group}</groupId>"
        f"<artifactId>{name}</artifactId><version>{version}</version></dependency></dependencies></project>"
    )
    goal = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
    got = subprocess.run(goal, cwd=part, capture_output=True, text=True, timeout=300, check=False)
    if got.returncode:
        raise RuntimeError(f"Maven has no {artifact}: {got.stdout[-500:]}")
    part.rename(folder)
    return folder


def connector() -> str:
    """The jars of Spark's source and sink, as `spark.jars` wants them."""
    return ",".join(str(path) for path in sorted(jars(CONNECTOR).glob("*.jar")) if path.name.startswith(NEEDED))


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """A broker for the block; its address."""
    port, control = _free_ports()
    settings = folder / "server.properties"
    settings.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{control}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder / "logs"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
    )
    java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars(BROKER)}/*"]
    storage = [*java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(settings)]
    subprocess.run(storage, check=True, capture_output=True)
    with (folder / "broker.log").open("w") as log:
        server = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
    try:
        _wait_for(port, server)
        yield f"127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the broker does not answer")
