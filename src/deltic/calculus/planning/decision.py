"""What a plan decided: for a reader, and for who measures whether it was right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Rewrites:
    """Which rewrites a plan may use."""

    eliminate: bool = True
    """Variables that neither the head nor another atom needs go early, into hidden relations."""
    share: bool = True
    """What several views compute is kept once."""
    demand: bool = True
    """Of a recursion is derived what is asked of it."""


ALL = Rewrites()


@dataclass(frozen=True)
class RewriteCosts:
    """When a rewrite pays: by the rows that it saves, those of what it keeps counted more than once."""

    least: float = 20_000.0
    """Rows below which nothing is worth a relation of its own."""
    ratio: float = 0.4
    """What may be left of the work, at most."""
    derived: float = 3.0
    """The work for a derivation, which is sorted and counted, in visited rows."""
    stored: float = 3.0
    """The work for a row that is kept, in visited rows."""
    large: float = 1000.0
    """Rows of the largest table from which on a relation is kept whose size cannot be estimated."""
    fan_out: float = 4.0
    """Rows for each value from which on the set of the values is kept, where what reads it cannot be estimated."""
    columns: int = 2
    """Columns of a join that is kept, at most, where its size cannot be estimated."""


COSTS = RewriteCosts()


@dataclass(frozen=True)
class KeptDecision:
    """A relation that a plan keeps beside those of the program.

    `before` and `after` are the estimates of the work without it and with it, in visited rows; None where the sizes of
    what it reads were not known, so that a rule of thumb chose.
    """

    rewrite: str
    """The switch that turns it off."""
    relation: str
    text: str
    before: float | None = None
    after: float | None = None

    @property
    def definition(self) -> str:
        """What the relation is, whatever it is called."""
        return self.text.removeprefix(self.relation)

    def __str__(self) -> str:
        if self.before is None or self.after is None:
            return f"{self.text}; expected: fewer rows to visit, by a rule of thumb"
        return f"{self.text}; expected: the work of {self.after:.3g} visited rows instead of {self.before:.3g}"


def unused(wanted: str, decisions: Iterable[KeptDecision]) -> str:
    """A name that no relation of these decisions has."""
    taken = {decision.relation for decision in decisions}
    while wanted in taken:
        wanted += "'"
    return wanted
