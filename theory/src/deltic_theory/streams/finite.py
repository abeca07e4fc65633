"""I and D on finite streams, which are lists [DBSP §3.5]."""

from __future__ import annotations

from collections.abc import Sequence

from deltic_theory.groups import AbelianGroup, subtract
from deltic_theory.variables import A


def integrate(group: AbelianGroup[A], stream: Sequence[A]) -> list[A]:
    """I: the running sums of a finite stream.

    >>> from deltic_theory.groups import INTEGERS
    >>> integrate(INTEGERS, [1, 2, 3])
    [1, 3, 6]
    """
    sums: list[A] = []
    for change in stream:
        sums.append(group.add(sums[-1] if sums else group.zero, change))
    return sums


def differentiate(group: AbelianGroup[A], stream: Sequence[A]) -> list[A]:
    """D: each element minus the one before it, the first minus zero; the inverse of I.

    >>> from deltic_theory.groups import INTEGERS
    >>> differentiate(INTEGERS, [1, 3, 6])
    [1, 2, 3]
    """
    before = [group.zero, *stream]
    return [subtract(group, new, old) for old, new in zip(before, stream, strict=False)]
