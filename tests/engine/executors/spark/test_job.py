"""An epoch as one Spark job, against the reference: what a real shuffle and Python workers make of the tasks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pyarrow as pa
import pytest

import deltic
from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.executors.shards.compaction import _arrangements
from deltic.engine.executors.shards.files import DESCRIPTIONS, RUNS, files_of, read_description
from deltic.engine.executors.shards.messages import DIRECT
from deltic.engine.executors.spark.job import run_each, run_job
from deltic.engine.files.local import LocalFiles
from deltic.errors import DelticError
from tests.differential.compare import first_disagreement
from tests.differential.test_circuits import SHAPE, random_case
from tests.engine.executors.spark.engines import spark_engine

PROGRAM = """
    .decl edge(x: number, y: number) .input edge
    .decl reach(x: number, y: number)
    reach(x, y) :- edge(x, y).
    reach(x, z) :- reach(x, y), edge(y, z).
"""
# Each costs one and what it leads to.
COSTS = """
    .decl edge(x: number, y: number) .input edge
    .decl cost(x: number, n: number)
    cost(x, n) :- (edge(x, _) ; edge(_, x)), n = sum m : { m = 1, y = x ; edge(x, y), cost(y, m) }.
"""


def in_jobs(spark, directory, circuit, direct=DIRECT, shards=2):
    job = partial(run_job, spark, slots=lambda: 2)
    return spark_engine(
        circuit, directory=LocalFiles(directory), run_tasks=job, place="job", shards=shards, direct=direct
    )


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "direct", "shards"), [(3, DIRECT, 2), (11, 0, 2), (5, DIRECT, 7)])
def test_random_circuits_as_jobs(spark, tmp_path, seed, direct, shards):
    """With seven shards, a task of Spark has two of them, or one."""
    case = random_case(seed, replace(SHAPE, bags=True))
    make = partial(in_jobs, spark, tmp_path, direct=direct, shards=shards)
    found = first_disagreement(case.circuit, case.run[:3], make)
    assert found is None, f"{case.circuit}\n{found}"


@pytest.mark.slow
def test_rounds_of_histories_as_jobs(spark, tmp_path):
    circuit = lower(check([parse(COSTS)]))
    engine = spark_engine(
        circuit,
        directory=LocalFiles(tmp_path),
        run_tasks=partial(run_job, spark),
        place="job",
        shards=2,
        few=0,
    )
    assert engine.executor.plan.iterated
    edges = [(0, 1), (0, 2), (1, 2)]
    rows = {"x": [x for x, _ in edges], "y": [y for _, y in edges], WEIGHT: [1, 1, 1]}
    engine.apply({"edge": pa.table(rows)})
    assert sorted(engine.read("cost").to_pydict()["n"]) == [1, 2, 4]
    engine.apply({"edge": pa.table({"x": [0], "y": [2], WEIGHT: [-1]})})
    assert sorted(engine.read("cost").to_pydict()["n"]) == [1, 2, 3]


@pytest.mark.slow
def test_functions_of_python_are_there_in_the_workers(spark, tmp_path):
    """Which are processes that never saw the definition."""

    @deltic.function(arguments=[int], returns=int, deterministic=True)
    def halved(n):
        return n // 2

    pipeline = deltic.Pipeline(engine="local", functions=[halved])
    pipeline.sql("CREATE TABLE t (n BIGINT)")
    pipeline.sql("CREATE VIEW v AS SELECT halved(n) AS h, count(*) AS c FROM t WHERE halved(n) > 1 GROUP BY halved(n)")
    engine = in_jobs(spark, tmp_path, pipeline.catalog.circuit)
    engine.apply({"t": pa.table({"n": [1, 4, 5, 8, None], WEIGHT: [1] * 5})})
    engine.apply({"t": pa.table({"n": [5, 9], WEIGHT: [-1, 1]})})
    assert sorted(engine.read("v").to_pydict()["h"]) == [2, 4]


@pytest.mark.slow
def test_a_job_that_fails_leaves_the_state_of_before(spark, tmp_path):
    engine = in_jobs(spark, tmp_path, lower(check([parse(PROGRAM)])))
    rows = pa.table({"x": [1, 2], "y": [2, 3], WEIGHT: [1, 1]})
    engine.apply({"edge": rows})
    before, engine.executor.holder.states = engine.executor.holder.states, {0: "missing.shard", 1: "missing.shard"}
    more = pa.table({"x": [3], "y": [4], WEIGHT: [1]})
    with pytest.raises(DelticError, match=r"missing.shard: it cannot be read .* nothing was changed"):
        engine.apply({"edge": more})
    engine.executor.holder.states = before
    assert engine.count("reach") == 3
    engine.apply({"edge": more})
    assert engine.count("reach") == 6
    named = {
        name
        for state in engine.executor.holder.states.values()
        for name in files_of(read_description(engine.executor.holder.files, state))
    }
    assert {*engine.executor.holder.files.names(RUNS), *engine.executor.holder.files.names(DESCRIPTIONS)} == {
        *named,
        *engine.executor.holder.states.values(),
    }


@pytest.mark.slow
def test_a_compaction_is_a_job_of_its_own(spark, tmp_path):
    job, each = partial(run_job, spark), partial(run_each, spark)
    options = {"run_tasks": job, "run_each": each, "place": "job", "shards": 2, "frozen": 4}
    engine = spark_engine(lower(check([parse(PROGRAM)])), directory=LocalFiles(tmp_path), **options)
    for n in range(3):
        rows = pa.table({"x": range(100 * n, 100 * n + 40), "y": range(100 * n + 1, 100 * n + 41), WEIGHT: [1] * 40})
        engine.apply({"edge": rows})
    engine.executor.holder.compacting.wait()
    engine.executor.holder.compacting.begin(
        engine.executor.holder, {0, 1}
    )  # the last epoch began none where one went on
    engine.executor.holder.compacting.wait()
    states = [read_description(engine.executor.holder.files, state) for state in engine.executor.holder.states.values()]
    runs = [len(a["runs"]) for one in states for name, a in _arrangements(one) if name[0] == "edge"]
    assert max(runs) < 3
    assert engine.count("reach") == 3 * 40 * 41 // 2
    engine.compact()
    assert engine.count("edge", table=True) == 120
