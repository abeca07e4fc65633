"""The files of deploy/ against the server: catches a metric, an option or a file that there is not.

An image is not built here, and neither Prometheus nor Grafana is run.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from deltic.server.listening import Address

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
UNIT = (DEPLOY / "deltic.service").read_text()
BOARD = json.loads((DEPLOY / "grafana/dashboards/deltic.json").read_text())
QUERIES = [target for panel in BOARD["panels"] for target in panel["targets"]]


@pytest.fixture
def metrics(served):
    """The labels of each metric of a server that has had epochs: late rows, a recursion, a request."""
    client = served.client()
    for text in (
        "CREATE TABLE e (a INT, b INT); CREATE TABLE late (at INT LATENESS 1)",
        "CREATE VIEW r AS WITH RECURSIVE p (a, b) AS "
        "(SELECT a, b FROM e UNION SELECT p.a, e.b FROM p JOIN e ON p.b = e.a) SELECT * FROM p",
        "INSERT INTO e VALUES (1, 2), (2, 3)",
        "INSERT INTO late VALUES (100)",
        "INSERT INTO late VALUES (1)",
    ):
        client.post("/query", json={"text": text}).raise_for_status()
    found = {}
    for line in client.get("/metrics").text.splitlines():
        if (sample := re.match(r"([a-z_]+)(?:\{(.*)\})? ", line)) is not None:
            found.setdefault(sample[1], set()).update(re.findall(r'(\w+)="', sample[2] or ""))
    return found


def test_the_board_asks_for_metrics_that_there_are(metrics):
    assert len(QUERIES) >= len(BOARD["panels"]) > 10
    for query in QUERIES:
        names = re.findall(r"(?:deltic|process)_\w+", query["expr"])
        labels = {label for by in re.findall(r"by \(([^)]*)\)", query["expr"]) for label in by.split(", ")}
        labels |= set(re.findall(r"\{\{(\w+)\}\}", query["legendFormat"]))
        assert names
        for name in names:
            assert name in metrics, query
            assert labels <= metrics[name], query


def test_the_board_is_drawn_from_the_server_that_is_scraped():
    (source,) = yaml.safe_load((DEPLOY / "grafana/datasources/prometheus.yml").read_text())["datasources"]
    assert {panel["datasource"]["uid"] for panel in BOARD["panels"]} == {source["uid"]}
    assert [panel["id"] for panel in BOARD["panels"]] == list(range(1, len(BOARD["panels"]) + 1))
    assert (
        f"--web.listen-address={source['url'].removeprefix('http://')}" in COMPOSE["services"]["prometheus"]["command"]
    )
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["127.0.0.1:8080"]}]


def test_files_that_are_named_are_there_and_options_too():
    for service in COMPOSE["services"].values():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
        assert service["network_mode"] == "host"
    build = COMPOSE["services"]["deltic"]["build"]
    dockerfile = (DEPLOY / build["context"] / build["dockerfile"]).read_text()
    for copied in re.findall(r"^COPY (?!--)(.*) \S+$", dockerfile, re.MULTILINE):
        assert all((DEPLOY.parent / name).exists() for name in copied.split())
    started = re.search("^ExecStart=(.*)$", UNIT, re.MULTILINE)
    assert started is not None
    _, serve, *unit = shlex.split(started[1])
    assert serve == "serve"
    compose = COMPOSE["services"]["deltic"]["command"]
    told = subprocess.run(
        [sys.executable, "-m", "deltic", "serve", "--help"], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    options = [word for word in unit + compose if word.startswith("--")]
    assert {"--state", "--pg"} <= set(options)
    assert all(re.search(rf"{option}\b", told) for option in options)
    Address.of(compose[compose.index("--pg") + 1]).check(None, False)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not there")
def test_the_unit_is_valid(tmp_path):
    unit = tmp_path / "deltic.service"
    unit.write_text(UNIT.replace("/opt/deltic/bin/deltic", sys.executable))
    result = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
