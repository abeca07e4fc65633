"""Where a rule begins when all of its rows are to be found: with the atom from which the least will be visited.

That is expected of the plans of its delta queries by samples of the relations: how many values columns have, and what
part of the rows the tests leave. Columns are taken to be independent, and each value to have a partner.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from deltic.engine.operators.query import Evaluation
from deltic.engine.operators.seen import Samples
from deltic.engine.plan.plan import Each, Meet, Seek, TestStep

# What may be left of the work, at most, for a rule not to begin with its last atom: few column orders are built.
_WORTH = 0.5


def beginning(evaluations: Sequence[Evaluation]) -> Evaluation:
    """The one of the evaluations that follow an atom each with which to begin: the last where that is not far worse."""
    if len(evaluations) == 1:
        return evaluations[0]
    work = _expected(evaluations)
    least = min(work)
    return evaluations[work.index(least) if least < _WORTH * work[-1] else -1]


def least_visited(evaluations: Sequence[Evaluation]) -> float:
    """How many rows and index entries the first search is expected to visit that begins with the best atom."""
    return min(_expected(evaluations))


def _expected(evaluations: Sequence[Evaluation]) -> list[float]:
    environment = evaluations[0].environment
    seen = Samples(environment.states, environment.interner)
    return [_Expected(evaluation, seen).visited() for evaluation in evaluations]


class _Expected:
    """What an evaluation is expected to do with all rows of the relation that it follows."""

    def __init__(self, evaluation: Evaluation, seen: Samples) -> None:
        self.evaluation, self._seen = evaluation, seen
        self.segment = evaluation.plan.segments[0]
        self.relations = [evaluation.query.delta.relation, *(a.relation for a in self.segment.accesses[1:])]

    def visited(self) -> float:
        """The rows and index entries that its first search visits."""
        known = [0] * len(self.relations)
        rows, visited = 1.0, 0.0
        for step in self.segment.steps:
            match step:
                case Seek(atom, _, terms):
                    known[atom] += len(terms)
                case Meet(_, parts):
                    before = [self._matches(atom, known[atom]) for atom, _ in parts]
                    for atom, _ in parts:
                        known[atom] += 1
                    pairs = zip(before, parts, strict=True)
                    rows *= min(b / self._matches(atom, known[atom]) for b, (atom, _) in pairs)
                case Each(atom, _, checks) if not step.counts:
                    rows *= self._matches(atom, known[atom])
                    visited += rows
                    result, order = self._seen.of(self.relations[atom]), self.segment.accesses[atom].order
                    rows /= max(1.0, prod(result.distinct(order[place]) for _, place in checks))
                    continue
                case TestStep(condition):
                    rows *= self._seen.part(condition, self.evaluation.query.body, self.evaluation.types)
                    continue
                case _:
                    continue
            visited += rows
        return visited

    def _matches(self, atom: int, columns: int) -> float:
        """How many rows of an atom agree in its first columns, in its order, on average over the values."""
        result, order = self._seen.of(self.relations[atom]), self.segment.accesses[atom].order
        values = prod(max(1.0, result.distinct(column)) for column in order[:columns])
        return max(1.0, result.count / min(values, max(1, result.count)))
