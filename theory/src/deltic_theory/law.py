"""A law, and the search for values that break it.

Variables range over a hypothesis strategy, which is searched and shrunk, or over a finite sequence; when all are
sequences, all combinations are gone through. Hypothesis is imported only when a strategy is searched.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

Domain: TypeAlias = "SearchStrategy[T] | Sequence[T]"
"""Where a variable of a law takes its values: a strategy to search or a sequence to go through."""

Equality = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Law:
    """An equation or inequality between two functions of the same variables, which they take by position."""

    title: str
    statement: str
    variables: tuple[str, ...]
    left: Callable[..., Any]
    right: Callable[..., Any]
    holds: Equality = operator.eq

    def holds_for(self, values: Sequence[object]) -> bool:
        """Return whether the two sides agree when the variables have these values."""
        return self.holds(self.left(*values), self.right(*values))


@dataclass(frozen=True)
class Counterexample:
    """Values of the variables for which a law fails, with both sides."""

    law: Law
    values: Mapping[str, object]
    left: object
    right: object

    def __str__(self) -> str:
        rows = {**self.values, "left": self.left, "right": self.right}
        width = max(map(len, rows))
        lines = (f"  {name.ljust(width)} = {value!s}" for name, value in rows.items())
        return f"{self.law.title}: {self.law.statement} fails\n" + "\n".join(lines)


class LawViolation(AssertionError):
    """A law does not hold; `counterexample` says where."""

    def __init__(self, counterexample: Counterexample) -> None:
        super().__init__(str(counterexample))
        self.counterexample = counterexample


def counterexample(law: Law, variables: Mapping[str, Domain[Any]], examples: int = 200) -> Counterexample | None:
    """Values for which `law` fails, as small as the search can make them; None if none was found.

    >>> commutes = Law("not commutative", "ab = ba", ("a", "b"), operator.add, lambda a, b: b + a)
    >>> print(counterexample(commutes, {"a": ["", "x"], "b": ["", "y"]}))
    not commutative: ab = ba fails
      a     = x
      b     = y
      left  = xy
      right = yx
    """
    domains = [variables[name] for name in law.variables]
    sequences = [domain for domain in domains if isinstance(domain, Sequence)]
    if len(sequences) == len(domains):
        result = next((values for values in product(*sequences) if not law.holds_for(values)), None)
    else:
        result = _searched(law, domains, examples)
    if result is None:
        return None
    return Counterexample(law, dict(zip(law.variables, result, strict=True)), law.left(*result), law.right(*result))


def check(laws: Sequence[Law], variables: Mapping[str, Domain[Any]], examples: int = 200) -> None:
    """Raise LawViolation for the first of `laws` with a counterexample."""
    for law in laws:
        result = counterexample(law, variables, examples)
        if result is not None:
            raise LawViolation(result)


def _searched(law: Law, domains: Sequence[Domain[Any]], examples: int) -> tuple[object, ...] | None:
    """Return a failing assignment found and shrunk by hypothesis; the search is the same on every run."""
    from random import Random

    import hypothesis
    from hypothesis import strategies

    searched = [strategies.sampled_from(domain) if isinstance(domain, Sequence) else domain for domain in domains]
    try:
        return hypothesis.find(
            strategies.tuples(*searched),
            lambda values: not law.holds_for(values),
            settings=hypothesis.settings(
                max_examples=examples,
                database=None,
                deadline=None,
                suppress_health_check=list(hypothesis.HealthCheck),
            ),
            random=Random(0),
        )
    except hypothesis.errors.NoSuchExample:
        return None
