"""Many batches, thirty to a pipeline; a failure tells the seed of its pipeline."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.pipeline.fuzzing.world import World

EACH = 30


@dataclass
class Found:
    """What became of one batch."""

    seed: int
    outcome: str
    batch: str
    error: BaseException | None = None


def run(batches: int, seed: int) -> Iterator[Found]:
    """What became of each of so many batches; a pipeline is given up with its first failure."""
    for number in range(seed, seed + -(-batches // EACH)):
        rng = random.Random(number)
        world = None
        try:
            world = World(rng)
            for _ in range(EACH):
                outcome, batch = world.step()
                yield Found(number, outcome, str(batch.how))
        except Exception as error:  # noqa: BLE001
            message = f"{world.last}, columns {world.schema}" if world else "a pipeline could not be made"
            yield Found(number, "failed", message, error)
