"""The promises of conftest.py: catches Spark tests spread over workers, and golden comparisons that compare nothing."""

from __future__ import annotations

import pytest


@pytest.mark.spark
def test_spark_tests_share_one_worker(request: pytest.FixtureRequest, worker_id: str):
    """Under xdist the group is part of the test's id; without it each worker starts a JVM of its own."""
    assert worker_id == "master" or request.node.nodeid.endswith("@spark")


def test_spark_workers_have_the_requirements(spark):
    """They run the interpreter of the tests, whatever `python3` is on the PATH."""
    doubled = spark.range(3).mapInArrow(lambda batches: batches, "id long").toArrow()
    assert doubled.to_pydict() == {"id": [0, 1, 2]}


def test_a_golden_file_that_differs_or_is_missing_fails(golden, monkeypatch, tmp_path):
    monkeypatch.setattr(f"{golden.__module__}.ROOT", tmp_path)
    files = tmp_path / "tests" / "golden"
    files.mkdir(parents=True)
    (files / "there.txt").write_text("one\n")
    golden("there.txt", "one")
    with pytest.raises(pytest.fail.Exception, match=r"-one\n\+two"):
        golden("there.txt", "two")
    with pytest.raises(pytest.fail.Exception, match="no golden file"):
        golden("missing.txt", "one")
