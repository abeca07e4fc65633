"""Aggregates r = agg(p)(vs | T | U): a construct that is not part of the core, registered like any other [FIX §4.3].

For each binding of the outer variables, T ranges over bindings of vs and U gives values p to each. The aggregate holds
of r when r is agg of one choice of a value for every binding in the range. So it holds of nothing when some binding
has no value, and of several results when some binding has several values: while T stays, it is monotone in U, which
is what lets aggregates be recursive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from deltic_theory.formulas.derivative import Derivatives, Rule, differentiates
from deltic_theory.formulas.meaning import Columns, denote, everything, meaning
from deltic_theory.formulas.relations import Model, Row, Rows, select
from deltic_theory.formulas.syntax import Exists, Formula, exists
from deltic_theory.formulas.text import prints, text

AGGREGATES: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "count": len,
    "sum": sum,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
}
"""The aggregation functions; None means that there is no result."""


class Aggregate(Formula):
    """result = function(value)(variables | range | body).

    >>> from deltic_theory.formulas.syntax import atom
    >>> height = Aggregate("h", "max", "p", ("c",), atom("child", "n", "c"), atom("height", "c", "p"))
    >>> text(height), sorted(height.free())
    ('h = max(p)(c | child(n, c) | height(c, p))', ['h', 'n'])
    """

    result: str
    function: str
    value: str
    variables: tuple[str, ...]
    range: Formula
    body: Formula

    def outer(self) -> frozenset[str]:
        """Return the variables that the aggregate is taken for each value of."""
        return (self.range.free() | self.body.free()) - {*self.variables, self.value}

    def free(self) -> frozenset[str]:
        return self.outer() | {self.result}


def results(function: str, choices: Iterable[Iterable[Any]]) -> set[Any]:
    """agg of every choice of one value from each of `choices`.

    >>> sorted(results("sum", [[1, 2], [10]])), results("max", [])
    ([11, 12], set())
    """
    result = {AGGREGATES[function](choice) for choice in product(*choices)}
    return result - {None}


@meaning(Aggregate)
def _meaning(formula: Aggregate, columns: Columns, model: Model) -> Rows:
    outer = tuple(sorted(formula.outer()))
    ranged = denote(formula.range, (*outer, *formula.variables), model)
    valued = denote(formula.body, (*outer, *formula.variables, formula.value), model)
    chosen = _results_by_outer(formula, len(outer), ranged, valued)
    nothing_in_range = results(formula.function, [])

    def holds(row: Row) -> bool:
        (key,) = select([row], columns, outer)
        (result,) = select([row], columns, (formula.result,))
        return result[0] in chosen.get(key, nothing_in_range)

    return frozenset(row for row in everything(columns, model) if holds(row))


def _results_by_outer(formula: Aggregate, width: int, ranged: Rows, valued: Rows) -> dict[Row, set[Any]]:
    """Return the results for each outer binding with a nonempty range; rows start with `width` outer values."""
    values: dict[Row, list[Any]] = {}
    for *binding, value in valued:
        values.setdefault(tuple(binding), []).append(value)
    choices: dict[Row, list[list[Any]]] = {}
    for row in ranged:
        choices.setdefault(row[:width], []).append(values.get(row, []))
    return {key: results(formula.function, lists) for key, lists in choices.items()}


def changed(formula: Aggregate, d: Derivatives) -> Formula:
    """Return the guard of the derivative: for these outer values the range changed, or a value within it."""
    moved = d.up(formula.range) | d.down(formula.range)
    valued = Exists(formula.value, d.up(formula.body) | d.down(formula.body))
    return exists(*formula.variables, moved | (formula.range & valued))


def _down(formula: Aggregate, d: Derivatives) -> Formula:
    return changed(formula, d) & formula & ~d.next(formula)


differentiates(Aggregate, Rule(lambda formula, d: changed(formula, d) & d.next(formula), _down))


@prints(Aggregate)
def _text(formula: Aggregate) -> str:
    variables = ", ".join(formula.variables)
    parts = f"{variables} | {text(formula.range)} | {text(formula.body)}"
    return f"{formula.result} = {formula.function}({formula.value})({parts})"
