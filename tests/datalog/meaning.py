"""The meaning of a program's text: parsed, checked, lowered, and run by the reference interpreter."""

from __future__ import annotations

from deltic.algebra.zset import ZSet
from deltic.circuit.oracle.interpreter import run
from deltic.datalog import check, lower, parse


def derive(text, tables):
    """The rows of all derived relations by the reference interpreter; each row has weight one."""
    circuit = lower(check([parse(text)]))
    views = run(circuit, {name: ZSet.of(rows) for name, rows in tables.items()})
    assert all(weight == 1 for rows in views.values() for _, weight in rows)
    return {name: {row for row, _ in rows} for name, rows in views.items()}
