"""The derivative table, one module for each kind of operator."""

from deltic.calculus.derivatives import aggregate, distinct, fixpoint, joins, leaves, linear, streams, windows
from deltic.calculus.derivatives.table import DERIVATIVES, Derivative, Rule, Views, derivative_of

__all__ = [
    "DERIVATIVES",
    "Derivative",
    "Rule",
    "Views",
    "aggregate",
    "derivative_of",
    "distinct",
    "fixpoint",
    "joins",
    "leaves",
    "linear",
    "streams",
    "windows",
]
