"""Every definition that is wrong on purpose is rejected by the law checkers, and what it was made from is not."""

from __future__ import annotations

import pytest
from theory.tests.mutants import MUTANTS, RIGHT

from deltic_theory.law import LawViolation


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_wrong_definitions_are_rejected(mutant):
    with pytest.raises(LawViolation) as caught:
        mutant.check()
    assert caught.value.counterexample.left != caught.value.counterexample.right


@pytest.mark.parametrize("name", RIGHT)
def test_right_definitions_are_not(name):
    RIGHT[name]()


def test_the_mutants_have_different_names():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 60
