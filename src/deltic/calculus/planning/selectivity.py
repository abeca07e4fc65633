"""Selectivity of conditions, from their form and the numbers of distinct values of columns.

Values are assumed to be equally frequent and columns independent; a comparison of order selects a third, an equality
with an unknown value a tenth [System R, Selinger et al. 1979]. Where rows are available, `Statistics.passing` is
more accurate.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

# The selectivity of an unknown condition, of an equality with an unknown value, and the least of all.
_SELECTED, _EQUAL, _LEAST = 1 / 3, 1 / 10, 1e-6


def selectivity(predicate: exp.Expression, distinct: Mapping[str, float]) -> float:
    """Return the fraction of rows for which the predicate is true; `distinct` has numbers of values by column."""
    return min(1.0, max(_LEAST, _part(predicate, distinct)))


def _part(predicate: exp.Expression, distinct: Mapping[str, float]) -> float:
    match predicate:
        case exp.Paren():
            return _part(predicate.this, distinct)
        case exp.And():
            return _part(predicate.this, distinct) * _part(predicate.expression, distinct)
        case exp.Or():
            return min(1.0, _part(predicate.this, distinct) + _part(predicate.expression, distinct))
        case exp.Not():
            return 1 - _part(predicate.this, distinct)
        case exp.NEQ():
            return 1 - _equal(predicate, distinct)
        case exp.EQ() | exp.NullSafeEQ() | exp.Is():
            return _equal(predicate, distinct)
    return _SELECTED


def _equal(predicate: exp.Binary, distinct: Mapping[str, float]) -> float:
    """Return the fraction of rows with two equal sides: one value of the column with the most values."""
    sides = (predicate.this, predicate.expression)
    known = [distinct[side.name] for side in sides if isinstance(side, exp.Column) and side.name in distinct]
    return 1 / max(1.0, *known) if known else _EQUAL
