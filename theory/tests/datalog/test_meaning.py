"""Lowered circuits derive what the program says. Catches: wrong joins, filters, orders of binding, strata, negation,
disjunction, constants, undefined values; anything that parsing, checking or lowering does to the meaning.

They are compared with `naive.py`, which evaluates the syntax tree.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from theory.tests.datalog.naive import evaluate_program
from theory.tests.datalog.programs import contents, programs

from deltic.datalog import parse
from tests.datalog.meaning import derive
from tests.differential.cases import Case


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


@pytest.mark.parametrize("batch", range(10))
def test_the_programs_that_the_engines_are_compared_on(batch):
    """What the engines have in common, the front-end, the lowering and the reference, is right where they agree."""
    for seed in range(batch * 20, (batch + 1) * 20):
        case = Case.random(seed)
        for tables in case.run:
            expected = evaluate_program(parse(str(case.program)), tables)
            found = derive(str(case.program), tables)
            assert found == {name: expected[name] for name in found}, f"seed {seed}\n{case.program}\n{tables}"
