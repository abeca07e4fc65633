"""The form of a batch: other types are taken when no value is lost, and nothing is guessed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deltic.circuit.tables import WEIGHT
from deltic.errors import ChangeError
from tests.conformance.programs import FOLLOWS, TYPES

GOOD = {
    "n": pa.array([1]),
    "u": pa.array([2], pa.uint64()),
    "f": pa.array([0.5]),
    "s": pa.array(["a"]),
    WEIGHT: pa.array([1], pa.int64()),
}
ROW = (1, 2, 0.5, "a")


@pytest.mark.parametrize(
    "other",
    [
        {"n": pa.array([1], pa.int8()), "u": pa.array([2], pa.uint8()), "f": pa.array([0.5], pa.float32())},
        {"n": pa.array([1], pa.uint64()), "u": pa.array([2], pa.int64()), WEIGHT: pa.array([1], pa.int8())},
        {"s": pa.array(["a"], pa.large_string())},
        {"s": pa.array(["a"]).dictionary_encode()},
        {"n": pa.array([1.0])},
    ],
    ids=["narrow", "other sign", "large string", "dictionary", "whole float"],
)
def test_types_that_hold_the_same_values(drive, other):
    driver = drive(TYPES)
    driver.engine.apply({"t": pa.table({**GOOD, **other})})
    assert driver.rows("t", table=True) == {ROW}


def test_columns_in_another_order(drive):
    driver = drive(TYPES)
    driver.engine.apply({"t": pa.table(dict(reversed(GOOD.items())))})
    assert driver.rows("t", table=True) == {ROW}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": pa.array([None], pa.int64())}, "column n of a batch of changes has a null"),
        ({"s": pa.array([None], pa.string())}, "column s of a batch of changes has a null"),
        ({WEIGHT: pa.array([None], pa.int64())}, "column __weight__ of a batch of changes has a null"),
        ({"n": pa.array([1.5])}, "column n of a batch of changes: Float value 1.500000 was truncated"),
        ({"n": pa.array([2**64 - 1], pa.uint64())}, "column n of a batch of changes: Integer value"),
        ({"u": pa.array([-1])}, "column u of a batch of changes: Integer value -1 not in range"),
        ({"f": pa.array([["x"]])}, "column f of a batch of changes: "),
        ({"extra": pa.array([1])}, "has the columns n, u, f, s, __weight__; found n, u, f, s, __weight__, extra"),
    ],
)
def test_values_that_do_not_fit(drive, wrong, message):
    driver = drive(TYPES)
    driver.engine.apply({"t": pa.table(GOOD)})
    with pytest.raises(ChangeError) as caught:
        driver.engine.apply({"t": pa.table({**GOOD, **wrong})})
    assert str(caught.value).startswith("table t: ")
    assert message in str(caught.value)
    assert driver.rows("t", table=True) == {ROW}


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_a_column_is_missing(drive, missing):
    with pytest.raises(ChangeError, match="table t: a batch of changes has the columns n, u, f, s, __weight__; found"):
        drive(TYPES).engine.apply({"t": pa.table(GOOD).drop_columns([missing])})


def test_a_table_that_is_not_there(drive):
    with pytest.raises(KeyError, match="nobody"):
        drive(FOLLOWS).engine.apply({"nobody": pa.table(GOOD)})
