"""The decisions of a plan, for explanations and for measuring their effect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Rewrites:
    """The rewrites that a plan may use."""

    eliminate: bool = True
    """Eliminate variables early that neither the head nor another atom needs, by hidden relations."""
    share: bool = True
    """Materialize subqueries that several views share."""
    demand: bool = True
    """Restrict recursions to demanded rows."""


ALL = Rewrites()


@dataclass(frozen=True)
class RewriteCosts:
    """The cost model of rewrites, in visited rows."""

    least: float = 20_000.0
    """The least number of saved rows that justifies a relation."""
    ratio: float = 0.4
    """The greatest fraction of the work that may remain."""
    derived: float = 3.0
    """The work for a derivation, which is sorted and counted, in visited rows."""
    stored: float = 3.0
    """The work to store a row, in visited rows."""
    large: float = 1000.0
    """The size of the largest table from which on a relation of unknown size is kept."""
    fan_out: float = 4.0
    """The rows for each value from which on the set of values is kept, where the size of its reader is unknown."""
    columns: int = 2
    """The most columns of a join that is kept without a size estimate."""


COSTS = RewriteCosts()


@dataclass(frozen=True)
class KeptDecision:
    """A relation that a plan keeps in addition to those of the program.

    `before` and `after` are the estimated work without and with it, in visited rows; None if the sizes of its inputs
    are unknown, so that a rule of thumb chose.
    """

    rewrite: str
    """The switch in `Rewrites` that disables it."""
    relation: str
    text: str
    before: float | None = None
    after: float | None = None

    @property
    def definition(self) -> str:
        """The definition of the relation, without its name."""
        return self.text.removeprefix(self.relation)

    def __str__(self) -> str:
        if self.before is None or self.after is None:
            return f"{self.text}; expected: fewer rows to visit, by a rule of thumb"
        return f"{self.text}; expected: the work of {self.after:.3g} visited rows instead of {self.before:.3g}"


def unused(wanted: str, decisions: Iterable[KeptDecision]) -> str:
    """Return a name that no relation of these decisions has."""
    taken = {decision.relation for decision in decisions}
    while wanted in taken:
        wanted += "'"
    return wanted
