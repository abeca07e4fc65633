"""Tasks run one after the other in this process, as a Spark job runs them: nothing but letters passes between them."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable, Sequence

from deltic.engine.shards.letters import DRIVER, Letter
from deltic.engine.shards.tasks import Task


def run_here(letters: Sequence[Letter], tasks: Sequence[Task], shards: int, what: str = "") -> Iterable[Letter]:
    """The letters for the driver. Letters arrive in any order, tasks as they travel, and some tasks run twice."""
    rng = random.Random(len(letters))
    for task in pickle.loads(pickle.dumps(list(tasks))):
        sent: list[Letter] = []
        for number in range(shards):
            received = [letter for letter in letters if letter.shard == number]
            rng.shuffle(received)
            if rng.random() < 0.3:
                list(task(iter(received)))
            sent += task(iter(received))
        letters = sent
    return [letter for letter in letters if letter.stage == DRIVER]
