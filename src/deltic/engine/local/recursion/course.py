"""How a bootstrap went from iteration to iteration: what an update is measured by while it runs.

An update goes through the same iterations as a bootstrap of the component, and does in each a part of what that does
there. So the part that it did of the iterations behind it tells what those before it will take.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass
class Course:
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


class Race:
    """An update beside the course of the last bootstrap; `switch` is as in `Refresh`, and not 0."""

    def __init__(self, course: Course, switch: float) -> None:
        self._course, self._switch = course, switch
        self._started: float | None = None
        self._reached = self._since = 0.0

    def left(self, now: int, spent: float) -> float:
        """What is left of an update that has spent so much when it is at iteration `now`, as far as can be told.

        At least as much as was spent since it last got on. Beyond that, what it spent is to what is left as the work of
        the bootstrap behind this iteration is to that before it; `switch` of the whole counts as behind it, so that
        an update is not judged by first iterations that are short. Iteration 0, where the changes below are pushed, is
        left out: a bootstrap does most of that in later ones.
        """
        course, switch = self._course, self._switch
        reached = course.until(now + 1) if now else 0.0
        if reached > self._reached:
            self._reached, self._since = reached, spent
        least = (spent - self._since) / max(1.0, switch)
        if self._started is None and now:
            self._started = spent
        rest = course.work - reached
        if self._started is None or rest <= 0:
            return least
        return max(least, (spent - self._started) * rest / (reached - course.until(1) + switch * course.work))
