"""A process that does steps and tells each: `python -m tests.pipeline.durability.stepping PLACE ACKNOWLEDGED LAST`."""

from __future__ import annotations

import sys

from deltic.errors import StateError
from deltic.pipeline.options import Resources
from deltic.pipeline.session import Pipeline
from tests.pipeline.durability.crashing import CHECKPOINTS, act, after, check

place, acknowledged, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def opened():
    return Pipeline(state=place, durability=CHECKPOINTS, resources=Resources(threads=1))


def tell(step):
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()


pipeline = opened()
done = check(pipeline, acknowledged)
tell(done)
while done < last:
    try:
        act(pipeline, done + 1)
        done += 1
        tell(done)
        after(pipeline, done)
    except StateError as error:
        sys.stderr.write(f"step {done + 1}: {error}\n")
        if "open the state again" in str(error).lower():
            pipeline._keeping.state.close()
            pipeline = opened()
            found = check(pipeline, done)
            if found > done:
                tell(done := found)
pipeline.close()
