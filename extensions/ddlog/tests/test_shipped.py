"""Plans of programs in other processes, which have nothing of the program but what the plan carries.

Catches functions that are closures of Python, tables that only the process has that read the program, and constructors
and constants that are not the same ones there.
"""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import deltic
from deltic.engine.executors.shards.lay_out import lay_out
from deltic.program.compiling import program_of
from deltic_ddlog.check import check
from deltic_ddlog.lowering.program import Lowered
from tests.engine.executors.shards.jobs import only_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
import group
import shapes
typedef Kind = Plain | Boxed{size: u8, tags: Vec<string>}
extern function half(x: u64): u64
function told(kind: Kind): string { match (kind) { Plain -> "plain", Boxed{size, _} -> "boxed ${size}" } }
input relation Thing(name: string, kind: Kind, weight: u64)
output relation Tag(name: string, tag: string)
Tag(name, tag) :- Thing(name, Boxed{_, tags}, _), var tag = FlatMap(tags).
output relation Told(name: string, text: string, half: u64)
Told(name, told(kind), half(weight)) :- thing in Thing(name, kind, weight), 100 / thing.weight > 1, is_round(name).
output relation Listed(kind: Kind, names: Vec<string>)
Listed(kind, names) :- Thing(name, kind, _), var names = name.group_by(kind).to_vec().
relation Test(name: string, holds: function(u64): bool)
Test(name, |w| w > least) :- Thing(name, Boxed{_, _}, weight), var least = weight - 3.
Test(name, |w| w == thing.weight) :- thing in Thing(name, Plain, _).
Test("odd", is_odd) :- Thing("pin", _, _).
Test("above", above(5)) :- Thing("pin", _, _).
function is_odd(w: u64): bool { w % 2 == 1 }
function above(least: u64): function(u64): bool { |w| w > least }
output relation Holds(name: string, weight: u64)
Holds(name, weight) :- Test(name, holds), Thing(_, _, weight), holds(weight).
output relation Unboxed(name: string, first: Option<string>)
Unboxed(name, first) :- Thing(name, kind, _), Boxed{.tags = var tags} = kind, var first = tags.nth(0).
"""
SHAPES = 'function is_round(name: string): bool { name.contains("o") }'
ROWS = [("box", 'Boxed{.size = 3, .tags = ["a", "b", "a"]}', 8), ("dot", "Plain{}", 4), ("pin", "Plain{}", 6)]
VIEWS = {
    "Holds": [("above", 6), ("above", 8), ("box", 6), ("box", 8), ("dot", 4), ("pin", 6)],
    "Listed": [('Boxed{.size = 3, .tags = ["a", "b", "a"]}', '["box"]'), ("Plain{}", '["dot", "pin"]')],
    "Tag": [("box", "a"), ("box", "b")],
    "Told": [("box", "boxed 3", 4), ("dot", "plain", 2)],
    "Unboxed": [("box", 'ddlog_std::Some{.x = "a"}')],
}
ELSEWHERE = """
import pickle, sys
import pyarrow as pa
with open(sys.argv[1], "rb") as file:
    plan, circuit, rows = pickle.load(file)
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.shards.executor import ShardsExecutor
engine = IncrementalEngine(circuit, executor=ShardsExecutor.empty, shards=2)
engine.apply({"Thing": rows})
print({view: sorted(tuple(row.values()) for row in engine.read(view).to_pylist()) for view in sys.argv[2:]})
"""


def half(x: int) -> int:
    """Half of a number."""
    return x // 2


def pipeline_of(folder: Path, **options: Any) -> deltic.Pipeline:
    """Return a pipeline of the program, whose modules are in a folder."""
    (folder / "shapes.dl").write_text(SHAPES)
    extern = deltic.function(half, arguments=["uint64"], returns="uint64", name="half", deterministic=True)
    pipeline = deltic.Pipeline(functions=[extern], **options)
    pipeline.ddlog(PROGRAM, directories=[folder])
    return pipeline


def test_a_plan_runs_in_another_process(tmp_path: Path) -> None:
    circuit = pipeline_of(tmp_path).catalog.circuit
    (tmp_path / "shapes.dl").unlink()
    table = {
        name: list(values) for name, values in zip(("name", "kind", "weight"), zip(*ROWS, strict=True), strict=True)
    }
    rows = pa.table(table).append_column("__weight__", pa.array([1] * len(ROWS)))
    plan = tmp_path / "plan"
    plan.write_bytes(pickle.dumps((lay_out(program_of(circuit)), circuit, rows)))
    here = [*sys.path, str(Path(__file__).parents[3])]
    told = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(plan), *VIEWS],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(here)},
    )
    assert told.returncode == 0, told.stderr
    assert ast.literal_eval(told.stdout) == VIEWS


def test_closures_are_read_where_no_rule_has_made_them(tmp_path: Path) -> None:
    """From their texts, by what has the program alone: closures of rules, of functions, and functions as values."""
    with pipeline_of(tmp_path) as pipeline:
        with pipeline.transaction() as change:
            change.insert("Thing", ROWS)
        rows = sorted(map(tuple, pipeline["Test"]))
    lowered = Lowered(check(PROGRAM, directories=[tmp_path], functions={"half": half}))
    assert lowered.part
    tests = [lowered.form("Test").of_row(row).fields for row in pickle.loads(pickle.dumps(rows))]
    held = [(name, weight) for name, holds in tests for *_, weight in ROWS if holds(weight)]
    assert sorted(held) == VIEWS["Holds"]


def test_closures_that_a_state_has_are_made_again(tmp_path: Path) -> None:
    """In another pipeline, which has compiled no rule yet when a row goes that has a closure."""
    with pipeline_of(tmp_path, state=tmp_path / "state") as pipeline, pipeline.transaction() as change:
        change.insert("Thing", ROWS)
    extern = deltic.function(half, arguments=["uint64"], returns="uint64", name="half", deterministic=True)
    with deltic.Pipeline(functions=[extern], state=tmp_path / "state") as pipeline:
        with pipeline.transaction() as change:
            change.delete("Thing", ROWS[1:2])
        assert sorted(map(tuple, pipeline["Holds"])) == [
            row for row in VIEWS["Holds"] if row[0] != "dot" if row[1] != 4
        ]


@pytest.mark.spark
def test_a_plan_runs_in_executors(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    only_jobs(monkeypatch)
    with pipeline_of(
        tmp_path,
        spark=spark,
        engine="spark",
        shards=deltic.Shards(count=2, directory=tmp_path / "shards", executor="job"),
    ) as pipeline:
        with pipeline.transaction() as change:
            change.insert("Thing", ROWS)
        assert {view: sorted(map(tuple, pipeline[view])) for view in VIEWS} == VIEWS
