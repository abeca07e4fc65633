"""Streams over a group: they form a group again, and have running sums and differences [DBSP §3.4, §3.5]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from deltic.algebra.groups import AbelianGroup, Functions, subtract

A = TypeVar("A")


def streams(values: AbelianGroup[A]) -> Functions[int, A]:
    """The group of streams: functions of time, added at each time; its values may be streams again [DBSP Prop. 3.19].

    Examples
    --------
    >>> from deltic.algebra.groups import INTEGERS
    >>> nested = streams(streams(INTEGERS))
    >>> nested.add(lambda t: lambda u: t, lambda t: lambda u: u)(3)(4)
    7
    """
    return Functions(values)


def integrate(group: AbelianGroup[A], stream: Sequence[A]) -> list[A]:
    """I: the running sums of a finite stream.

    Examples
    --------
    >>> from deltic.algebra.groups import INTEGERS
    >>> integrate(INTEGERS, [1, 2, 3])
    [1, 3, 6]
    """
    sums: list[A] = []
    for change in stream:
        sums.append(group.add(sums[-1] if sums else group.zero, change))
    return sums


def differentiate(group: AbelianGroup[A], stream: Sequence[A]) -> list[A]:
    """D: each element minus the one before it, the first minus zero; the inverse of I.

    Examples
    --------
    >>> from deltic.algebra.groups import INTEGERS
    >>> differentiate(INTEGERS, [1, 3, 6])
    [1, 2, 3]
    """
    before = [group.zero, *stream]
    return [subtract(group, new, old) for old, new in zip(before, stream, strict=False)]
