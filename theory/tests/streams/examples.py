"""Streams of integers and of Z-sets, nested ones too, and operators on them, to try laws on."""

from __future__ import annotations

import random

from deltic.algebra.zset import ZSet
from deltic_theory.groups import INTEGERS, Z_SETS
from deltic_theory.streams import Stream, delay, difference, integral, lift, nested_stream

ID = Stream(INTEGERS, lambda t: t)
ROWS = {(0, 0), (0, 1), (1, 1), (1, 0)}


def random_integers(seed: int) -> Stream[int]:
    rng = random.Random(seed)
    return Stream.of(INTEGERS, [rng.randint(-3, 3) for _ in range(10)])


def random_zsets(seed: int) -> Stream[ZSet[tuple[int, int]]]:
    rng = random.Random(seed)
    return Stream.of(
        Z_SETS, [ZSet((row, rng.randint(-2, 2)) for row in sorted(ROWS) if rng.random() < 0.6) for _ in range(8)]
    )


def random_matrix(seed: int) -> Stream[Stream[int]]:
    rng = random.Random(seed)
    rows = [[rng.randint(-3, 3) for _ in range(8)] for _ in range(8)]
    return nested_stream(INTEGERS, 2, lambda t0, t1: rows[t0 % 8][t1 % 8])


STREAMS = [
    Stream.of(INTEGERS, []),
    Stream.of(INTEGERS, [1]),
    Stream(INTEGERS, lambda t: t + 1),
    Stream(INTEGERS, lambda t: (-1) ** t),
    random_integers(1),
    random_integers(2),
]
RELATIONS = [random_zsets(seed) for seed in range(5)]
MATRICES = [random_matrix(seed) for seed in range(4)]


def multiply(left, right):
    return lift(lambda m, n: m * n, INTEGERS)(left, right)


def compose_relations(left, right):
    """The lifted join of edges with edges, a bilinear operator on streams of Z-sets."""
    return lift(
        lambda r, s: r.join(s, lambda e: e[1], lambda e: e[0], lambda e, f: (e[0], f[1])),
        Z_SETS,
    )(left, right)


def square(stream):
    return multiply(stream, stream)


CAUSAL = {
    "id": lambda s: s,
    "↑square": square,
    "z⁻¹": delay,
    "z⁻³": lambda s: delay(s, 3),
    "I": integral,
    "D": difference,
    "s × I(s)": lambda s: multiply(s, integral(s)),
}
STRICT = {
    "z⁻¹": delay,
    "z⁻³": lambda s: delay(s, 3),
    "↑square ∘ z⁻¹": lambda s: square(delay(s)),
    "z⁻¹ ∘ I": lambda s: delay(integral(s)),
}
LINEAR = {name: CAUSAL[name] for name in ("id", "z⁻¹", "z⁻³", "I", "D")}
