"""The refresh policy: for each stratum and epoch, whether to update or to recompute it [ELA §3, §5.2].

An update runs the same iterations as a bootstrap of the component, and does a part of the bootstrap's work in each. So
its share of the finished iterations predicts the cost of the remaining ones.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from deltic.engine.image import Json
from deltic.engine.storage.run import Run
from deltic.program.program import Stratum


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


# The weight of an old estimate after a new observation, and after an epoch without one; the exponent by which the cost
# of an update grows with its rows; and the factor by which a change may exceed all earlier ones to be judged by them.
_MEMORY = 0.5
_FADING = 0.8
_GROWTH = 0.75
_FAR = 4
# The processor seconds below which the choice does not matter.
QUICK = 0.1

# A kind of change: a relation and the sign of its changes. Changes: the number of changed rows of each kind.
Kind = tuple[str, int]
Changes = Mapping[Kind, int]


class Policy(enum.Enum):
    """When a stratum is recomputed instead of updated."""

    AUTO = "auto"
    """When the rest of an update seems to cost more than a bootstrap."""
    INCREMENTAL = "incremental"
    """Never."""
    FULL = "full"
    """In every epoch that affects it."""


@dataclass(frozen=True)
class Refresh:
    """A policy with its switching parameter [ELA §5.2].

    `switch` is the share of a bootstrap's work that an update may do before it is judged; 0 always judges. `strict`
    refuses circuits with an operator that is not incremental.
    """

    policy: Policy = Policy.AUTO
    switch: float = 0.2
    strict: bool = False

    def of(self, stratum: Stratum) -> Refresh:
        """Return the same parameters with the policy of a recursion that has one of its own."""
        return replace(self, policy=Policy(stratum.refresh)) if stratum.refresh else self


AUTO = Refresh()


class AbandonedError(Exception):
    """The rest of an update seems to cost more than a bootstrap; the whole update would have cost `work`."""

    def __init__(self, work: float) -> None:
        self.work = work


@dataclass
class CostHistory:
    """The past costs of a stratum, in processor seconds: of a bootstrap, and of updates.

    Changes are distinguished by relation and sign: deletions may cost much more than insertions. The expected cost of
    an update by n rows of a kind is its coefficient times n to the power `_GROWTH`, since larger changes share more
    work. `largest` is the largest change of each kind that was tried.
    """

    profile: CostProfile = field(default_factory=CostProfile)
    coefficients: dict[Kind, float] = field(default_factory=dict)
    largest: dict[Kind, int] = field(default_factory=dict)

    def predict(self, changes: Changes) -> float | None:
        """Return the expected work of an update; None if no similar one was tried."""
        known = {kind: rows for kind, rows in changes.items() if kind in self.coefficients}
        return sum(self.coefficients[kind] * rows**_GROWTH for kind, rows in known.items()) if known else None

    def is_hopeless(self, changes: Changes, bootstrap: float) -> bool:
        """Return whether an update will surely cost more than a bootstrap, by experience with changes of such sizes."""
        predicted = self.predict(changes)
        seen = all(rows <= _FAR * self.largest.get(kind, 0) for kind, rows in changes.items())
        return predicted is not None and predicted > max(QUICK, bootstrap) and seen

    def learn(self, changes: Changes, work: float) -> None:
        """Record the cost of an update by these changes."""
        total = sum(changes.values())
        for kind, rows in changes.items():
            result = work * rows / total / rows**_GROWTH
            self.coefficients[kind] = _MEMORY * self.coefficients.get(kind, result) + (1 - _MEMORY) * result
            self.largest[kind] = max(rows, self.largest.get(kind, 0))

    def abandon(self, changes: Changes, work: float) -> None:
        """Record the expected cost of an abandoned update, and forget other costs of such changes."""
        for kind in changes:
            self.coefficients.pop(kind, None)
        self.learn(changes, work)

    def fade(self, changes: Changes) -> None:
        """Reduce an estimate each time that it decided without a trial, so that an update is tried again."""
        for kind in changes:
            self.coefficients[kind] = _FADING * self.coefficients.get(kind, 0.0)

    @property
    def is_empty(self) -> bool:
        """Return whether no cost is known."""
        return not (self.profile.iterations or self.coefficients)

    def written(self) -> dict[str, Json]:
        """Return the history as JSON."""
        return {
            "course": asdict(self.profile),
            "coefficients": [[*kind, value] for kind, value in self.coefficients.items()],
            "largest": [[*kind, rows] for kind, rows in self.largest.items()],
        }

    def take_over(self, other: CostHistory) -> None:
        """Continue from another history, which stays as it is."""
        self.profile = other.profile.copy()
        self.coefficients, self.largest = dict(other.coefficients), dict(other.largest)

    def restore(self, written: Mapping[str, Json]) -> None:
        """Restore the history from its JSON."""
        self.profile = CostProfile(**written["course"])
        self.coefficients = {(name, sign): work for name, sign, work in written["coefficients"]}
        self.largest = {(name, sign): rows for name, sign, rows in written["largest"]}


class CostHistories:
    """The cost histories of a program's strata, each by its relations."""

    def __init__(self) -> None:
        self._of: dict[frozenset[str], CostHistory] = {}

    def of(self, relations: Iterable[str]) -> CostHistory:
        """Return the history of a stratum, which is empty at first."""
        return self._of.setdefault(frozenset(relations), CostHistory())

    def written(self) -> list[Json]:
        """Return the histories as JSON."""
        known = {relations: history for relations, history in self._of.items() if not history.is_empty}
        return [{"relations": sorted(relations), **history.written()} for relations, history in known.items()]

    def continue_from(self, other: CostHistories, kept: Mapping[str, str]) -> None:
        """Take over the histories of another program; `kept` maps kept relations to their names there."""
        names = {was: name for name, was in kept.items()}
        for relations, history in other._of.items():
            if not history.is_empty and names.keys() >= relations:
                self.of(names[name] for name in relations).take_over(history)

    def learn(self, written: Iterable[Json], kept: Mapping[str, str] | None = None) -> None:
        """Restore histories from their JSON.

        If another program wrote them, `kept` maps kept relations to their names there; other histories are left out.
        """
        names = None if kept is None else {was: name for name, was in kept.items()}
        for one in written:
            relations, history = (one["relations"], one) if isinstance(one, dict) else one  # shards wrote pairs
            if names is None:
                self.of(relations).restore(history)
            elif names.keys() >= set(relations):
                self.of(names[name] for name in relations).restore(history)


def changes_of(deltas: Iterable[tuple[str, Run | None]]) -> dict[Kind, int]:
    """Return the number of changed rows of each relation, by sign."""
    changes: dict[Kind, int] = {}
    for name, delta in deltas:
        if delta is not None:
            removed = int(np.count_nonzero(delta.weights < 0))
            changes |= {(name, sign): n for sign, n in ((1, len(delta) - removed), (-1, removed)) if n}
    return changes
