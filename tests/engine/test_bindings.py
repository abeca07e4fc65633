"""What is made for layouts, used after these have changed: queries, compiled recursions, groups, shards.

This catches a query or a compiled recursion that goes on with the tables of before a domain grew, wherever the growth
came from: values of tables, computed ones, texts, NULL, an epoch that was taken back, amid an epoch or before it.
Domains are small at first, and values come from further and further outside.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from deltic.circuit.graph import Circuit
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh
from deltic.errors import IterationLimitError
from tests.conformance.engines import on_shards
from tests.differential.circuits import Shape, random_circuit, sources_of
from tests.differential.compare import Contents, MakeEngine, ReferenceFailed, first_disagreement
from tests.differential.datalog import FLOAT, NUMBER, SYMBOL, UNSIGNED
from tests.differential.random_programs import random_program
from tests.engine.bindings import Watch
from tests.engine.signed_bodies import random_body

GROWING: dict[str, tuple[tuple[Any, ...], ...]] = {
    NUMBER: ((0, 1, 2), (3, 5), (-1, 17), (300, -70), (2**20,), (-(2**33),), (2**62, -(2**63)), (2**63 - 1,)),
    UNSIGNED: ((0, 1), (2, 3), (9,), (300,), (2**20,), (2**33,), (2**63,), (2**64 - 1,)),
    SYMBOL: (("", "a"), ("b", "1"), ("aa", "é"), tuple("cdefgh"), ("ab", "-3"), ("zz" * 20,), ("ac", "ad"), ("0",)),
    FLOAT: ((0.0,), (1.0, 2.0), (-1.5,), (0.1, 64.0), (1e10,), (-1e-300,), (1e300, -1e300), (5e-324,)),
}
"""What each epoch has that those before it had not, by type."""
EPOCHS = len(GROWING[NUMBER])
INCREMENTAL = Refresh(Policy.INCREMENTAL)
PLACES: dict[str, MakeEngine] = {
    "nested": partial(IncrementalEngine, refresh=INCREMENTAL),
    "elastic": partial(IncrementalEngine, strategy=Strategy.ELASTIC, refresh=INCREMENTAL),
    "full": partial(IncrementalEngine, strategy=Strategy.FULL),
    "abandoned": partial(IncrementalEngine, strategy=Strategy.ELASTIC, refresh=Refresh(Policy.AUTO, switch=0)),
    "by groups": partial(IncrementalEngine, refresh=INCREMENTAL, thresholds=Thresholds(grouped=0)),
    "in small steps": partial(
        IncrementalEngine, refresh=INCREMENTAL, thresholds=Thresholds(allowance=1, handed=1, rest=0)
    ),
    "shards": partial(on_shards, shards=2),
}


def growing_run(rng: random.Random, tables: dict[str, Sequence[str]]) -> list[Contents]:
    """Contents of tables, whose columns have these types, with values of more and more epochs; old rows go and stay."""
    contents: Contents = dict.fromkeys(tables, frozenset())
    run = []
    for epoch in range(EPOCHS):
        known = {type_: [v for new in steps[: epoch + 1] for v in new] for type_, steps in GROWING.items()}

        def row(types: Sequence[str], known: dict[str, list[Any]] = known) -> tuple[Any, ...]:
            return tuple(rng.choice(known[t][-3:] if rng.random() < 0.5 else known[t]) for t in types)

        contents = {
            name: frozenset(r for r in sorted(contents[name]) if rng.random() < 0.7)
            | {row(types) for _ in range(rng.randint(0, 4))}
            for name, types in tables.items()
        }
        run.append(contents)
    return run


def check_run(circuit: Circuit, run: Sequence[Contents], place: str, what: str) -> None:
    """The engine agrees with the reference, however far that comes: some recursions have no end."""
    for epochs in (len(run), len(run) // 2):
        try:
            found = first_disagreement(circuit, run[:epochs], PLACES[place])
        except ReferenceFailed as failure:
            if not isinstance(failure.__cause__, IterationLimitError):
                raise
        else:
            assert found is None, f"{what}\n{circuit}\n{run[:epochs]}\n{found}"
            return


def check_programs(seeds: Sequence[int]) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        program = random_program(rng)
        circuit = lower(check([parse(str(program))]))
        run = growing_run(rng, {r.name: r.types for r in program.relations if r.table})
        check_run(circuit, run, list(PLACES)[seed % len(PLACES)], f"program {seed}")


TYPES = {"INT64": NUMBER, "STRING": SYMBOL}


def check_circuits(seeds: Sequence[int]) -> None:
    """With bags, aggregates, windows, and recursions whose rows come and go."""
    for seed in seeds:
        rng = random.Random(seed)
        circuit = random_circuit(rng, Shape(bags=False, ordered=True, fixpoints=1))
        run = growing_run(rng, {n: [TYPES[c.type.kind.name] for c in s.schema] for n, s in sources_of(circuit).items()})
        check_run(circuit, run, list(PLACES)[seed % len(PLACES)], f"circuit {seed}")


def check_bodies(seeds: Sequence[int]) -> None:
    """Recursions that are not monotone."""
    for seed in seeds:
        rng = random.Random(seed)
        circuit = random_body(rng)
        run = growing_run(rng, {name: [NUMBER] * len(s.schema) for name, s in sources_of(circuit).items()})
        check_run(circuit, run, list(PLACES)[seed % len(PLACES)], f"body {seed}")


CHECKS = {"programs": (check_programs, 8), "circuits": (check_circuits, 25), "bodies": (check_bodies, 8)}


@pytest.mark.parametrize("kind", CHECKS)
def test_nothing_that_is_used_is_stale(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, (check_seeds, count) = Watch(monkeypatch), CHECKS[kind]
    check_seeds(range(count))
    assert min(watch.grown.values()) > 10, watch.grown


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHECKS)
def test_nothing_that_is_used_is_stale_in_many(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, (check_seeds, count) = Watch(monkeypatch), CHECKS[kind]
    check_seeds(range(100, 100 + 4 * count))
    assert min(watch.grown.values()) > 60, watch.grown
