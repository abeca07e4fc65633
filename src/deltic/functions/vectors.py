"""Functions of vectors, which are arrays of FLOATs, as embeddings are.

Sums are of doubles, as in Spark; SQL rounds the results. A vector with a NULL has no result, nor have two of different
length.
"""

from __future__ import annotations

from deltic.functions.function import FUNCTIONS, Function
from deltic.values.types import Type

_NORM = """
CASE
    WHEN len({0}) <> list_count({0}) THEN NULL
    WHEN {1} = 1 THEN coalesce(list_sum(list_transform({0}, lambda x: abs(x::DOUBLE))), 0)
    WHEN {1} = 2 THEN sqrt(coalesce(list_sum(list_transform({0}, lambda x: x::DOUBLE * x)), 0))
    ELSE coalesce(list_max(list_transform({0}, lambda x: abs(x::DOUBLE))), 0)
END"""

FUNCTIONS |= {
    "inner_product": Function(Type.FLOAT64, "list_inner_product({0}::DOUBLE[], {1}::DOUBLE[])", tolerant=True),
    "l2_distance": Function(Type.FLOAT64, "list_distance({0}::DOUBLE[], {1}::DOUBLE[])", tolerant=True),
    "norm": Function(Type.FLOAT64, _NORM, tolerant=True),
}
