"""Operators on streams in general, drawn at random: any function of what an operator may depend on is one.

An operator that is causal is a function from the elements so far to an element, and nothing else [DBSP Def. 3.8]; one
that is strict is one from the elements before. Here the functions are random tables, filled in as they are asked.
"""

from __future__ import annotations

import random

from hypothesis import strategies as st

from deltic_theory.groups import INTEGERS
from deltic_theory.streams import Stream

LENGTH = 6

integers = st.integers(-2, 2)


def _endless(beginning, period):
    def element(time):
        return beginning[time] if time < len(beginning) else period[(time - len(beginning)) % len(period)]

    return Stream(INTEGERS, element)


streams = st.builds(_endless, st.lists(integers, max_size=4), st.lists(integers, min_size=1, max_size=3))


class Operator:
    """A random operator of one or several streams; its element at a time depends on those before time + `reach`.

    When it is `invariant`, zeros at the beginning of all inputs do nothing but delay it.
    """

    def __init__(self, seed: int, reach: int = 1, invariant: bool = False) -> None:
        self.seed, self.reach, self.invariant = seed, reach, invariant

    def __call__(self, *inputs: Stream[int]) -> Stream[int]:
        return Stream(INTEGERS, lambda time: self._element([s.prefix(max(0, time + self.reach)) for s in inputs], time))

    def _element(self, seen, time):
        if self.invariant:
            while seen[0] and not any(elements[0] for elements in seen):
                seen, time = [elements[1:] for elements in seen], time - 1
            if not seen[0]:
                return 0
        return random.Random(f"{self.seed} {seen} {time}").randint(-2, 2)

    def __repr__(self) -> str:
        return f"Operator({self.seed}, reach={self.reach}, invariant={self.invariant})"


def operators(reach: int = 1, invariant: bool = False):
    """Operators that look at elements before time + `reach`: strict ones for 0, causal ones for 1."""
    return st.builds(Operator, st.integers(0, 10**6), st.just(reach), st.just(invariant))


causal, strict = operators(), operators(reach=0)
