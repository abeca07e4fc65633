"""Magic sets: a recursion derives only demanded rows [Bancilhon, Maier, Sagiv, Ullman 1986].

The demand on a recursive relation is a set of factors (see `factors`): `path("a", y)` demands by one column, and so
does `path(x, y), start(x)`; `path("a", "z")` by both columns, each a factor of its own. The head of a rule passes its
factors to the recursive atoms of its body. So a relation gets a copy for each *form* of demand, the column sets of its
factors. A copy has a *guard* for each factor, a relation of the same recursion that collects the demand, and a rule is
joined with the guards of its head. It needs no guard for columns that an atom of the same copy passes on unchanged. A
relation with a reader of all rows has no copies.

A guard that no rule extends costs nothing: rules that are not recursive are joined with the demand from outside. Any
other guard is a recursion of its own, and may be as large as the whole relation; then a change of it moves each row
that it admits to another iteration, at many times the cost of the whole relation. It is used where constants demand
by all columns, so that guards have few rows, and for relations that are declared so.
"""

from deltic.calculus.planning.magic.search import DemandHints, PushedDemand, push_demand
