"""What is said of relations on shards: sums over all shards, and how the rows are spread.

Catches the numbers of one shard alone, a placement that is left out, and a job's state that is not read.
"""

from __future__ import annotations

import pytest

from deltic.datalog import check, lower, parse
from tests.conformance.engines import Driver, in_tasks, on_shards

JOIN = ".decl a(x: number, y: number) .input a .decl b(y: number, z: number) .input b .decl j(x: number, z: number)"
JOIN += " .output j j(x, z) :- a(x, y), b(y, z)."


@pytest.mark.parametrize("shards", [1, 3])
def test_the_work_of_all_shards_is_added_up(shards):
    circuit = lower(check([parse(JOIN)]))
    driver = Driver(on_shards(circuit, shards=shards), circuit)
    driver.insert(a=[(x, x % 7) for x in range(70)], b=[(y, y) for y in range(7)])
    plans = {plan.relation: plan for plan in driver.engine.maintenance("j")}
    assert {"a", "b", "j"} <= plans.keys()
    assert sum(query.derived for query in plans["j"].queries) == 70
    assert sum(query.changed for query in plans["j"].queries) == 7, "the change of a has nothing to meet yet"
    assert plans["j"].bytes == sum(size.bytes for size in driver.engine.sizes() if size.relation.startswith("j on"))
    assert all(plan.notes for plan in plans.values())


def test_the_state_of_a_job_is_read_from_its_files():
    circuit = lower(check([parse(JOIN)]))
    driver = Driver(in_tasks(circuit, "job"), circuit)
    driver.insert(a=[(1, 2)], b=[(2, 3)])
    assert {"a", "b", "j"} <= {plan.relation for plan in driver.engine.maintenance("j")}
    driver.insert(a=[(4, 2)])
    assert driver.rows("j") == {(1, 3), (4, 3)}
