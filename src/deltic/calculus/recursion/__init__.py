"""Recursion [DBSP §7]: the chain from naive evaluation to the circuit that is kept fresh, as rewrites of circuits."""

from deltic.calculus.recursion.naive import naive
from deltic.calculus.recursion.semi_naive import semi_naive

__all__ = ["naive", "semi_naive"]
