"""`deltic serve` and `deltic user` as processes: begin, stop, kill, go on.

Catches a change that was acknowledged and is gone after a kill, one that is there twice when its client sends it again,
and a stop that does not end.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

from tests.cli.conftest import command

LOG = logging.getLogger("deltic.tests")
PROGRAM = """
CREATE TABLE visits (client INT, number INT);
CREATE VIEW counts AS SELECT client, count(*) AS n FROM visits GROUP BY client;
"""


def deltic(*args):
    return [sys.executable, "-m", "deltic", *map(str, args)]


@contextmanager
def serving(*args):
    """A server on a free port, and its address; it is killed at the end if it is still there."""
    process = subprocess.Popen(deltic("serve", *args, "--http", "127.0.0.1:0"), stderr=subprocess.PIPE, text=True)
    try:
        yield process, address_of(process)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def address_of(process):
    parts = []
    for line in process.stderr:
        parts.append(line)
        if (found := re.match(r"http: (\S+)", line)) is not None:
            threading.Thread(target=sys.stderr.writelines, args=(process.stderr,), daemon=True).start()
            return found[1]
    raise AssertionError("".join(parts))


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "visits.sql"
    path.write_text(PROGRAM)
    return path


def test_it_serves_stops_and_goes_on(tmp_path, program):
    state = tmp_path / "state"
    with serving(program, "--state", state) as (process, url):
        answer = httpx.post(f"{url}/query", json={"text": "INSERT INTO visits VALUES (1, 1), (1, 2)"}, trust_env=False)
        assert answer.status_code == 200, answer.text
        answer = httpx.post(f"{url}/query", json={"text": "DROP VIEW counts"}, trust_env=False)
        assert answer.status_code == 403
        assert str(program) in answer.text
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    program.write_text(PROGRAM.replace("count(*) AS n", "count(*) AS n, max(number) AS last"))
    with serving(program, "--state", state) as (_, url):
        assert httpx.get(f"{url}/views/counts", trust_env=False).json()["rows"] == [[1, 2, 2]]


def test_a_program_is_read_again_while_clients_read(tmp_path, program):
    with serving(program, "--state", tmp_path / "state") as (process, url), httpx.Client(base_url=url) as client:
        client.post("/query", json={"text": "INSERT INTO visits VALUES (1, 7)"})
        for text, columns in ((PROGRAM.replace(" AS n", " AS m"), ["client", "m"]), ("CREATE nonsense", None)):
            program.write_text(text)
            process.send_signal(signal.SIGHUP)
            for _ in range(600 if columns else 200):
                told = client.get("/views/counts").json()
                if [each["name"] for each in told["columns"]] == columns:
                    break
                time.sleep(0.05 if columns else 0.005)
        assert (told["rows"], [each["name"] for each in told["columns"]]) == ([[1, 1]], ["client", "m"])


def test_a_table_with_rows_takes_another_column_of_the_program(tmp_path, program):
    """At SIGHUP, and when the server starts again; a column is not dropped without a word."""
    state, read = tmp_path / "state", {"text": "SELECT * FROM visits"}
    with serving(program, "--state", state) as (process, url), httpx.Client(base_url=url, trust_env=False) as client:
        client.post("/query", json={"text": "INSERT INTO visits VALUES (1, 7)"})
        refused = client.post("/query", json={"text": "ALTER TABLE visits ADD COLUMN note STRING"})
        assert (refused.status_code, "send SIGHUP" in refused.text) == (403, True)
        program.write_text(PROGRAM.replace("number INT", "number INT, note STRING"))
        process.send_signal(signal.SIGHUP)
        assert until(lambda: client.post("/query", json=read).json()["rows"], [[1, 7, None]]) == [[1, 7, None]]
    program.write_text(PROGRAM.replace("number INT", "number BIGINT, note STRING, day DATE"))
    with serving(program, "--state", state) as (_, url):
        assert httpx.post(f"{url}/query", json=read, trust_env=False).json()["rows"] == [[1, 7, None, None]]
    program.write_text(PROGRAM)
    result = subprocess.run(deltic("serve", program, "--state", state), capture_output=True, text=True, timeout=120)
    assert (result.returncode, "ALTER TABLE visits DROP COLUMN note, day;" in result.stderr) == (1, True)


def test_without_a_program_clients_define(tmp_path):
    for text in ("CREATE TABLE t (a INT); INSERT INTO t VALUES (7)", "SELECT a FROM t"):
        with serving("--state", tmp_path / "state") as (process, url):
            answer = httpx.post(f"{url}/query", json={"text": text}, trust_env=False)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
    assert answer.json()["rows"] == [[7]]


def until(read, expected):
    """What is read, once it is what is expected, or after half a minute."""
    for _ in range(300):
        if (found := read()) == expected:
            break
        time.sleep(0.1)
    return found


def test_a_replica_follows_and_refuses_changes_with_the_place_of_the_writer(tmp_path, program):
    state = tmp_path / "state"
    with (
        serving(program, "--state", state) as (writer, url),
        serving("--state", state, "--follow", "0.1") as (_, copy),
        httpx.Client(base_url=copy, trust_env=False, timeout=60) as reader,
    ):
        send(httpx.Client(base_url=url, trust_env=False), 1, 7)
        assert until(lambda: reader.get("/views/counts").json()["rows"], [[1, 1]]) == [[1, 1]]
        assert reader.get("/status").json()["epochs"][-1]["changed"] == {"counts": [1, 0]}
        for asked in (
            reader.post("/query", json={"text": "DELETE FROM visits"}),
            reader.post("/query", json={"text": "CREATE TABLE other (a INT)"}),
            reader.post("/tables/visits/changes?op=insert", json=[{"client": 1, "number": 8}]),
            reader.post("/changes", json={"visits": [{"op": "+", "client": 1, "number": 8}]}),
        ):
            assert asked.status_code == 403, asked.text
            assert f"state {state} was opened with" in asked.json()["error"]["message"]
            assert f"process {writer.pid} on" in asked.json()["error"]["message"]
        writer.kill()
        writer.wait()
        with serving(program, "--state", state) as (_, again):
            send(httpx.Client(base_url=again, trust_env=False), 2, 7)
            expected = [[1, 1], [2, 1]]
            assert until(lambda: sorted(reader.get("/views/counts").json()["rows"]), expected) == expected
            assert reader.get("/readyz").status_code == 200


def test_a_replica_that_cannot_follow_says_so(tmp_path, program):
    with (
        serving(program, "--state", tmp_path / "state"),
        serving("--state", tmp_path / "state", "--follow", "0.1") as (_, copy),
        httpx.Client(base_url=copy, trust_env=False, timeout=60) as reader,
    ):
        assert reader.get("/readyz").status_code == 200
        shutil.rmtree(tmp_path / "state")
        assert until(lambda: reader.get("/readyz").status_code, 503) == 503
        assert "cannot be followed beyond epoch" in reader.get("/readyz").json()["reason"]
        assert [each["kind"] for each in reader.get("/status").json()["errors"]] == ["state"]
        assert reader.get("/views/counts").status_code == 200


def test_the_demonstration_goes_on():
    with serving("--demo") as (_, url), httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        epochs = []
        for _ in range(300):
            epochs = client.get("/status").json()["epochs"]
            if len([each for each in epochs if "takings" in each["changed"]]) > 2:
                break
            time.sleep(0.1)
        assert {"takings", "best_customers", "reward"} <= {name for each in epochs for name in each["changed"]}
        assert client.get("/views/best_customers").json()["rows"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--http", "0.0.0.0:0"], "--tls-cert"),
        (["--http", "nowhere"], "HOST:PORT"),
        (["--tls-cert", __file__], "--tls-key"),
        (["--max-body", "many"], "body"),
        (["--users", __file__], "deltic user"),
        (["--follow", "1"], "--state"),
        (["--follow", "1", "--state", "missing", "--demo"], "--demo"),
    ],
)
def test_what_is_wrong_is_said(args, words):
    result = command("serve", *args)
    assert result.status == 1
    assert words in result.err


def test_users_are_made(tmp_path):
    path = tmp_path / "users.toml"
    secrets = []
    for name, role in (("ada", "owner"), ("bob", "reader")):
        secrets.append(command("user", name, "--role", role, "--file", str(path)).err.split()[-1])
    assert path.stat().st_mode & 0o077 == 0
    again = command("user", "ada", "--file", str(path))
    assert (again.status, "already" in again.err) == (1, True)
    with serving("--users", path) as (_, url):
        for secret, status in ((secrets[0], 200), (secrets[1], 403), ("wrong", 401)):
            headers = {"Authorization": f"Bearer {secret}"}
            asked = {"text": f"CREATE TABLE t{status} (a INT)"}
            assert httpx.post(f"{url}/query", json=asked, headers=headers, trust_env=False).status_code == status


class Client(threading.Thread):
    """Sends rows, each with a key of its own, until the server is gone; `sent` are all, `acknowledged` those that are
    durable.
    """

    def __init__(self, url, number, first):
        super().__init__()
        self.url, self.number, self.first = url, number, first
        self.sent, self.acknowledged = [], []

    def run(self):
        with httpx.Client(base_url=self.url, trust_env=False, timeout=60) as client:
            for n in range(self.first, self.first + 100_000):
                self.sent.append(n)
                try:
                    send(client, self.number, n)
                except httpx.HTTPError:
                    return
                self.acknowledged.append(n)


def send(client, number, n):
    headers = {"Idempotency-Key": f"{number}-{n}", "Content-Type": "application/x-ndjson"}
    body = json.dumps({"client": number, "number": n})
    answer = client.post("/tables/visits/changes?op=insert", content=body, headers=headers)
    assert answer.status_code == 200, answer.text


@pytest.mark.slow
def test_kills_lose_nothing_that_was_acknowledged(tmp_path, program):
    """Rows are a bag: one that is sent again and applied twice would be seen.

    DELTIC_KILLS is how often. Each start checks all rows; `pytest --log-cli-level=INFO` shows how many there were.
    """
    kills, clients = int(os.environ.get("DELTIC_KILLS", "8")), 4
    rng, state = random.Random(5), tmp_path / "state"
    expected, pending, first = set(), [], 0
    for done in range(kills + 1):
        with serving(program, "--state", state, "--max-rows", 10**6) as (process, url):
            with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
                asked = {"text": "SELECT client, number FROM visits", "limit": 10**6}
                answer = client.post("/query", json=asked)
                assert answer.status_code == 200, answer.text
                there = [tuple(row) for row in answer.json()["rows"]]
                assert len(there) == len(set(there)), "a row is there twice"
                assert expected <= set(there), "an acknowledged row is gone"
                for number, n in pending:
                    send(client, number, n)
                expected |= set(pending)
            workers = [Client(url, number, first) for number in range(clients)]
            for worker in workers:
                worker.start()
            time.sleep(rng.uniform(0.2, 1.5))
            process.kill()
            process.wait()
            for worker in workers:
                worker.join()
            expected |= {(worker.number, n) for worker in workers for n in worker.acknowledged}
            pending = [(w.number, n) for w in workers for n in w.sent if n not in w.acknowledged]
            first += 100_000
        LOG.info("kill %d: %d rows were there, %d are acknowledged", done + 1, len(there), len(expected))
    assert len(expected) > kills * clients
