"""The engines under test, and short ways to drive and observe one."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltic.algebra.zset import ZSet
from deltic.circuit.graph import Circuit
from deltic.circuit.oracle.pointwise import Rows
from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.conflicts import Conflicts
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.shards.executor import ShardsExecutor
from deltic.engine.executors.spark.executor import IsSmall
from deltic.engine.executors.spark.placement import ShardPlace
from deltic.engine.files.local import LocalFiles
from deltic.engine.protocol import Engine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.reference import ReferenceEngine, from_arrow
from deltic.engine.refresh import Policy, Refresh
from deltic.engine.result import EpochResult
from tests.differential.circuits import sources_of
from tests.engine.executors.shards.jobs import run_here
from tests.engine.executors.spark.engines import spark_engine
from tests.engine.executors.spark.placing import Anywhere, placed

# The reference, and the local engine under each strategy and refresh policy.
ENGINES: dict[str, Callable[[Circuit], Engine]] = {
    "reference": ReferenceEngine,
    "local": IncrementalEngine,
    "local, elastic": partial(IncrementalEngine, strategy=Strategy.ELASTIC, refresh=Refresh(Policy.INCREMENTAL)),
    "local, full": partial(IncrementalEngine, strategy=Strategy.FULL, refresh=Refresh(Policy.INCREMENTAL)),
    "local, recomputed": partial(IncrementalEngine, refresh=Refresh(Policy.FULL)),
    "three shards": lambda circuit: on_shards(circuit, shards=3),
    "tasks": lambda circuit: in_tasks(circuit, "job"),
    "placed": lambda circuit: placed(circuit, Anywhere(len(circuit.nodes)), is_small=few_rows(2)),
    "local, abandoned": partial(IncrementalEngine, refresh=Refresh(Policy.AUTO, switch=0)),
}


def few_rows(most: int) -> IsSmall:
    """Changes of at most so many rows are small."""
    return lambda rows: sum(rows.values()) <= most


def in_tasks(circuit: Circuit, executor: ShardPlace, **options: Any) -> IncrementalEngine:
    """The engine on Spark, its jobs run in this process; rows of more than 64 bytes go to tasks and come in files."""
    directory = Path(tempfile.mkdtemp(prefix="deltic-tasks-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    made: dict[str, Any] = {"run_tasks": run_here, "direct": 64, "shards": 2, **options}
    return spark_engine(circuit, directory=LocalFiles(directory), place=executor, **made)


on_shards = partial(IncrementalEngine, executor=ShardsExecutor.empty)
"""Makes engines on shards in this process."""


Changes = Mapping[str, Iterable[tuple[tuple, int]]]


class Driver:
    """An engine that runs a circuit, spoken to in rows."""

    def __init__(self, engine: Engine, circuit: Circuit) -> None:
        self.engine, self.circuit = engine, circuit
        self.schemas = {name: source.schema for name, source in sources_of(circuit).items()}

    @classmethod
    def of_program(cls, kind: str, program: str | Circuit) -> Driver:
        circuit = program if isinstance(program, Circuit) else lower(check([parse(program)]))
        return cls(ENGINES[kind](circuit), circuit)

    def batch(self, table: str, pairs: Iterable[tuple[tuple, int]]) -> pa.Table:
        """The rows and weights as they stand, in their order, repetitions included."""
        pairs = list(pairs)
        schema = self.schemas[table]
        columns = [pa.array([row[i] for row, _ in pairs], c.type.arrow) for i, c in enumerate(schema)]
        weights = pa.array([weight for _, weight in pairs], pa.int64())
        return pa.table([*columns, weights], names=[*schema.names, WEIGHT])

    def apply(self, changes: Changes, conflicts: Conflicts = "error") -> EpochResult:
        return self.engine.apply({name: self.batch(name, pairs) for name, pairs in changes.items()}, conflicts)

    def changes(self, changes: Changes, conflicts: Conflicts = "error") -> dict[str, dict[tuple, int]]:
        """The changes of the views in an epoch, as {view: {row: weight}}."""
        return {name: dict(from_arrow(t)) for name, t in self.apply(changes, conflicts).changes.items()}

    def extend(self, program: str | Circuit) -> dict[str, dict[tuple, int]]:
        """Go on with another program: the changes of the views that it makes."""
        self.circuit = program if isinstance(program, Circuit) else lower(check([parse(program)]))
        self.schemas = {name: source.schema for name, source in sources_of(self.circuit).items()}
        return {name: dict(from_arrow(t)) for name, t in self.engine.extend(self.circuit).changes.items()}

    def insert(self, **rows: Iterable[tuple]) -> EpochResult:
        return self.apply({name: [(row, 1) for row in table] for name, table in rows.items()})

    def rows(self, name: str, *, table: bool = False) -> set[tuple]:
        return as_set(self.engine.read(name, table=table))

    def lookup(self, name: str, **key: Any) -> set[tuple]:
        return as_set(self.engine.lookup(name, key))

    def everything(self) -> dict[tuple[str, bool], Rows]:
        """The contents of all tables and views."""
        tables = {(name, True): as_zset(self.engine.read(name, table=True)) for name in self.schemas}
        return tables | {(name, False): as_zset(self.engine.read(name)) for name in self.circuit.sinks}


def as_set(table: pa.Table) -> set[tuple]:
    rows = as_zset(table)
    assert rows.is_set(), f"rows twice in {table}"
    return set(rows.support())


def as_zset(table: pa.Table) -> Rows:
    if not table.num_columns:
        return ZSet({(): table.num_rows})
    return ZSet.of(zip(*(c.to_pylist() for c in table.columns), strict=True))
