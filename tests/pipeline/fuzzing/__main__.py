"""Run many fuzzed batches: `python -m tests.pipeline.fuzzing --batches 10000 --seed 0`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter

from tests.pipeline.fuzzing.run import run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failures", type=int, default=20, help="stop after so many")
    parser.add_argument("-v", action="store_true", help="with tracebacks")
    options = parser.parse_args()
    _started, failures = time.perf_counter(), 0
    outcomes: Counter[str] = Counter()
    for found in run(options.batches, options.seed):
        if found.error is None:
            outcomes[found.outcome] += 1
            continue
        failures += 1
        if options.v:
            traceback.print_exception(found.error)
        if failures >= options.failures:
            break
    for _outcome, _count in sorted(outcomes.items()):
        pass
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
