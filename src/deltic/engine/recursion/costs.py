"""The cost profile of a bootstrap, iteration by iteration, and the forecast of an update by it while that runs.

An update goes through the same iterations as a bootstrap of the component, and does in each a part of what that does
there. So its share of the finished iterations predicts the cost of the remaining ones.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass
class CostProfile:
    """The work of a bootstrap, in seconds of processor: `before[i]` of it before iteration `iterations[i]` began.

    `work` is the whole, `visited` the rows that were visited, `size` the rows of what the component was computed from.
    """

    iterations: list[int] = field(default_factory=list)
    before: list[float] = field(default_factory=list)
    work: float = 0.0
    visited: int = 0
    size: int = 0

    def reach(self, now: int, work: float) -> None:
        """So much work was done when iteration `now` was seen; the first time that it is seen counts."""
        if not self.iterations or now > self.iterations[-1]:
            self.iterations.append(now)
            self.before.append(work)

    def finish(self, work: float, visited: int, size: int) -> None:
        """The last iteration that was seen is over, and with it the bootstrap."""
        self.work, self.visited, self.size = work, visited, size
        self.reach(self.iterations[-1] + 1 if self.iterations else 1, work)

    def until(self, now: int) -> float:
        """The work before iteration `now`; of iterations that were not seen one by one each has an equal part."""
        i = bisect_right(self.iterations, now)
        if i == len(self.iterations):
            return self.work
        first, start = (self.iterations[i - 1], self.before[i - 1]) if i else (0, 0.0)
        return start + (self.before[i] - start) * (now - first) / (self.iterations[i] - first)

    def expected(self, size: int) -> float:
        """The work of a bootstrap from so many rows."""
        return self.work * size / self.size if self.size else self.work


class CostForecast:
    """Forecasts the cost of an update by the profile of the last bootstrap."""

    def __init__(self, profile: CostProfile) -> None:
        self._profile = profile
        self._now, self._since = 0, 0.0
        self._reached, self._getting_on = profile.until(1), 0.0
        self._work = self._way = 0.0

    def reach(self, now: int, spent: float) -> None:
        """The update is at iteration `now`, and had spent so much when it came there."""
        if now == self._now:
            return
        self._now = now
        reached = self._profile.until(now + 1)
        if reached > self._reached:
            if self._getting_on:
                self._work = (self._work + spent - self._since) / 2
                self._way = (self._way + self._getting_on) / 2
            self._getting_on, self._reached, self._since = reached - self._reached, reached, spent

    def left(self, spent: float) -> float:
        """What is left of an update that has spent so much, as far as can be told.

        As much for the iterations to come as it did of a bootstrap's work in those behind it, where the one before
        counts half as much as the present one, and so on; and at least as much as was spent since it last got on. The
        changes below, which are pushed at iteration 0, are left out: a bootstrap does most of that in later ones.
        """
        here = spent - self._since
        if not self._getting_on:
            return here
        pace = (self._work + here) / (self._way + self._getting_on)
        return max(here, pace * (self._profile.work - self._reached))
