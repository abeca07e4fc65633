"""Semiautomata are the change actions whose changes are words over a finite alphabet [FIX §2.1.1]."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from deltic_theory.change_action import ChangeAction

State = TypeVar("State")
Letter = TypeVar("Letter", bound=Hashable)


@dataclass(frozen=True)
class Semiautomaton(Generic[State, Letter]):
    """An alphabet and a transition function T(state, letter); the states are the values of the transition's type.

    >>> parity = Semiautomaton(("0", "1"), lambda state, bit: (state + int(bit)) % 2)
    >>> action_of(parity).plus(0, tuple("0110"))
    0
    """

    alphabet: tuple[Letter, ...]
    transition: Callable[[State, Letter], State]


@dataclass(frozen=True)
class WordAction(Generic[State, Letter]):
    """States changed by words: the free extension of a transition function, letter by letter."""

    transition: Callable[[State, Letter], State]

    @property
    def empty(self) -> tuple[Letter, ...]:
        return ()

    def compose(self, first: tuple[Letter, ...], second: tuple[Letter, ...]) -> tuple[Letter, ...]:
        return first + second

    def plus(self, value: State, change: tuple[Letter, ...]) -> State:
        for letter in change:
            value = self.transition(value, letter)
        return value


def action_of(automaton: Semiautomaton[State, Letter]) -> WordAction[State, Letter]:
    """Return the change action (Q, Σ*, T*) of a semiautomaton."""
    return WordAction(automaton.transition)


def semiautomaton_of(
    action: ChangeAction[State, tuple[Letter, ...]], alphabet: tuple[Letter, ...]
) -> Semiautomaton[State, Letter]:
    """Return the semiautomaton of an action whose changes are the words over `alphabet`: T(q, σ) = q ⊕ σ.

    >>> from deltic_theory.monoids import WORDS
    >>> semiautomaton_of(WORDS, ("a", "b")).transition(("a",), "b")
    ('a', 'b')
    """
    return Semiautomaton(alphabet, lambda state, letter: action.plus(state, (letter,)))
