"""The papers as executable mathematics: change actions, derivatives, streams, fixpoints, and what circuits mean.

Every notion has the name the papers give it and lives in the file of that name; theory/STATEMENTS.md lists them with
the tests that check them. It imports what it explains; nothing of the product imports it. In the order in which they
build up:

* `change_action`, `derivative`, `products`: values, changes, ⊕; functions with derivatives; × and +.
* `groups`, `indexed`: abelian groups, and Z-sets cut into groups by a key.
* `relational`, `streams`: operators on the Z-sets of `deltic.algebra`, and streams over groups.
* `monoids`, `elementary`, `semiautomata`, `lattices`, `boolean`, `functional`, `superposition`: the instances.
* `finite`, `comparing`: decisions on small actions: coarseness, reachability, kernels, orders.
* `fixpoints`: iteration, incremental iteration, and the derivative of a least fixpoint.
* `formulas`: Datalog with symbolic derivatives.
* `circuits`: denotation, dataflow machines, typing derivations, and the Boolean derivative table.
* `law`, `laws`, `group_laws`, `formulas.laws`: checkers for actions, derivatives and constructs of one's own.

    >>> from deltic.algebra import ZSet
    >>> from deltic_theory import Differentiable
    >>> from deltic_theory.laws import check_derivative
    >>> from deltic_theory.monoids import Z_SETS_BY_Z_SETS as Z
    >>> pairs = Differentiable(
    ...     lambda z: z.product(z), lambda z, dz: dz.product(z) + z.product(dz) + dz.product(dz)
    ... )
    >>> check_derivative(pairs, Z, Z, [ZSet.of("ab"), ZSet()], [ZSet({"a": -1}), ZSet({"c": 2})])
"""

from deltic_theory.boolean import BooleanAction, Change
from deltic_theory.change_action import ChangeAction, Complete, Continuous, Monoid, Ordered, Thin
from deltic_theory.derivative import Differentiable, compose, minus_derivative
from deltic_theory.law import Law, LawViolation

__all__ = [
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
    "compose",
    "minus_derivative",
]
