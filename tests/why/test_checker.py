"""The checker refuses a step that lacks a premise. Catches a checker that takes what is not given for absent."""

from __future__ import annotations

import pytest

from deltic import Pipeline
from deltic.why import ExplanationStep, Note
from tests.why.checker import Checker
from tests.why.test_random import contents

DATALOG = ".decl a(x: number)\n.input a\n.decl b(x: number, y: number)\n.input b\n.decl v(x: number)\n"
SQL = """CREATE TABLE a (x INT NOT NULL, PRIMARY KEY (x)); CREATE TABLE b (x INT NOT NULL, y INT NOT NULL);
CREATE VIEW v AS """
PROGRAMS = {
    "negation": DATALOG + "v(x) :- a(x), !b(x, x).",
    "negation of any": DATALOG + "v(x) :- a(x), !b(x, _).",
    "negation in a recursion": DATALOG + "v(x) :- a(x), x < 2.\nv(x + 1) :- v(x), !b(x, 2), x < 3.",
    "universal": DATALOG + "v(x) :- a(x), forall y: (b(x, y) -> a(y)).",
    "not exists": SQL + "SELECT x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND b.y > 1)",
    "not in": SQL + "SELECT y FROM b WHERE y + 1 NOT IN (SELECT x FROM a)",
    "outer join": SQL + "SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x AND b.y = 7",
    "except": SQL + "SELECT x FROM b EXCEPT SELECT x FROM a",
    "nothing to count": SQL + "SELECT x, (SELECT count(*) FROM b WHERE b.x = a.x) AS n FROM a",
}


def left_out(step: ExplanationStep, checker: Checker) -> int:
    """Leave out each premise of a step, which the checker must notice; how many are negative."""
    whole, negative = step.premises, 0
    for premise in whole:
        if isinstance(premise, Note) and not premise.text.startswith("for each"):
            continue
        negative += not isinstance(premise, ExplanationStep)
        step.premises = tuple(each for each in whole if str(each) != str(premise))
        with pytest.raises(AssertionError, match="does not follow"):
            checker._check_step(step)
    step.premises = whole
    return negative


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_premise_that_is_left_out_is_noticed(kind):
    made = Pipeline()
    (made.sql if kind in list(PROGRAMS)[4:] else made.datalog)(PROGRAMS[kind])
    with made.transaction() as change:
        change.insert("a", [(1,), (2,), (3,)])
        change.insert("b", [(1, 1), (1, 3), (4, 2), (3, 7)])
    checker, negative = Checker(made.catalog, contents(made)), 0
    for row in sorted((row for row, _ in checker.whole["v"]), key=repr):
        explanation = made.why("v", row)
        checker.check(explanation)
        negative += sum(left_out(step, checker) for step in explanation.steps() if step.by != "table")
    assert negative
