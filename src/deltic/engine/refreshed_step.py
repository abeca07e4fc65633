"""A step of an epoch under its refresh policy: updated, or recomputed if that is expected to cost less [ELA §5.2]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from math import inf

from deltic.engine.operators.search import Visits
from deltic.engine.parallel import processor_time
from deltic.engine.refresh import (
    QUICK,
    AbandonedError,
    CostForecast,
    CostHistory,
    CostProfile,
    Kind,
    Policy,
    Refresh,
    changes_of,
)
from deltic.engine.storage.state import State

Reach = Callable[[int], None]
"""Called with each iteration that a computation reaches, 0 when it starts. It may raise to end the computation."""


class RefreshedStep(ABC):
    """Updates or recomputes the relations of a stratum; `follows` are the relations below that it reads."""

    quick = 0.0
    """Updates that took less processor time, in seconds, are not recorded."""

    def __init__(
        self,
        relations: tuple[str, ...],
        lower: Mapping[str, State],
        follows: frozenset[str],
        visits: Visits,
        refresh: Refresh,
        history: CostHistory,
    ) -> None:
        self.relations, self.lower, self.follows, self.visits = relations, lower, follows, visits
        self.refresh, self.history = refresh, history

    @abstractmethod
    def update(self, reach: Reach) -> None:
        """Update by the changes below. If `reach` raises AbandonedError, nothing of the update remains."""

    @abstractmethod
    def compute(self, reach: Reach) -> None:
        """Compute the relations from all that is below."""

    def refreshed(self) -> str | None:
        """Update under the policy, or recompute and return the reason."""
        if self.refresh.policy is Policy.FULL:
            return self.recompute("the policy is full")
        if self.refresh.policy is Policy.INCREMENTAL:
            self.update(lambda iteration: None)
            return None
        history, visited = self.history, self.visits.rows
        if history.coefficients and history.is_hopeless(changes := self.changes(), self.expected()):
            history.fade(changes)
            return self._recomputed("an update was expected to cost more")
        judge = _Judge(self)
        try:
            self.update(judge.reach)
        except AbandonedError as abandoned:
            history.abandon(self.changes(), abandoned.work)
            rows = f"{self.visits.rows - visited:,} rows visited"
            return self._recomputed(f"an update was abandoned after {rows}: the rest of it seemed to cost more")
        if (spent := judge.spent()) > self.quick:
            history.learn(self.changes(), spent)
        return None

    def _recomputed(self, reason: str) -> str:
        visited = self.history.profile.visited
        return self.recompute(f"{reason} than a recomputation, the last of which visited {visited:,} rows")

    def recompute(self, reason: str) -> str:
        """Compute the relations, record the cost, and return the reason."""
        self.record(self.compute)
        return reason

    def record(self, compute: Callable[[Reach], None]) -> None:
        """Run a computation of all rows, and record its cost."""
        profile, started, visited = CostProfile(), processor_time(), self.visits.rows
        compute(lambda iteration: profile.reach(iteration, processor_time() - started))
        profile.finish(processor_time() - started, self.visits.rows - visited, self.size())
        self.history.profile = profile

    def changes(self) -> dict[Kind, int]:
        """Return the number of changed rows of each relation below, by sign."""
        return changes_of((name, self.lower[name].delta) for name in sorted(self.follows))

    def size(self) -> int:
        """Return the number of rows below."""
        return sum(len(self.lower[name].contents) for name in self.follows)

    def expected(self) -> float:
        """Return the expected processor seconds of a recomputation, by the last one."""
        return self.history.profile.expected(self.size())


class _Judge:
    """Abandons an update if the rest of it seems to cost more than a recomputation."""

    def __init__(self, step: RefreshedStep) -> None:
        self._step, self._switch = step, step.refresh.switch
        self._forecast = CostForecast(step.history.profile)
        self._started = inf
        self._building = step.visits.building

    @cached_property
    def _recomputation(self) -> float:
        return self._step.expected()

    def spent(self) -> float:
        """Return the processor seconds since the update started, less those of building orders, which it leaves."""
        return processor_time() - self._started - (self._step.visits.building - self._building)

    def reach(self, iteration: int) -> None:
        """Raise AbandonedError if the rest of the update, which has reached this iteration, seems to cost too much.

        The first call starts the clock.
        """
        if self._started == inf:
            self._started = processor_time()
            return
        spent = self.spent()
        self._forecast.reach(iteration, spent)
        if self._switch and (spent <= QUICK or spent <= self._switch * self._recomputation):
            return
        left = self._forecast.left(spent)
        if left > self._recomputation or not self._switch:
            raise AbandonedError(spent + left)
