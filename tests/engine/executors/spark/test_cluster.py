"""Epochs as jobs on a real cluster: a master and two workers of Spark on loopback, whose processes are killed.

Catches what a session in one process hides: tasks of other processes that do not find the state, an attempt that counts
twice, a file that an attempt leaves in the state, and jobs that wait for executors without end.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures.process import BrokenProcessPool

import pytest

from tests.engine.executors.spark import driving
from tests.engine.executors.spark.driving import Trouble
from tests.standalone import Driver, Standalone, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SPECULATION = {
    "spark_speculation": "true",
    "spark_speculation_interval": "100ms",
    "spark_speculation_quantile": "0.5",
    "spark_speculation_minTaskRuntime": "500ms",
    "spark_ui_enabled": "true",
    "spark_ui_port": "0",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Standalone(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def driver(cluster, tmp_path_factory):
    driver = Driver(tmp_path_factory.mktemp("driver"), cluster.master, **SPECULATION)
    yield driver
    driver.close()


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """The directory of the pipeline that all tests change."""
    return tmp_path_factory.mktemp("shards")


def attempts(trouble):
    return len(list(trouble.folder.iterdir())) if trouble.folder.exists() else 0


def test_views_are_those_of_the_reference_and_jobs_say_what_they_do(driver, shards):
    assert driver.run(driving.epochs, shards, 4) == ({}, 0)
    driver.run(driving.insert_frame, shards)
    told = driver.run(driving.descriptions)
    assert told[0].startswith("epoch 7: ")
    assert {"epoch 5: 3 stages: fans, reaches, linked and 1 more", "Deltic: rows of a DataFrame into told"} <= set(told)


@pytest.mark.parametrize("stage", [0, -1])
def test_an_executor_is_killed_in_the_middle_of_an_epoch(cluster, driver, shards, tmp_path, stage):
    trouble = Trouble(tmp_path / "attempts", "waits", stage, is_done=stage == -1)
    result = driver.begin(driving.epochs, shards, 2, trouble)
    wait_for(lambda: attempts(trouble) == 1, "no task has begun")
    for executor in cluster.executors():
        os.kill(executor, signal.SIGKILL)
    assert result.result(120) == ({}, 0)
    assert attempts(trouble) > 1


@pytest.mark.parametrize("is_done", [False, True])
def test_an_executor_is_killed_in_the_middle_of_a_round(cluster, driver, tmp_path, is_done):
    trouble = Trouble(tmp_path / "attempts", "waits", 0, is_done, job="linked: iteration")
    assert driver.run(driving.epochs, tmp_path / "shards", 1, None, "always") == ({}, 0)
    result = driver.begin(driving.epochs, tmp_path / "shards", 1, trouble, "always")
    wait_for(lambda: attempts(trouble) == 1, "no task of a round has begun")
    for executor in cluster.executors():
        os.kill(executor, signal.SIGKILL)
    assert result.result(300) == ({}, 0)
    assert attempts(trouble) > 1


@pytest.mark.parametrize("is_done", [False, True])
def test_a_task_that_fails_is_tried_again(driver, shards, tmp_path, is_done):
    trouble = Trouble(tmp_path / "attempts", "fails", is_done=is_done)
    assert driver.run(driving.epochs, shards, 2, trouble) == ({}, 0)
    assert attempts(trouble) > 1


def test_a_slow_task_is_run_twice_at_once(driver, shards, tmp_path):
    trouble = Trouble(tmp_path / "attempts", "is slow", is_done=True)
    assert driver.run(driving.epochs, shards, 2, trouble) == ({}, 0)
    assert attempts(trouble) > 1


@pytest.mark.parametrize("is_logged", [False, True])
def test_a_driver_is_killed_between_the_files_of_an_epoch_and_its_publication(driver, tmp_path, is_logged):
    with pytest.raises(BrokenProcessPool):
        driver.run(driving.die, tmp_path, is_logged)
    driver.close()
    epoch = 2 if is_logged else 1
    assert driver.run(driving.go_on, tmp_path, epoch) == (epoch, {}, {})


def test_a_cluster_without_executors_is_an_error_within_seconds(cluster, driver, tmp_path):
    """The last test of this file: it leaves nothing of the cluster."""
    assert driver.run(driving.epochs, tmp_path / "shards", 1) == ({}, 0)
    trouble = Trouble(tmp_path / "attempts", "waits")
    result = driver.begin(driving.refused, tmp_path / "shards", trouble)
    wait_for(lambda: attempts(trouble) == 1, "no task has begun")
    cluster.kill_worker(0)
    cluster.kill_worker(0)
    error, seconds, differences = result.result(120)
    assert "nothing was changed: Spark has had no executors for 30 s" in error
    assert not differences
    assert seconds < 90
    cluster.start_worker()
    assert driver.run(driving.epochs, tmp_path / "shards", 1) == ({}, 0)
    cluster.kill_master()
    assert driver.run(driving.epochs, tmp_path / "shards", 1) == ({}, 0), "its executor is still there"
    cluster.kill_worker(0)
    error, seconds, differences = driver.run(driving.refused, tmp_path / "shards")
    assert f"its master {cluster.master} does not answer (127.0.0.1:{cluster.port}: Connection refused)" in error
    assert not differences
    assert seconds < 25
    told, rows = driver.run(driving.refused_frame, timeout=60)
    assert told.startswith(f"Spark has no executors, and its master {cluster.master} does not answer")
    assert not rows
