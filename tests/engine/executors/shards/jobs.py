"""Tasks run one after the other in this process, as a Spark job runs them: nothing but messages passes between them."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable, Sequence

from deltic.engine.executors.shards.messages import DRIVER, Message
from deltic.engine.executors.shards.tasks import Task


def run_here(messages: Sequence[Message], tasks: Sequence[Task], shards: int, what: str = "") -> Iterable[Message]:
    """The messages for the driver. Messages arrive in any order, tasks as they travel, and some tasks run twice."""
    rng = random.Random(len(messages))
    for task in pickle.loads(pickle.dumps(list(tasks))):
        sent: list[Message] = []
        for number in range(shards):
            received = [message for message in messages if message.shard == number]
            rng.shuffle(received)
            if rng.random() < 0.3:
                list(task(iter(received)))
            sent += task(iter(received))
        messages = sent
    return [message for message in messages if message.stage == DRIVER]


def only_jobs(monkeypatch) -> None:
    """Let all epochs at a place of jobs be jobs, also small ones."""
    monkeypatch.setattr("deltic.engine.executors.spark.costs.FEW", -1)


def only_jobs_here(monkeypatch) -> None:
    """Let them be jobs that run in this process."""
    only_jobs(monkeypatch)
    monkeypatch.setattr("deltic.engine.executors.spark.job.run_job", lambda spark, *asked, slots: run_here(*asked))
