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
    started, failures = time.perf_counter(), 0
    outcomes: Counter[str] = Counter()
    for found in run(options.batches, options.seed):
        if found.error is None:
            outcomes[found.outcome] += 1
            continue
        failures += 1
        _tell(f"seed {found.seed}: {found.batch}\n  {type(found.error).__name__}: {str(found.error)[:600]}")
        if options.v:
            traceback.print_exception(found.error)
        if failures >= options.failures:
            break
    seconds = time.perf_counter() - started
    _tell(f"{outcomes.total():,} batches as they should be, {failures} failures, {seconds:.0f} s")
    for outcome, count in sorted(outcomes.items()):
        _tell(f"  {outcome}: {count:,}")
    return 1 if failures else 0


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
