"""Constructs of Soufflé that are not supported: a message and a hint for each, by its name in the grammar."""

from __future__ import annotations

UNSUPPORTED = {
    "stateful": (
        "stateful functors are not supported",
        "their values would depend on the order of evaluation; declare it without `stateful` if it is a function",
    ),
    "lattice": (
        "lattices (.lattice, <>) are not supported",
        "an aggregate or a subsumption (`<=`) keeps the least or greatest value of a group",
    ),
    "delta": (
        "debug_delta relations are not supported",
        "they have the iterations of Soufflé's evaluation; count in an attribute: `n + 1`",
    ),
    "iteration": (
        "recursive_iteration_cnt() is not supported",
        "its value would depend on the order of evaluation; count in an attribute: `n + 1`",
    ),
    "user_aggregate": (
        "aggregates by a functor and an initial value (@@f x : start, ...) are not supported",
        "their values would depend on the order of rows; make one by deltic.aggregate in Python: `@@f x : ...`",
    ),
    "counter": ("counters ($ and autoinc()) are not supported", "their values would depend on the order of evaluation"),
}
