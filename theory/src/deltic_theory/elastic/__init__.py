"""Bootstrap and Update as printed: proofs counted at the first iteration of each fact alone [ELA §2.2, §3].

Small and slow on purpose: what the engine's strategy `elastic` keeps is compared with it. `rules` has rules and their
instantiations, `evaluation` the three algorithms.

    >>> closure = [
    ...     Rule(Atom("p", ("x", "y")), (Atom("e", ("x", "y")),)),
    ...     Rule(Atom("p", ("x", "z")), (Atom("p", ("x", "y")), Atom("e", ("y", "z")))),
    ... ]
    >>> edges = frozenset({("e", (1, 2)), ("e", (2, 3)), ("e", (1, 3))})
    >>> [len(found) for found in bootstrap(closure, edges)]
    [3, 3]
    >>> cut = update(closure, bootstrap(closure, edges), frozenset({("e", (1, 3))}), frozenset())
    >>> cut[2]
    Counter({('p', (1, 3)): 1})
"""

from deltic_theory.elastic.evaluation import Multiset, bootstrap, iterations, semi_naive, support, update
from deltic_theory.elastic.rules import Atom, Facts, Rule, instantiations
