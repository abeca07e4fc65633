"""Magic sets: of a recursion is derived what its readers ask for [Bancilhon, Maier, Sagiv, Ullman 1986].

What is asked of a recursive relation are factors (see `factors`): `path("a", y)` asks by one column, and so does
`path(x, y), start(x)`; `path("a", "z")` by both, each for itself. From a rule's head they are passed to the recursive
atoms of its body. So a relation gets a copy for each *form* in which it is asked, the set of its factors' columns. A
copy has a *guard* for each factor, a relation of the same recursion that sums up what is asked, and a rule is joined
with the guards of its head. It needs no guard whose columns it hands on, as they are, from an atom of the same copy. Of
a relation that somebody wants whole there are no other copies.

A guard that no rule makes grow costs nothing: rules that do not recur are joined with what was asked from outside. Any
other one is a recursion of its own, and may be as large as the whole; then a change of it moves each row that it lets
in to another iteration, which costs many times what the whole would. It is used where constants ask by all columns, so
that few rows can be in all guards, and for relations that are declared so.
"""

from deltic.calculus.planning.magic.search import DemandHints, PushedDemand, push_demand

__all__ = ["DemandHints", "PushedDemand", "push_demand"]
