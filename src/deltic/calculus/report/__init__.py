"""What `explain` says about the way from a circuit to its incremental form."""

from deltic.calculus.report.bounded import bounded
from deltic.calculus.report.operators import operator_lines
from deltic.calculus.report.recursion import recursion_lines
from deltic.calculus.report.steps import step_lines

__all__ = ["bounded", "operator_lines", "recursion_lines", "step_lines"]
