"""What part of the rows a condition selects, by its form and by how many values columns have.

Values are taken to be equally frequent, columns to be independent, a comparison of order to leave a third, and one with
an unknown value a tenth [System R, Selinger et al. 1979]. Where rows tell, `Statistics.passing` knows better.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

# What a condition of which nothing is known leaves of the rows, an equation, and any condition at least.
_SELECTED, _EQUAL, _LEAST = 1 / 3, 1 / 10, 1e-6


def selectivity(predicate: exp.Expression, distinct: Mapping[str, float]) -> float:
    """The part of the rows for which it is true; of its columns those in `distinct` have so many values."""
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
    """The part in which two sides are equal: for one of the values of the column that has most of them."""
    sides = (predicate.this, predicate.expression)
    known = [distinct[side.name] for side in sides if isinstance(side, exp.Column) and side.name in distinct]
    return 1 / max(1.0, *known) if known else _EQUAL
