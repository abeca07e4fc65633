"""The text form: a golden file, and the same text for equal circuits in every process."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from sqlglot import exp

from deltic.calculus import incrementalize
from deltic.circuit.expressions import column, show
from tests.circuit.examples import arithmetic, unreachable
from tests.differential.circuits import random_circuit

ROOT = Path(__file__).parents[2]
PRINT_CIRCUITS = """
import random
from deltic.calculus import incrementalize
from tests.differential.circuits import random_circuit
for seed in range(40):
    circuit = random_circuit(random.Random(seed))
    print(circuit, incrementalize(circuit), sep="\\n")
"""


@pytest.mark.parametrize("example", [unreachable, arithmetic], ids=lambda f: f.__name__)
def test_text(example, golden):
    golden(f"circuit/{example.__name__}.txt", str(example()))


@pytest.mark.parametrize("example", [unreachable, arithmetic], ids=lambda f: f.__name__)
def test_text_of_the_increment(example, golden):
    golden(f"circuit/{example.__name__}-increment.txt", str(incrementalize(example())))


def test_equal_circuits_have_one_text():
    for seed in range(50):
        one, other = (random_circuit(random.Random(seed)) for _ in range(2))
        assert one == other
        assert str(one) == str(other)
        assert str(incrementalize(one)) == str(incrementalize(other))


def test_text_does_not_depend_on_the_hash_seed():
    assert printed_under("1") == printed_under("2")


def printed_under(seed: str) -> str:
    """The texts of forty random circuits, printed by a Python with this hash seed."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    command = [sys.executable, "-c", PRINT_CIRCUITS]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


X, Y = column("x"), column("y")


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (exp.Sub(this=exp.Sub(this=X, expression=Y), expression=X), "x - y - x"),
        (exp.Sub(this=X, expression=exp.Sub(this=Y, expression=X)), "x - (y - x)"),
        (exp.Mul(this=exp.Add(this=X, expression=Y), expression=Y), "(x + y) * y"),
        (exp.Mul(this=exp.Paren(this=exp.Add(this=X, expression=Y)), expression=Y), "(x + y) * y"),
        (exp.Add(this=X, expression=exp.Mul(this=Y, expression=Y)), "x + y * y"),
        (exp.Mod(this=X, expression=exp.Mul(this=Y, expression=exp.Mod(this=X, expression=Y))), "x % (y * (x % y))"),
        (exp.BitwiseAnd(this=X, expression=exp.BitwiseOr(this=X, expression=Y)), "x & (x | y)"),
        (exp.Neg(this=exp.Add(this=X, expression=Y)), "-(x + y)"),
        (exp.Not(this=exp.Is(this=X, expression=exp.Null())), "NOT x IS NULL"),
        (exp.Is(this=exp.EQ(this=X, expression=Y), expression=exp.Null()), "(x = y) IS NULL"),
    ],
)
def test_expression_text_tells_trees_apart(tree, text):
    assert show(tree) == text
