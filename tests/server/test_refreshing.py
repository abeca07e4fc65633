"""Tables that follow a source, and a state that is followed, while they are served.

Catches a source whose failure stops the others, or is not said; and a failure that fills the log.
"""

from __future__ import annotations

import time

from deltic.errors import StateError
from deltic.server.repeating import Refreshing, followed


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_sources_are_read_and_failures_are_said(serve, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.csv").write_text("1\n")
    served = serve("")
    for name in ("a", "b"):
        served.pipeline.sql(f"CREATE TABLE {name} (x INT) USING csv OPTIONS (path '{tmp_path / name}')")
    client = served.client()
    refreshing = Refreshing(served.service, 0.05)
    try:
        (tmp_path / "a" / "2.csv").write_text("2\n")
        wait_for(lambda: len(client.get("/views/a").json()["rows"]) == 2)
        assert {each["state"] for each in client.get("/status").json()["sources"]} == {"running"}
        (tmp_path / "b" / "2.csv").write_text("no number\n")
        (tmp_path / "a" / "3.csv").write_text("3\n")
        wait_for(lambda: len(client.get("/views/a").json()["rows"]) == 3)
        fields = {each["table"]: each for each in client.get("/status").json()["sources"]}
        assert (fields["a"]["state"], fields["b"]["state"]) == ("running", "retrying")
        assert "no number" in fields["b"]["reason"]
        assert client.get("/status").json()["errors"][0]["relation"] == "b"
        assert client.get("/views/b").json()["rows"] == [[1]]
    finally:
        refreshing.close()


def test_a_replica_logs_what_changes(serve, monkeypatch, caplog):
    left = ["away", "away", "away", "torn", "", "", "away", ""]

    def follow():
        if left and (reason := left.pop(0)):
            raise StateError(reason)

    served = serve()
    monkeypatch.setattr(served.pipeline, "follow", follow)
    following = followed(served.service, 0.001)
    wait_for(lambda: not left)
    following.close()
    ends = [record.message.rpartition(": ")[2] for record in caplog.records if record.name == "deltic.server"]
    again = f"the state is followed again, up to epoch {served.pipeline.epoch}"
    assert ends == ["away", "torn", again, "away", again]
