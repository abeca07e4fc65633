"""Change actions, derivatives, groups, Z-sets and fixpoints: the theory of the papers as a library that stands alone.

Every notion has the name the papers give it and lives in the file of that name; docs/theory.md lists them with
the tests that check them. Nothing here imports any other part of Deltic. In the order in which they build up:

* `change_action`, `derivative`, `products`: values, changes, ⊕; functions with derivatives; × and +.
* `groups`, `zset`, `indexed`, `relational`, `streams`: abelian groups, and the ones that circuits are made of.
* `monoids`, `elementary`, `semiautomata`, `lattices`, `boolean`, `functional`, `superposition`: the instances.
* `finite`, `comparing`: decisions on small actions: coarseness, reachability, kernels, orders.
* `fixpoints`: iteration, incremental iteration, and the derivative of a least fixpoint.
* `formulas`: Datalog with symbolic derivatives.
* `law`, `laws`, `group_laws`, `formulas.laws`: checkers for actions, derivatives and constructs of one's own.

    >>> from deltic.algebra import Differentiable, ZSet
    >>> from deltic.algebra.laws import check_derivative
    >>> from deltic.algebra.monoids import Z_SETS_BY_Z_SETS as Z
    >>> pairs = Differentiable(
    ...     lambda z: z.product(z), lambda z, dz: dz.product(z) + z.product(dz) + dz.product(dz)
    ... )
    >>> check_derivative(pairs, Z, Z, [ZSet.of("ab"), ZSet()], [ZSet({"a": -1}), ZSet({"c": 2})])
"""

from deltic.algebra.boolean import BooleanAction, Change
from deltic.algebra.change_action import ChangeAction, Complete, Continuous, Monoid, Ordered, Thin
from deltic.algebra.derivative import Differentiable, compose, minus_derivative
from deltic.algebra.groups import AbelianGroup
from deltic.algebra.law import Law, LawViolation
from deltic.algebra.zset import ZSet

__all__ = [
    "AbelianGroup",
    "BooleanAction",
    "Change",
    "ChangeAction",
    "Complete",
    "Continuous",
    "Differentiable",
    "Law",
    "LawViolation",
    "Monoid",
    "Ordered",
    "Thin",
    "ZSet",
    "compose",
    "minus_derivative",
]
