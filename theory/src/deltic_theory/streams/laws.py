"""Checkers for operators on streams: causal, strict, time-invariant; and whether two operators are the same [DBSP §3].

An operator takes one stream for each element of `inputs`, which says where that stream is searched for. What is
undecidable for infinite streams is checked at the times given; a counterexample is a fact.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypeAlias

from deltic_theory.groups import AbelianGroup
from deltic_theory.law import Domain, Equality, Law, check
from deltic_theory.streams.cutting import Time, at, cut, cut_strictly
from deltic_theory.streams.operators import delay
from deltic_theory.streams.stream import Stream, block
from deltic_theory.variables import B

StreamOperator: TypeAlias = Callable[..., Stream[Any]]
Inputs: TypeAlias = "Sequence[Domain[Stream[Any]]]"
Shape: TypeAlias = tuple[int, ...]

LENGTH: Shape = (6,)


def check_causal(
    operator: StreamOperator, inputs: Inputs, shape: Shape = LENGTH, equal: Equality = operators.eq, examples: int = 100
) -> None:
    """That the output at a time depends on the inputs up to that time alone [DBSP Def. 3.8, Lemma 3.10].

    >>> from deltic_theory.groups import INTEGERS
    >>> tomorrow = lambda s: Stream(INTEGERS, lambda t: s[t + 1])
    >>> check_causal(tomorrow, [[Stream(INTEGERS, lambda t: t)]])
    Traceback (most recent call last):
    ...
    deltic_theory.law.LawViolation: not causal: T(s)[t] = T(s|≤t)[t] fails
      s     = [0 1 2 3 4 …]
      t     = 0
      left  = 1
      right = 0
    """
    _check_dependence("not causal", "≤", cut, operator, inputs, shape, equal, examples)


def check_strict(
    operator: StreamOperator, inputs: Inputs, shape: Shape = LENGTH, equal: Equality = operators.eq, examples: int = 100
) -> None:
    """That the output at a time depends on the inputs before that time alone [DBSP Def. 3.12, §5.2.4].

    >>> from deltic_theory.groups import INTEGERS
    >>> check_strict(delay, [[Stream(INTEGERS, lambda t: t)]])
    """
    _check_dependence("not strict", "<", cut_strictly, operator, inputs, shape, equal, examples)


def _check_dependence(
    title: str,
    relation: str,
    cutting: Callable[[Stream[Any], Time], Stream[Any]],
    operator: StreamOperator,
    inputs: Inputs,
    shape: Shape,
    equal: Equality,
    examples: int,
) -> None:
    names = _names(inputs)
    arguments, cuts = ", ".join(names), ", ".join(f"{name}|{relation}t" for name in names)
    law = Law(
        title,
        f"T({arguments})[t] = T({cuts})[t]",
        (*names, "t"),
        lambda *values: at(operator(*values[:-1]), values[-1]),
        lambda *values: at(operator(*(cutting(stream, values[-1]) for stream in values[:-1])), values[-1]),
        equal,
    )
    check([law], {**dict(zip(names, inputs, strict=True)), "t": _times(shape)}, examples)


def check_time_invariant(
    operator: StreamOperator,
    inputs: Inputs,
    shape: Shape = LENGTH,
    delayed: Callable[[Stream[Any]], Stream[Any]] = delay,
    examples: int = 100,
) -> None:
    """That the operator commutes with the delay [DBSP Def. 3.5].

    >>> from deltic_theory.groups import INTEGERS
    >>> from deltic_theory.streams.operators import lift
    >>> check_time_invariant(lift(lambda x: 1, INTEGERS), [[Stream(INTEGERS, lambda t: t)]], (3,))
    Traceback (most recent call last):
    ...
    deltic_theory.law.LawViolation: not time-invariant: T(z⁻¹(s)) = z⁻¹(T(s)) fails
      s     = [0 1 2 3 4 …]
      left  = [1, 1, 1]
      right = [0, 1, 1]
    """
    names = _names(inputs)
    statement = f"T({', '.join(f'z⁻¹({name})' for name in names)}) = z⁻¹(T({', '.join(names)}))"
    law = Law(
        "not time-invariant",
        statement,
        names,
        lambda *streams: block(operator(*map(delayed, streams)), *shape),
        lambda *streams: block(delayed(operator(*streams)), *shape),
    )
    check([law], dict(zip(names, inputs, strict=True)), examples)


def check_equivalent(
    statement: str,
    left: StreamOperator,
    right: StreamOperator,
    inputs: Inputs,
    shape: Shape = LENGTH,
    examples: int = 100,
) -> None:
    """That two operators are the same function, the paper's ≅, as far as `shape` reaches.

    >>> from deltic_theory.groups import INTEGERS
    >>> from deltic_theory.streams.operators import difference, integral
    >>> streams = [[Stream(INTEGERS, lambda t: t * t)]]
    >>> check_equivalent("D ∘ I = id", lambda s: difference(integral(s)), lambda s: s, streams)
    """
    names = _names(inputs)
    law = Law(
        "not equivalent",
        statement,
        names,
        lambda *streams: block(left(*streams), *shape),
        lambda *streams: block(right(*streams), *shape),
    )
    check([law], dict(zip(names, inputs, strict=True)), examples)


def check_zero_preserving(
    function: Callable[..., B], sources: Sequence[AbelianGroup[Any]], target: AbelianGroup[B]
) -> None:
    """zpp(f): that f(0, …) = 0; just then its lifting is time-invariant [DBSP Def. 3.6, Prop. 3.7].

    >>> from deltic_theory.groups import INTEGERS
    >>> check_zero_preserving(lambda m, n: m + n + 1, [INTEGERS, INTEGERS], INTEGERS)
    Traceback (most recent call last):
    ...
    deltic_theory.law.LawViolation: zero is not preserved: f(0, 0) = 0 fails
      left  = 1
      right = 0
    """
    zeros = [source.zero for source in sources]
    statement = f"f({', '.join('0' for _ in zeros)}) = 0"
    check([Law("zero is not preserved", statement, (), lambda: function(*zeros), lambda: target.zero)], {})


def check_multilinear(
    function: Callable[..., B],
    sources: Sequence[AbelianGroup[Any]],
    target: AbelianGroup[B],
    inputs: Sequence[Domain[Any]],
    equal: Equality = operators.eq,
    examples: int = 100,
) -> None:
    """That f is linear in each argument while the others are fixed [DBSP Def. 3.21].

    >>> from deltic_theory.groups import INTEGERS
    >>> check_multilinear(lambda m, n: m * n, [INTEGERS] * 2, INTEGERS, [range(-2, 3)] * 2)
    """
    names = tuple(f"a{index}" for index in range(len(inputs)))
    for index, source in enumerate(sources):
        changed = [f"{name} + b" if i == index else name for i, name in enumerate(names)]
        others = ["b" if i == index else name for i, name in enumerate(names)]
        statement = f"f({', '.join(changed)}) = f({', '.join(names)}) + f({', '.join(others)})"
        law = _additive(statement, function, index, source, target, names, equal)
        check([law], {**dict(zip(names, inputs, strict=True)), "b": inputs[index]}, examples)


def _additive(
    statement: str,
    function: Callable[..., B],
    index: int,
    source: AbelianGroup[Any],
    target: AbelianGroup[B],
    names: tuple[str, ...],
    equal: Equality,
) -> Law:
    """Return the law that f takes a sum in argument `index` to a sum; its last variable is the second summand."""

    def with_argument(values: Sequence[Any], argument: Any) -> B:
        return function(*values[:index], argument, *values[index + 1 :])

    return Law(
        "not multilinear",
        statement,
        (*names, "b"),
        lambda *values: with_argument(values[:-1], source.add(values[index], values[-1])),
        lambda *values: target.add(function(*values[:-1]), with_argument(values[:-1], values[-1])),
        equal,
    )


def same_beginning(*shape: int) -> Equality:
    """Return an equality for streams, nested or not: that of their first elements.

    >>> from deltic_theory.groups import INTEGERS
    >>> same_beginning(3)(Stream(INTEGERS, lambda t: t), Stream(INTEGERS, lambda t: t % 3))
    True
    """
    return lambda left, right: bool(block(left, *shape) == block(right, *shape))


def _names(inputs: Inputs) -> tuple[str, ...]:
    return ("s",) if len(inputs) == 1 else tuple(f"s{index}" for index in range(len(inputs)))


def _times(shape: Shape) -> Sequence[Time]:
    """Return all times within a shape: numbers for streams, tuples for nested ones."""
    return list(range(shape[0])) if len(shape) == 1 else list(product(*map(range, shape)))
