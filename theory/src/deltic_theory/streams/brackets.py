"""Into streams and out of them: δ₀ and ∫, E and X [DBSP §5.1]."""

from __future__ import annotations

from collections.abc import Callable

from deltic_theory.groups import AbelianGroup, total
from deltic_theory.streams.operators import difference, integral
from deltic_theory.streams.stream import Stream
from deltic_theory.variables import A, B

BOUND = 10_000


class DivergenceError(ArithmeticError):
    """∫ of a stream that is not zero almost everywhere, as far as was looked."""


def impulse(values: AbelianGroup[A], value: A) -> Stream[A]:
    """δ₀: the value at time 0, then zeros [DBSP Def. 5.1].

    >>> from deltic_theory.groups import INTEGERS
    >>> impulse(INTEGERS, 5)
    [5 0 0 0 0 …]
    """
    return Stream.of(values, [value])


def definite_integral(stream: Stream[A], bound: int = BOUND, quiet: int = 1) -> A:
    """∫: the sum of all elements of a stream that is zero almost everywhere [DBSP Def. 5.2].

    Where the stream does not know its end, it is taken to be at the first `quiet` zeros in a row. One is right for
    D of an iteration x, f(x), f(f(x)), …; the loop exits of [DBSP §10] stop there, too. Raises DivergenceError
    when there is none before the time `bound`.

    >>> from deltic_theory.groups import INTEGERS
    >>> definite_integral(Stream.of(INTEGERS, [0, 1, 2, 3]))
    6
    >>> definite_integral(Stream(INTEGERS, lambda t: t + 1), bound=4)
    Traceback (most recent call last):
    ...
    deltic_theory.streams.brackets.DivergenceError: ∫ has no end before time 4: the stream is [1 2 3 4 5 …], \
its last element looked at is 4
    """
    if stream.zero_from is not None:
        return total(stream.values, stream.prefix(stream.zero_from))
    zero, zeros = stream.values.zero, 0
    result = zero
    for time in range(bound):
        result = stream.values.add(result, stream[time])
        zeros = zeros + 1 if stream[time] == zero else 0
        if zeros == quiet:
            return result
    last = f", its last element looked at is {stream[bound - 1]}" if bound else ""
    raise DivergenceError(f"∫ has no end before time {bound}: the stream is {stream}{last}")


def constant(values: AbelianGroup[A], value: A) -> Stream[A]:
    """E = I ∘ δ₀: the value at all times [DBSP §5.1.4].

    >>> from deltic_theory.groups import INTEGERS
    >>> constant(INTEGERS, 5)
    [5 5 5 5 5 …]
    """
    return integral(impulse(values, value))


def limit(stream: Stream[A], bound: int = BOUND, quiet: int = 1) -> A:
    """X = ∫ ∘ D: the value at which a stream settles [DBSP Prop. 5.3]; `quiet` and errors as for `definite_integral`.

    >>> from deltic_theory.groups import INTEGERS
    >>> limit(Stream(INTEGERS, lambda t: min(t, 3)), quiet=2)
    3
    """
    return definite_integral(difference(stream), bound, quiet)


def bracketed(operator: Callable[[Stream[A]], Stream[B]], values: AbelianGroup[A]) -> Callable[[A], B]:
    """∫ ∘ Q ∘ δ₀: the function on values that an operator on streams over `values` computes [DBSP §5.1.5].

    >>> from deltic_theory.groups import INTEGERS
    >>> from deltic_theory.streams.operators import delay
    >>> bracketed(lambda s: s + delay(s), INTEGERS)(4)
    8
    """
    return lambda value: definite_integral(operator(impulse(values, value)))
