"""The cost profile of a bootstrap by iteration, and a forecast of a running update's cost from it.

An update runs the same iterations as a bootstrap of the component, and does a part of the bootstrap's work in each. So
its share of the finished iterations predicts the cost of the remaining ones.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass
class CostProfile:
    """The work of a bootstrap, in seconds of processor time: `before[i]` was done before iteration `iterations[i]`.

    `work` is the total, `visited` the number of visited rows, `size` the number of input rows.
    """

    iterations: list[int] = field(default_factory=list)
    before: list[float] = field(default_factory=list)
    work: float = 0.0
    visited: int = 0
    size: int = 0

    def copy(self) -> CostProfile:
        """Return another profile with the same costs."""
        return CostProfile(list(self.iterations), list(self.before), self.work, self.visited, self.size)

    def reach(self, now: int, work: float) -> None:
        """Record the work done when iteration `now` is reached for the first time."""
        if not self.iterations or now > self.iterations[-1]:
            self.iterations.append(now)
            self.before.append(work)

    def finish(self, work: float, visited: int, size: int) -> None:
        """Record the end of the bootstrap, and of its last iteration."""
        self.work, self.visited, self.size = work, visited, size
        self.reach(self.iterations[-1] + 1 if self.iterations else 1, work)

    def until(self, now: int) -> float:
        """Return the work before iteration `now`. Between two recorded iterations it is interpolated."""
        i = bisect_right(self.iterations, now)
        if i == len(self.iterations):
            return self.work
        first, start = (self.iterations[i - 1], self.before[i - 1]) if i else (0, 0.0)
        return start + (self.before[i] - start) * (now - first) / (self.iterations[i] - first)

    def expected(self, size: int) -> float:
        """Return the expected work of a bootstrap from `size` rows."""
        return self.work * size / self.size if self.size else self.work


class CostForecast:
    """Forecasts the cost of an update from the profile of the last bootstrap."""

    def __init__(self, profile: CostProfile) -> None:
        self._profile = profile
        self._now, self._since = 0, 0.0
        self._reached, self._progress = profile.until(1), 0.0
        self._work = self._way = 0.0

    def reach(self, now: int, spent: float) -> None:
        """Record that the update has reached iteration `now`, with the work spent so far."""
        if now == self._now:
            return
        self._now = now
        reached = self._profile.until(now + 1)
        if reached > self._reached:
            if self._progress:
                self._work = (self._work + spent - self._since) / 2
                self._way = (self._way + self._progress) / 2
            self._progress, self._reached, self._since = reached - self._reached, reached, spent

    def left(self, spent: float) -> float:
        """Estimate the remaining work of an update that has spent this much.

        The remaining iterations are expected to cost the same share of a bootstrap's work as the finished ones, where
        each earlier iteration counts half as much as the next. The estimate is at least the work since the last
        progress. The changes below, pushed at iteration 0, do not count: a bootstrap does most of that work in later
        iterations.
        """
        here = spent - self._since
        if not self._progress:
            return here
        pace = (self._work + here) / (self._way + self._progress)
        return max(here, pace * (self._profile.work - self._reached))
