"""Checkers of the laws of groups, of linearity, and of incremental programs over streams of changes [DBSP §3, §4]."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from deltic_theory.groups import AbelianGroup
from deltic_theory.law import Domain, Equality, Law, check
from deltic_theory.streams.finite import differentiate, integrate
from deltic_theory.variables import A, B


def check_group(group: AbelianGroup[A], values: Domain[A], equal: Equality = operator.eq, examples: int = 200) -> None:
    """The laws of an abelian group [DBSP §3.2].

    >>> from deltic_theory.groups import IntegersModulo
    >>> check_group(IntegersModulo(4), range(4))
    """
    add, negate, zero = group.add, group.negate, group.zero
    laws = [
        Law("not a group", "a + 0 = a", ("a",), lambda a: add(a, zero), lambda a: a, equal),
        Law("not a group", "a + (−a) = 0", ("a",), lambda a: add(a, negate(a)), lambda _: zero, equal),
        Law("not abelian", "a + b = b + a", ("a", "b"), add, lambda a, b: add(b, a), equal),
        Law(
            "not a group",
            "(a + b) + c = a + (b + c)",
            ("a", "b", "c"),
            lambda a, b, c: add(add(a, b), c),
            lambda a, b, c: add(a, add(b, c)),
            equal,
        ),
    ]
    check(laws, {"a": values, "b": values, "c": values}, examples)


def check_linear(
    function: Callable[[A], B],
    source: AbelianGroup[A],
    target: AbelianGroup[B],
    values: Domain[A],
    equal: Equality = operator.eq,
    examples: int = 200,
) -> None:
    """That a function is a group homomorphism, and so its own derivative: f(a + b) = f(a) + f(b) [DBSP Def. 3.20].

    >>> from deltic_theory.groups import INTEGERS
    >>> check_linear(lambda n: 3 * n, INTEGERS, INTEGERS, range(-3, 4))
    """
    law = Law(
        "not linear",
        "f(a + b) = f(a) + f(b)",
        ("a", "b"),
        lambda a, b: function(source.add(a, b)),
        lambda a, b: target.add(function(a), function(b)),
        equal,
    )
    check([law], {"a": values, "b": values}, examples)


def check_incremental(
    query: Callable[[A], B],
    incremental: Callable[[Sequence[A]], Sequence[B]],
    source: AbelianGroup[A],
    target: AbelianGroup[B],
    streams: Domain[Sequence[A]],
    equal: Equality = operator.eq,
    examples: int = 200,
) -> None:
    """That a program over streams of changes is D ∘ ↑Q ∘ I, by definition the incremental Q [DBSP Def. 4.1].

    `streams` yields finite streams of changes of the input; `incremental` maps each to the stream of the output's.

    >>> from deltic_theory.groups import INTEGERS
    >>> check_incremental(lambda n: 3 * n, lambda s: [3 * n for n in s], INTEGERS, INTEGERS, [(1, 2), (0, -1, 5)])
    """

    def lifted(stream: Sequence[A]) -> list[B]:
        return [query(value) for value in stream]

    check_incremental_operator(lifted, incremental, source, target, streams, equal, examples)


def check_incremental_operator(
    query: Callable[[Sequence[A]], Sequence[B]],
    incremental: Callable[[Sequence[A]], Sequence[B]],
    source: AbelianGroup[A],
    target: AbelianGroup[B],
    streams: Domain[Sequence[A]],
    equal: Equality = operator.eq,
    examples: int = 200,
) -> None:
    """As `check_incremental`, for a query that is an operator on streams, with a past, and not lifted: D ∘ Q ∘ I.

    >>> from deltic_theory.groups import INTEGERS
    >>> delayed = lambda stream: [0, *stream[:-1]]
    >>> check_incremental_operator(delayed, delayed, INTEGERS, INTEGERS, [(1, 2), (0, -1, 5)])
    """
    law = Law(
        "not incremental",
        "QΔ(s) = (D ∘ Q ∘ I)(s)",
        ("s",),
        lambda stream: list(incremental(stream)),
        lambda stream: differentiate(target, query(integrate(source, stream))),
        lambda left, right: len(left) == len(right) and all(map(equal, left, right)),
    )
    check([law], {"s": streams}, examples)
