"""Streams over abelian groups: the language of DBSP as a library [DBSP §3, §4, §5, §8, App. A].

* `stream`: streams as lazy functions of time, the group they form, streams of streams.
* `operators`: lifting, pairs, z⁻ᵏ, I and D; `fixpoints`: feedback; `brackets`: δ₀, ∫, E and X.
* `incremental`: Q^Δ, bilinear operators, the vectors and matrices of the paper.
* `iteration`: while a value changes; `windows`: relation-to-stream joins, windows over time.
* `convolution`: the Cauchy product and the Z-transform.
* `cutting`, `laws`: causality, strictness and time invariance, with checkers.
* `finite`: I and D on lists.

    >>> from deltic_theory.groups import INTEGERS
    >>> times = Stream(INTEGERS, lambda t: t)
    >>> integral(times), difference(times), delay(times)
    ([0 1 3 6 10 …], [0 1 1 1 1 …], [0 0 1 2 3 …])
    >>> fix(lambda powers: impulse(INTEGERS, 1) + delay(powers + powers), INTEGERS)
    [1 2 4 8 16 …]
    >>> matrix = nested_stream(INTEGERS, 2, lambda t0, t1: 2 * t0 + t1)
    >>> block(lift(delay, matrix.values)(matrix), 2, 4)
    [[0, 0, 1, 2], [0, 2, 3, 4]]
"""

from deltic_theory.streams.brackets import (
    DivergenceError,
    bracketed,
    constant,
    definite_integral,
    impulse,
    limit,
)
from deltic_theory.streams.finite import differentiate, integrate
from deltic_theory.streams.fixpoints import feedback, fix, fix_together
from deltic_theory.streams.incremental import incremental
from deltic_theory.streams.operators import delay, difference, integral, lift, lift_repeatedly, pair
from deltic_theory.streams.stream import (
    NotStrictError,
    Stream,
    Streams,
    block,
    nested_stream,
    nested_streams,
)
