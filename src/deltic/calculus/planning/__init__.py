"""Planning: rewrites of circuits that are chosen by the sizes of relations."""

from deltic.calculus.planning.decision import ALL, COSTS, KeptDecision, RewriteCosts, Rewrites
from deltic.calculus.planning.plan import planned
from deltic.calculus.planning.statistics import Statistics

__all__ = ["ALL", "COSTS", "KeptDecision", "RewriteCosts", "Rewrites", "Statistics", "planned"]
