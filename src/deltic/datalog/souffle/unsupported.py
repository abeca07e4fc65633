"""What Soufflé has and Deltic has not yet: a message and a hint for each construct, named as in the grammar."""

from __future__ import annotations

UNSUPPORTED = {
    "legacy_type": ("this old form of a type declaration is not supported", "write `.type {name} <: {base}`"),
    "stateful": (
        "stateful functors are not supported",
        "their values would depend on the order of evaluation; declare it without `stateful` if it is a function",
    ),
    "annotation": ("annotations (@[...]) are not supported yet", "remove it, or make it a comment"),
    "limitsize": (".limitsize is not supported", "its result would depend on the order of evaluation"),
    "user_aggregate": ("user-defined aggregates (@@...) are not supported yet", ""),
    "counter": ("counters ($ and autoinc()) are not supported", "their values would depend on the order of evaluation"),
    "address": ("internet addresses as numbers are not supported yet", "write the number: `0x7f000001`"),
}
