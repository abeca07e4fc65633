"""Magic sets: a recursion derives only demanded rows [Bancilhon, Maier, Sagiv, Ullman 1986].

The demand on a recursive relation is factors (see `factors`): `path("a", y)` demands by one column, and so does
`path(x, y), start(x)`; `path("a", "z")` by both, each for itself. A rule's head passes them to the recursive atoms of
its body. So a relation gets a copy for each *form* of demand, the set of its factors' columns. A copy has a *guard* for
each factor, a relation of the same recursion that sums up the demand, and a rule is joined with the guards of its head.
It needs no guard whose columns it passes on unchanged from an atom of the same copy. A relation with a reader of all
rows has no other copies.

A guard that no rule makes grow costs nothing: rules that do not recur are joined with the demand from outside. Any
other one is a recursion of its own, and may be as large as the whole; then a change of it moves each row that it admits
to another iteration, which costs many times what the whole would. It is used where constants demand by all columns, so
that few rows can be in all guards, and for relations that are declared so.
"""

from deltic.calculus.planning.magic.search import DemandHints, PushedDemand, push_demand

__all__ = ["DemandHints", "PushedDemand", "push_demand"]
