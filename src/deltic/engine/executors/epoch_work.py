"""The work of an epoch: what its steps cost, by the relations that they compute, and what they report."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from deltic.engine.operators.search import Visits
from deltic.engine.result import ComponentReport, StratumWork
from deltic.errors import CountOverflowError
from deltic.program.program import Program
from deltic.progress import step_began, step_ended

Done = TypeVar("Done")
Costs = dict[tuple[str, ...], tuple[int, float]]
"""The rows visited and the seconds spent, by the relations that steps compute."""


class EpochWork:
    """The work of the present epoch's steps over one store. Each step is also shown as progress of its views."""

    def __init__(self, program: Program, visits: Visits, place: str = "") -> None:
        self._program, self._visits, self._place = program, visits, place
        self._shown: dict[str, str] = {}
        self.forget()

    def forget(self) -> None:
        """Start an epoch."""
        self.costs: Costs = {}
        self.reports: list[ComponentReport] = []

    def of(self, relations: tuple[str, ...], take: Callable[[], Done], shown: str = "") -> Done:
        """Take a step that computes these relations. Progress has the views over the first one, or over `shown`.

        A CountOverflowError names the relations.
        """
        started, visited = time.perf_counter(), self._visits.rows
        step_began(doing := self._computing(shown or relations[0]))
        try:
            result = take()
        except CountOverflowError as error:
            raise error.of(relations) from None
        rows, seconds = self._visits.rows - visited, time.perf_counter() - started
        known, spent = self.costs.get(relations, (0, 0.0))
        self.costs[relations] = known + rows, spent + seconds
        step_ended(doing, rows, seconds)
        return result

    @property
    def strata(self) -> tuple[StratumWork, ...]:
        """The work of each stratum, if each had one step."""
        return tuple(StratumWork(relations, *cost) for relations, cost in self.costs.items())

    def _computing(self, name: str) -> str:
        """Return what is shown of a step: the views that it computes, or that are computed from it."""
        if name not in self._shown:
            views = self._program.views_by_relation.get(name, ("a view",))
            self._shown[name] = f"computing {', '.join(views)}{self._place}"
        return self._shown[name]


def add_costs(costs: Costs, more: Costs) -> None:
    """Add costs to others."""
    for relations, (rows, seconds) in more.items():
        visited, spent = costs.get(relations, (0, 0.0))
        costs[relations] = visited + rows, spent + seconds


def work_of(program: Program, costs: Costs) -> tuple[StratumWork, ...]:
    """Return the work of each stratum of a program, in order, from the costs of single relations."""
    parts = {s.relations: [costs[(name,)] for name in s.relations if (name,) in costs] for s in program.strata}
    sums = {relations: map(sum, zip(*part, strict=True)) for relations, part in parts.items() if part}
    return tuple(StratumWork(relations, *both) for relations, both in sums.items())
