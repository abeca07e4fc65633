"""Chooses the atom from which to find all derivations of a rule: the one that should visit the fewest rows.

The estimate uses the plans of the delta queries and samples of the relations: the numbers of distinct values of
columns, and the selectivity of tests. It assumes that columns are independent, and that each value has a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from deltic.engine.operators.query import Evaluation
from deltic.engine.operators.seen import Samples
from deltic.engine.plan.plan import Each, Meet, Range, Seek, TestStep

# A rule starts from another atom than its last only if that leaves at most this share of the work: saves orders.
_WORTH = 0.5


def beginning(evaluations: Sequence[Evaluation]) -> Evaluation:
    """Choose among the evaluations, one for each atom, the one to start with: the last, unless it is much worse."""
    if len(evaluations) == 1:
        return evaluations[0]
    work = _expected(evaluations)
    least = min(work)
    return evaluations[work.index(least) if least < _WORTH * work[-1] else -1]


def least_visited(evaluations: Sequence[Evaluation]) -> float:
    """Return the number of rows and index entries that the best evaluation's first search should visit."""
    return min(_expected(evaluations))


def _expected(evaluations: Sequence[Evaluation]) -> list[float]:
    environment = evaluations[0].environment
    seen = Samples(environment.states, environment.interner)
    return [_Expected(evaluation, seen).work()[0] for evaluation in evaluations]


def work_of_a_row(evaluation: Evaluation) -> tuple[float, float]:
    """Return the expected rows and index entries visited, and derivations, of the first search for a changed row.

    An intersection is taken for as large as its smallest range, so that this is too high where ranges have little in
    common.
    """
    seen = Samples(evaluation.environment.states, evaluation.environment.interner)
    visited, derived = _Expected(evaluation, seen).work()
    rows = max(1, seen.of(evaluation.query.delta.relation).count)
    return visited / rows, derived / rows


class _Expected:
    """The expected work of an evaluation for all rows of the relation of its delta."""

    def __init__(self, evaluation: Evaluation, seen: Samples) -> None:
        self.evaluation, self._seen = evaluation, seen
        self.segment = evaluation.plan.segments[0]
        self.relations = [evaluation.query.delta.relation, *(a.relation for a in self.segment.accesses[1:])]

    def work(self) -> tuple[float, float]:
        """Return the number of rows and index entries that its first search should visit, and of its results."""
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
                case Each(atom, binds, checks) if not step.counts:
                    alike = self._matches(atom, known[atom] + len(binds)) if step.merges else 1.0
                    rows *= max(1.0, self._matches(atom, known[atom]) / alike)
                    visited += rows
                    result, order = self._seen.of(self.relations[atom]), self.segment.accesses[atom].order
                    rows /= max(1.0, prod(result.distinct(order[place]) for _, place in checks))
                    continue
                case TestStep(condition) | Range(condition=condition):
                    rows *= self._seen.part(condition, self.evaluation.query.body, self.evaluation.types)
                    continue
                case _:
                    continue
            visited += rows
        return visited, rows

    def _matches(self, atom: int, columns: int) -> float:
        """Return the mean number of rows of an atom that agree in its first columns, in its order, over the values."""
        return self._seen.matches(self.relations[atom], self.segment.accesses[atom].order[:columns])
