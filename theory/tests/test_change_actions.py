"""The instances that the papers name are change actions, and have the further structure that is claimed of them.

Catches a composition in the wrong order, an empty change that is not neutral, and structure claimed too generously.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory.tests.domains import AB, ABC, BOOLEAN, JOIN, MEET, boolean_pairs, sets, words, zsets

from deltic_theory.boolean import BooleanAction, CompleteBooleanAction
from deltic_theory.change_action import ChangesOf, compose_all, plus_all
from deltic_theory.elementary import Empty, Full, discrete, relation_of
from deltic_theory.finite import Finite, full_changes
from deltic_theory.groups import Functions
from deltic_theory.lattices import FiniteSets, JoinAction, MeetAction, Powerset
from deltic_theory.law import LawViolation
from deltic_theory.laws import check_change_action, check_complete, check_monoid, check_ordered, check_thin
from deltic_theory.monoids import (
    INTEGERS_ASCENDING,
    INTEGERS_BY_INTEGERS,
    INTEGERS_DESCENDING,
    INTEGERS_MODULO_2,
    NATURALS,
    WORDS,
    Z_SETS_BY_Z_SETS,
    GroupAction,
    MonoidAction,
)
from deltic_theory.semiautomata import Semiautomaton, action_of, semiautomaton_of

naturals = range(5)
integers = range(-3, 4)

ACTIONS = {
    "ℕ": (NATURALS, naturals, naturals),
    "ℤ₁": (INTEGERS_ASCENDING, integers, naturals),
    "ℤ₂": (INTEGERS_DESCENDING, integers, naturals),
    "ℤ₃": (INTEGERS_BY_INTEGERS, integers, integers),
    "F₂": (INTEGERS_MODULO_2, (0, 1), (0, 1)),
    "words": (WORDS, words, words),
    "a monoid on itself": (MonoidAction(WORDS), words, words),
    "sets under union": (JoinAction(FiniteSets()), sets, sets),
    "sets under intersection": (MeetAction(ABC), ABC.elements(), ABC.elements()),
    "L∨": (JOIN.action, JOIN.values, JOIN.changes),
    "L∧": (MEET.action, MEET.values, MEET.changes),
    "L⋈": (BOOLEAN.action, BOOLEAN.values, BOOLEAN.changes),
    "L⋈ without a universe": (BooleanAction(FiniteSets()), sets, boolean_pairs),
    "Z-sets": (Z_SETS_BY_Z_SETS, zsets, zsets),
    "empty": (Empty(WORDS), naturals, words),
    "discrete": (discrete(), naturals, [()]),
    "full, as tables": (full_changes((0, 1, 2)).action, (0, 1, 2), full_changes((0, 1, 2)).changes),
    "a relation": (
        relation_of([(0, 1), (1, 2), (0, 2)]),
        (0, 1, 2),
        st.lists(st.sampled_from([(0, 1), (1, 2), (0, 2)]), max_size=3).map(tuple),
    ),
}


@pytest.mark.law("FIX Def 1", "CS Named instances")
@pytest.mark.parametrize("name", ACTIONS)
def test_named_instances_are_change_actions(name):
    check_change_action(*ACTIONS[name], examples=60)


@pytest.mark.law("FIX Def 1")
@pytest.mark.parametrize("name", ACTIONS)
def test_changes_act_on_themselves(name):
    action, _, changes = ACTIONS[name]
    check_change_action(ChangesOf(action), changes, changes, examples=40)


def agree(f, g):
    return all(f(n) == g(n) for n in range(4))


maps = st.sampled_from([lambda n: (n + 1) % 4, lambda n: 3 - n, lambda n: 2, lambda n: n])


def test_full_action_of_functions():
    check_change_action(Full(), range(4), maps, change_equal=agree)
    check_complete(Full(), range(4))


def test_functions_into_a_group_act_on_themselves():
    check_change_action(GroupAction(Functions(INTEGERS_BY_INTEGERS.group)), maps, maps, agree, agree)


COMPLETE = {
    "ℤ₃": (INTEGERS_BY_INTEGERS, integers),
    "F₂": (INTEGERS_MODULO_2, (0, 1)),
    "L⋈": (BOOLEAN.action, BOOLEAN.values),
    "L⋈ without a universe": (BooleanAction(FiniteSets()), sets),
    "Z-sets": (Z_SETS_BY_Z_SETS, zsets),
}


@pytest.mark.law("FIX Def 4", "FIX Def 5")
@pytest.mark.parametrize("name", COMPLETE)
def test_minus_operators(name):
    check_complete(*COMPLETE[name])


@pytest.mark.law("FIX Def 4")
def test_what_is_not_complete():
    assert not JOIN.is_complete()
    assert not MEET.is_complete()
    assert BOOLEAN.is_complete()
    assert NATURALS.between(5, 3) is None


THIN = {
    "ℕ": (NATURALS, naturals, naturals),
    "ℤ₁": (INTEGERS_ASCENDING, integers, naturals),
    "ℤ₂": (INTEGERS_DESCENDING, integers, naturals),
    "ℤ₃": (INTEGERS_BY_INTEGERS, integers, integers),
    "words": (WORDS, words, words),
    "Z-sets": (Z_SETS_BY_Z_SETS, zsets, zsets),
    "F₂": (INTEGERS_MODULO_2, (0, 1), (0, 1)),
}


@pytest.mark.law("CS Thin change structures", "CS Thin equivalences")
@pytest.mark.parametrize("name", THIN)
def test_thin_actions(name):
    check_thin(*THIN[name])


@pytest.mark.law("CS Thin change structures")
def test_what_is_not_thin():
    zero, one, two = frozenset({0}), frozenset({1}), frozenset({2})
    intersection = MeetAction(Powerset(zero | one | two))
    assert intersection.plus(zero, one) == intersection.plus(zero, two)
    assert not BOOLEAN.is_thin()
    # [CS §2] calls F₂ not thin. As ℤ/2 acting on itself it is; with integers as changes it is not.
    assert Finite(INTEGERS_MODULO_2, (0, 1), (0, 1)).is_thin()
    assert not Finite(INTEGERS_MODULO_2, (0, 1), (0, 1, 2)).is_thin()


@pytest.mark.law("CS Thin equivalences")
@pytest.mark.parametrize("name", ["ℤ₃", "Z-sets", "F₂"])
def test_the_minus_of_a_thin_action_recovers_the_change(name):
    action, values, changes = THIN[name]
    check_thin(Recovering(action), values, changes)


class Recovering:
    """An action whose only change between two values is taken to be their difference."""

    def __init__(self, action):
        self.plus = action.plus
        self.between = lambda source, target: action.minus(target, source)


@pytest.mark.law("FIX Def 14")
def test_ordered_actions():
    for action, values, changes in [
        (NATURALS, naturals, naturals),
        (INTEGERS_ASCENDING, range(-2, 3), range(3)),
        (INTEGERS_DESCENDING, range(-2, 3), range(3)),
        (INTEGERS_BY_INTEGERS, range(-2, 3), range(-2, 3)),
        (JOIN.action, JOIN.values, JOIN.changes),
        (MEET.action, MEET.values, MEET.changes),
        (CompleteBooleanAction(AB), BOOLEAN.values, BOOLEAN.changes),
    ]:
        check_ordered(action, values, changes)


@pytest.mark.law("CS Named instances")
def test_a_relation_reaches_what_it_relates():
    divides = relation_of([(1, 2), (2, 4), (1, 4)])
    assert divides.plus(1, divides.compose(divides.step(1, 2), divides.step(2, 4))) == 4
    with pytest.raises(ValueError, match="4 is not related to 2"):
        divides.step(4, 2)


@pytest.mark.law("CS Named instances")
def test_one_pair_cannot_stand_for_two():
    """[CS §2] composes (b, c) with (c, d) to (b, d), which does something else to c."""
    chain = relation_of([(0, 1), (1, 2), (0, 2)])
    both = chain.compose(chain.step(0, 1), chain.step(1, 2))
    assert chain.plus(1, both) == 2
    assert chain.plus(1, chain.step(0, 2)) == 1


@pytest.mark.law("FIX Semiautomata")
@given(words, words)
def test_semiautomata_both_ways(state, word):
    parity = Semiautomaton(("a", "b"), lambda q, letter: (q + (letter == "a")) % 2)
    action = action_of(parity)
    assert action.plus(0, word) == word.count("a") % 2
    again = semiautomaton_of(action, parity.alphabet)
    assert all(again.transition(q, x) == parity.transition(q, x) for q in (0, 1) for x in "ab")
    from_words = action_of(semiautomaton_of(WORDS, ("a", "b")))
    assert from_words.plus(state, word) == WORDS.plus(state, word)
    check_change_action(action, (0, 1), [(), ("a",), ("b",), ("a", "b")])


def test_helpers_fold_in_order():
    assert plus_all(WORDS, ("x",), [("a",), ("b",)]) == ("x", "a", "b")
    assert compose_all(WORDS, []) == ()


class Backwards:
    """Words whose composition prepends: a monoid, but ⊕ does not follow it."""

    empty = ()

    def compose(self, first, second):
        return second + first

    def plus(self, value, change):
        return value + change


class Forgetful:
    """Subtraction of naturals as a composition: not even associative."""

    empty = 0

    def compose(self, first, second):
        return first - second


def test_checkers_import_hypothesis_only_to_search():
    program = (
        "import sys; from deltic_theory.laws import check_complete; "
        "from deltic_theory.monoids import INTEGERS_MODULO_2; check_complete(INTEGERS_MODULO_2, (0, 1));"
        "sys.exit('hypothesis' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_wrong_actions_are_caught_with_the_smallest_counterexample():
    with pytest.raises(LawViolation) as caught:
        check_change_action(Backwards(), words, words)
    assert str(caught.value) == (
        "not an action: a ⊕ (δa · δb) = (a ⊕ δa) ⊕ δb fails\n"
        "  a     = ()\n"
        "  δa    = ('a',)\n"
        "  δb    = ('b',)\n"
        "  left  = ('b', 'a')\n"
        "  right = ('a', 'b')"
    )
    with pytest.raises(LawViolation, match="0 · δa = δa"):
        check_monoid(Forgetful(), range(3))
    with pytest.raises(LawViolation, match="not thin"):
        check_thin(Recovering(BOOLEAN.action), BOOLEAN.values, BOOLEAN.changes)
