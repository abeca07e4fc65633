"""What the status says of epochs: catches costs that are counted twice or lost, a status that waits for an epoch."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

import deltic
from deltic.pipeline.epochs.report import EpochReport
from deltic.server.activity import Minutes
from deltic.server.describing import described_status
from deltic.server.repeating import Refreshing
from deltic.server.service import Service

PROGRAM = """
CREATE TABLE orders (id INT PRIMARY KEY, who STRING, amount INT);
CREATE VIEW takings AS SELECT who, sum(amount) AS total FROM orders GROUP BY who;
CREATE VIEW big AS SELECT o.id, t.total FROM orders o JOIN takings t ON o.who = t.who WHERE t.total > 10;
"""


@pytest.fixture
def service(tmp_path):
    with deltic.Pipeline(state=tmp_path / "state", program=_file(tmp_path)) as pipeline, Service(pipeline) as made:
        yield made


def _file(folder):
    (folder / "shop.sql").write_text(PROGRAM)
    return folder / "shop.sql"


def order(number):
    return {"op": "+", "id": number, "who": "ab"[number % 2], "amount": number}


def test_the_work_of_hidden_relations_is_that_of_views(service):
    reports = []
    end = service.pipeline.observe(reports.append)
    for number in range(5):
        service.apply({"orders": [order(number), order(number + 100)]})
    end()
    told = described_status(service, "shop.sql", 0)
    relations = {each["name"]: each for each in told["relations"]}
    assert list(relations) == ["orders", "takings", "big"]
    spent = sum(stratum.seconds for report in reports for stratum in report.work)
    visited = sum(stratum.rows_visited for report in reports for stratum in report.work)
    assert sum(each["seconds"] for each in relations.values()) == pytest.approx(spent)
    assert sum(each["visited"] for each in relations.values()) == pytest.approx(visited)
    epochs = [epoch for epoch in told["epochs"] if epoch["tables"]]
    assert [epoch["tables"] for epoch in epochs] == [{"orders": 2}] * 5
    assert all(set(epoch["work"]) <= {"takings", "big"} for epoch in epochs)
    for name in relations:
        assert relations[name]["rows"] == len(service.pipeline[name])
    assert relations["orders"]["changed"] == 10
    assert relations["takings"]["changed"] == sum(sum(epoch["changed"]["takings"]) for epoch in epochs)


def test_an_epoch_of_many_views_is_told_by_the_largest():
    views = ";".join(f"CREATE VIEW v{n:02} AS SELECT x FROM t WHERE x >= {n}" for n in range(40))
    with deltic.Pipeline() as pipeline:
        pipeline.sql(f"CREATE TABLE t (x INT);{views}")
        with Service(pipeline) as service:
            service.apply({"t": [{"op": "+", "x": x} for x in range(40)]})
            last = described_status(service, "many.sql", 0)["epochs"][-1]
    assert last["changed"] == {f"v{n:02}": [40 - n, 0] for n in range(24)}
    assert (len(last["work"]), last["rows_out"]) == (24, sum(range(1, 41)))


def test_minutes_are_sums_of_epochs(service):
    for number in range(5):
        service.apply({"orders": [order(number)]})
    told = described_status(service, "shop.sql", 0)
    work = Counter()
    for epoch in told["epochs"]:
        work.update(epoch["work"])
    minutes = Counter()
    for minute in told["minutes"]:
        minutes.update(minute["work"])
    assert sum(minute["epochs"] for minute in told["minutes"]) == len(told["epochs"])
    for name in ("rows_in", "rows_out", "rows_visited", "seconds"):
        sums = [sum(entry[name] for entry in told[entries]) for entries in ("minutes", "epochs")]
        assert sums[0] == pytest.approx(sums[1])
    assert minutes == pytest.approx(work)


def test_a_status_since_an_epoch_has_what_came_after_it(service):
    service.apply({"orders": [order(1)]})
    last = described_status(service, "shop.sql", 0)["epochs"][-1]["epoch"]
    assert described_status(service, "shop.sql", last)["epochs"] == []
    service.apply({"orders": [order(2)]})
    after = described_status(service, "shop.sql", last)
    assert [epoch["epoch"] for epoch in after["epochs"]] == [last + 1]
    assert after["minutes"], "the present minute has changed"


def test_minutes_that_were_over_are_left_out():
    minutes, begin = Minutes(), datetime(2026, 11, 28, 2, 0, tzinfo=UTC)
    for after in (0, 20, 60, 130, 150):
        minutes.add(begin + timedelta(seconds=after), EpochReport(tables={"t": 1}, seconds=after / 1000), {"v": 1.0})
    assert [minute["epochs"] for minute in minutes.described(None)] == [2, 1, 2]
    since = minutes.described(begin + timedelta(seconds=70))
    assert [minute["at"] for minute in since] == [begin + timedelta(minutes=1), begin + timedelta(minutes=2)]
    assert since[-1]["slowest"] == 0.15


def test_a_status_does_not_wait_for_an_epoch(service):
    """While the writer is at work, which is when people ask, sizes are those of before."""
    service.apply({"orders": [order(1)]})
    told = service.do(lambda: _in_the_writer(service))
    assert told["epoch"] == service.pipeline.epoch
    assert [each["rows"] for each in told["relations"]] == [1, 1, 0]


def _in_the_writer(service):
    with service.pipeline._epochs.writing(), ThreadPoolExecutor(1) as threads:
        return threads.submit(described_status, service, "shop.sql", 0).result()


def test_bytes_on_disk_are_those_of_the_last_checkpoint(service):
    service.apply({"orders": [order(number) for number in range(50)]})
    service.do(service.pipeline.checkpoint)
    told = described_status(service, "shop.sql", 0)
    assert told["disk"]["used"] > 0
    assert all(each["disk_bytes"] > 0 for each in told["relations"])


def test_a_source_that_fails_is_told_with_its_reason(tmp_path):
    for name, text in (("good", "1\n2\n"), ("bad", "1\nrubbish\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.csv").write_text(text)
    with deltic.Pipeline() as pipeline:
        for name in ("good", "bad"):
            pipeline.table(name, {"x": "int32"})
            pipeline.attach(name, deltic.External("csv", path=str(tmp_path / name)))
        with Service(pipeline) as service:
            service.refreshing = refreshing = Refreshing(service, 0.05)
            until(lambda: service.activity.errors() and len(pipeline["good"]) == 2)
            fields = {each["table"]: each for each in described_status(service, "shop.sql", 0)["sources"]}
            refreshing.close()
    assert fields["good"]["state"] == "running"
    assert fields["bad"]["state"] in ("retrying", "quarantined")
    assert "1.csv:2:1" in fields["bad"]["reason"]


def until(holds):
    """Wait until something holds."""
    for _ in range(400):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to hold")
