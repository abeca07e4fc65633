"""The calculus: derivatives of operators, and the incrementalization of circuits."""

from deltic.calculus.derivatives import DERIVATIVES, Derivative
from deltic.calculus.incrementalize import incrementalize
