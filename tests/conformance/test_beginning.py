"""Operators of a user's own that make rows of nothing: these are there from the first epoch on, whatever changes in it.

Catches an operator that waits for its inputs, what it makes of nothing told twice (after a change of the circuit, by
each shard) or never, and a derivative or a state that goes on from rows that were never there.
"""

from __future__ import annotations

import pytest

import deltic
from deltic import ZSet
from deltic.circuit import CircuitBuilder
from deltic.circuit import operators as ops
from deltic.circuit.operators.custom import applied
from deltic.values.types import Schema, Type

NUMBERS = {"n": "int64"}


def count(rows):
    return [(sum(weight for _, weight in rows),)]


def change_of_count(rows):
    return ZSet.of(count(rows.new)) - ZSet.of(count(rows.old))


class Counting:
    """How many rows there have been."""

    def __init__(self):
        self.rows = 0

    def update(self, rows):
        before, self.rows = self.rows, self.rows + sum(weight for _, weight in rows)
        return ZSet([((self.rows,), 1), ((before,), -1)])


KINDS = {
    "anew": {},
    "derived": {"derivative": change_of_count},
    "stateful": {"state": Counting},
}


def counts(*views: str, kind: str):
    """How many rows a table has, how many rows that number is, and how many a constant has."""
    counting = deltic.operator(count, name=f"count_{kind}", takes=[NUMBERS], gives=NUMBERS, **KINDS[kind])
    numbers, builder = Schema.of(n=Type.INT64), CircuitBuilder()
    builder.add(ops.Source("other", numbers, True))
    table = builder.add(ops.Source("t", numbers, True))
    made = builder.add(applied(counting), table)
    of = {"rows": made, "twice": builder.add(applied(counting), made)}
    of["fixed"] = builder.add(applied(counting), builder.add(ops.Constant(numbers, ((5,), (6,)))))
    for view in views:
        builder.add(ops.Sink(view), of[view])
    return builder.build()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_of_nothing_is_there_from_the_first_epoch_on(drive, kind):
    driver = drive(counts("rows", "twice", "fixed", kind=kind))
    assert driver.changes({"other": [((1,), 1)]}) == {"rows": {(0,): 1}, "twice": {(1,): 1}, "fixed": {(2,): 1}}
    assert driver.changes({"other": [((2,), 1)]}) == {}
    assert driver.changes({"t": [((1,), 1), ((2,), 1)]}) == {"rows": {(0,): -1, (2,): 1}}
    assert driver.changes({"t": [((1,), -1), ((2,), -1)]}) == {"rows": {(0,): 1, (2,): -1}}
    assert driver.rows("rows") == {(0,)}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_of_nothing_comes_with_the_definition_and_stays(drive, kind):
    driver = drive(counts("rows", kind=kind))
    driver.insert(t=[(1,)])
    assert driver.rows("rows") == {(1,)}
    assert driver.extend(counts("rows", "twice", "fixed", kind=kind)) == {"twice": {(1,): 1}, "fixed": {(2,): 1}}
    assert driver.extend(counts("rows", kind=kind)) == {}
    assert driver.changes({"t": [((1,), -1)]}) == {"rows": {(0,): 1, (1,): -1}}
    assert driver.rows("rows") == {(0,)}
