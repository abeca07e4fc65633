"""Lowered circuits derive what the program says. Catches: wrong joins, filters, orders of binding, strata, negation,
disjunction, constants, undefined values; anything that parsing, checking or lowering does to the meaning.

The oracle is `naive.py`, which evaluates the syntax tree.
"""

from hypothesis import given, settings

from deltic.algebra.zset import ZSet
from deltic.circuit.oracle.interpreter import run
from deltic.datalog import check, lower, parse
from tests.datalog.naive import evaluate_program
from tests.datalog.programs import contents, programs


def derive(text, tables):
    """The rows of all derived relations by the reference interpreter; each row has weight one."""
    circuit = lower(check([parse(text)]))
    views = run(circuit, {name: ZSet.of(rows) for name, rows in tables.items()})
    assert all(weight == 1 for rows in views.values() for _, weight in rows)
    return {name: {row for row, _ in rows} for name, rows in views.items()}


@given(programs(aggregates=True), contents)
@settings(max_examples=150)
def test_random_programs_with_aggregates(text, tables):
    """Catches groups without rows, names that are taken for another scope's, wildcards that do not count."""
    test_random_programs.hypothesis.inner_test(text, tables)


@given(programs(), contents)
@settings(max_examples=200)
def test_random_programs(text, tables):
    expected = evaluate_program(parse(text), tables)
    found = derive(text, tables)
    assert found == {name: expected[name] for name in found}
