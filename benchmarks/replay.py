"""Epochs of random deletions and insertions on one of the problems, and what they took."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from problems import Problem, new_engine, sample, signed

from deltic.engine.engine import IncrementalEngine
from deltic.engine.refresh import CostForecast, CostHistory
from deltic.engine.resources import ResourceLimits

LARGE_SEED = 1_000


@dataclass(frozen=True)
class Step:
    """An epoch to come: a random set of so many rows is deleted (-1) or put back (1)."""

    size: int
    seed: int
    weight: int


@dataclass(frozen=True)
class Epoch:
    """What one epoch took; `step` is None for the bootstrap.

    `changed` rows of the outputs, `anew` recursions computed from nothing, `state` bytes of all runs after it.
    """

    step: Step | None
    seconds: float
    changed: int
    anew: int
    state: int


def updates(sizes: Mapping[int, int]) -> list[Step]:
    """Each set of rows is deleted, and in the next epoch put back; `sizes` has the number of sets of each size."""
    return [Step(size, seed, weight) for size, seeds in sizes.items() for seed in range(seeds) for weight in (-1, 1)]


def workload(small: int, large: int) -> list[Step]:
    """The 12 epochs after the first of [ELA Fig. 6]: six small, one large, four small, one large."""
    before, between = updates({small: 3}), [Step(small, seed, weight) for seed in (3, 4) for weight in (-1, 1)]
    return [*before, Step(large, LARGE_SEED, -1), *between, Step(large, LARGE_SEED, 1)]


def replay(
    problem: Problem,
    folder: Path,
    strategy: str,
    policy: str,
    steps: Sequence[Step],
    resources: ResourceLimits | None = None,
) -> Iterator[Epoch]:
    """The bootstrap, then the steps; the views have the expected sizes at first, and again when all was put back.

    The policy `plain` is the paper's: an update that takes more than a fifth of the last bootstrap is abandoned.
    """
    tables = problem.read(folder)
    if policy == "plain":
        _judge_by_time_alone()
    engine = new_engine(problem.program, strategy, "auto" if policy == "plain" else policy, resources)
    yield _apply(engine, tables, None)
    expected = problem.expected or {name: engine.count(name) for name in engine.program.sinks}
    _check(engine, expected)
    gone: dict[str, pa.Table] = {}
    for step in steps:
        rows = sample(tables, step.size, step.seed)
        if step.seed == LARGE_SEED:
            gone = rows if step.weight < 0 else {}
        else:
            rows = _without(rows, gone)
        yield _apply(engine, rows, step)
    if sum(step.weight * step.size for step in steps) == 0:
        _check(engine, expected)


def _judge_by_time_alone() -> None:
    """Let `auto`, in this process, neither expect anything of the rest of an update nor remember any [ELA §5.2]."""
    CostForecast.left = lambda race, spent: math.inf  # type: ignore[assignment, method-assign]
    CostHistory.is_hopeless = _never  # type: ignore[assignment, method-assign]


def _never(*_: object) -> bool:
    return False


def _without(rows: Mapping[str, pa.Table], gone: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The rows that were not deleted before."""
    left = {n: r.join(gone[n], r.column_names, join_type="left anti") if n in gone else r for n, r in rows.items()}
    return {name: part for name, part in left.items() if len(part)}


def _check(engine: IncrementalEngine, expected: Mapping[str, int]) -> None:
    sizes = {name: engine.count(name) for name in expected}
    assert sizes == expected, f"expected {expected} rows, got {sizes}"


def _apply(engine: IncrementalEngine, rows: Mapping[str, pa.Table], step: Step | None) -> Epoch:
    changes = signed(rows, step.weight if step else 1)
    started = time.perf_counter()
    result = engine.apply(changes)
    seconds = time.perf_counter() - started
    changed = sum(len(table) for table in result.changes.values())
    anew = sum(component.action == "bootstrap" for component in result.components)
    return Epoch(step, seconds, changed, anew, engine.nbytes)


def spread(values: Sequence[float], digits: int) -> str:
    """Median, least and greatest."""
    if not values:
        return "-"
    several = f" ({min(values):.{digits}f}–{max(values):.{digits}f})" if len(values) > 1 else ""
    return f"{statistics.median(values):.{digits}f}{several}"
