"""Recursion [DBSP §7]: the chain from naive evaluation to what the engines keep fresh, as rewrites of circuits."""

from __future__ import annotations

from deltic.calculus.recursion.lowered import lowered
from deltic.calculus.recursion.maintained import maintained
from deltic.calculus.recursion.naive import naive
from deltic.calculus.recursion.semi_naive import semi_naive
from deltic.circuit.graph import Circuit

__all__ = ["chain", "lowered", "maintained", "naive", "semi_naive"]


def chain(query: Circuit) -> dict[str, Circuit]:
    """The circuits of a query by the names of the steps that make them; the last two compute on changes.

    The lowered one is what `incrementalize` makes of the query, once that is optimized.
    """
    steps = {"naive": naive(query)}
    steps["semi_naive"] = semi_naive(steps["naive"])
    steps["maintained"] = maintained(steps["semi_naive"])
    steps["lowered"] = lowered(steps["maintained"], query)
    return steps
