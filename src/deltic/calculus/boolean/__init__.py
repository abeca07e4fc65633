"""The Boolean change action: pairs of additions and removals instead of weights."""

from deltic.calculus.boolean.incrementalize import incrementalize_sets
from deltic.calculus.boolean.rows import GAINS
from deltic.calculus.boolean.table import Gains

__all__ = ["GAINS", "Gains", "incrementalize_sets"]
