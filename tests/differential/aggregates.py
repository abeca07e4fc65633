"""Random calls of aggregates: every function, on columns of the types that it takes, with constants that it accepts."""

from __future__ import annotations

import itertools
import random

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.whole import DIRECTIONS
from deltic.values.types import Schema

PARTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0)


def taken(function, schema: Schema, most=2):
    """The columns, one or more, of which a function can be called."""
    accumulator, names = ACCUMULATORS[function], schema.names
    choices = itertools.chain(*(itertools.product(names, repeat=n) for n in range(1, most + 1)))
    return [c for c in choices if accumulator.takes([schema.types[name] for name in c])]


def constants(rng: random.Random, function, columns):
    """Constants with which it can be called."""
    match function:
        case "percentile" | "percentile_disc":
            return rng.choice(PARTS), rng.random() < 0.5
        case "mode":
            return (rng.random() < 0.5,)
        case "string_agg":
            return rng.choice(("", ",", "; it's ")), *(rng.choice(DIRECTIONS) for _ in range(columns - 1))
    return ()


def random_call(rng: random.Random, schema: Schema, name, functions=tuple(ACCUMULATORS)):
    """A call, and one of another function where the first takes no columns of the schema."""
    while not (choices := taken(function := rng.choice(functions), schema)):
        pass
    first, *others = rng.choice(choices)
    return ops.AggregateCall(function, first, name, tuple(others), constants(rng, function, 1 + len(others)))
