"""The Boolean change action: pairs of additions and removals instead of weights."""

from deltic.theory.circuits.boolean.incrementalize import incrementalize_sets
from deltic.theory.circuits.boolean.rows import GAINS
from deltic.theory.circuits.boolean.table import Gains

__all__ = ["GAINS", "Gains", "incrementalize_sets"]
