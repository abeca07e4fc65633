"""The refresh policy: for each recursive component and epoch, whether to update or to recompute [ELA §3, §5.2]."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from deltic.engine.image import Json
from deltic.engine.operators.search import Visits
from deltic.engine.parallel import processor_time
from deltic.engine.recursion.component import RecursiveComponent
from deltic.engine.recursion.costs import CostForecast, CostProfile
from deltic.engine.recursion.epoch import Check, bootstrap, update
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.result import ComponentReport
from deltic.engine.storage.state import State, StoreSnapshot
from deltic.program.program import Stratum

# How much of an old estimate is left after a new observation, and after an epoch that could not make one; how the cost
# of an update grows with its rows; and by how much a change may be larger than all before and still be judged by them.
_MEMORY = 0.5
_FADING = 0.8
_GROWTH = 0.75
_FAR = 4
# Seconds of processor below which it does not matter what is done.
_QUICK = 0.1

# A followed relation and the sign of its changes; the number of changed rows of each such kind.
Kind = tuple[str, int]
Changes = Mapping[Kind, int]


class Policy(enum.Enum):
    """When a component is recomputed instead of updated."""

    AUTO = "auto"
    """When what is left of an update seems to cost more than a bootstrap."""
    INCREMENTAL = "incremental"
    """Never."""
    FULL = "full"
    """In every epoch that concerns it."""


@dataclass(frozen=True)
class Refresh:
    """A policy with its switching parameter [ELA §5.2].

    That is the part of a bootstrap's work that an update may do before it is judged; 0 is always too much. `strict`
    refuses circuits with an operator that is not incremental.
    """

    policy: Policy = Policy.AUTO
    switch: float = 0.2
    strict: bool = False

    def of(self, stratum: Stratum) -> Refresh:
        """The same with the policy of a recursion that has one of its own."""
        return replace(self, policy=Policy(stratum.refresh)) if stratum.refresh else self


AUTO = Refresh()


class _Abandoned(Exception):
    """What is left of the update seems to cost more than a bootstrap; the whole of it would have cost `work`."""

    def __init__(self, work: float) -> None:
        self.work = work


@dataclass
class CostHistory:
    """What the component's own past says of costs, in seconds of processor: of a bootstrap, and of updates.

    Changes are told apart by relation and sign: deletions may cost much more than insertions. An update by n rows of a
    kind is expected to take its coefficient times n to the power `_GROWTH`, for larger changes have more in common.
    `largest` is the largest change of each kind that was tried.
    """

    profile: CostProfile = field(default_factory=CostProfile)
    coefficients: dict[Kind, float] = field(default_factory=dict)
    largest: dict[Kind, int] = field(default_factory=dict)

    def predict(self, changes: Changes) -> float | None:
        """The expected work of an update; None when nothing like it was tried."""
        known = {kind: rows for kind, rows in changes.items() if kind in self.coefficients}
        return sum(self.coefficients[kind] * rows**_GROWTH for kind, rows in known.items()) if known else None

    def is_hopeless(self, changes: Changes, bootstrap: float) -> bool:
        """Whether an update will surely cost more than a bootstrap, by experience with changes of such sizes."""
        predicted = self.predict(changes)
        seen = all(rows <= _FAR * self.largest.get(kind, 0) for kind, rows in changes.items())
        return predicted is not None and predicted > max(_QUICK, bootstrap) and seen

    def learn(self, changes: Changes, work: float) -> None:
        """Remember what an update of these changes cost."""
        total = sum(changes.values())
        for kind, rows in changes.items():
            result = work * rows / total / rows**_GROWTH
            self.coefficients[kind] = _MEMORY * self.coefficients.get(kind, result) + (1 - _MEMORY) * result
            self.largest[kind] = max(rows, self.largest.get(kind, 0))

    def abandon(self, changes: Changes, work: float) -> None:
        """Remember what an abandoned update seemed to cost, and nothing else of such changes."""
        for kind in changes:
            self.coefficients.pop(kind, None)
        self.learn(changes, work)

    def fade(self, changes: Changes) -> None:
        """Trust an estimate less each time that it was believed unseen, so that an update is tried again."""
        for kind in changes:
            self.coefficients[kind] = _FADING * self.coefficients.get(kind, 0.0)


class Recursive:
    """A recursive component under its policy; `follows` are the relations below it whose changes concern it."""

    def __init__(self, component: RecursiveComponent, lower: Mapping[str, State], refresh: Refresh) -> None:
        self.component, self.lower, self.refresh = component, lower, refresh
        self.relations = tuple(component.states)
        self.follows = frozenset(e.query.delta.relation for e in component.outer)
        self._history = CostHistory()

    @property
    def is_timed(self) -> bool:
        """Whether there may be something to do though nothing below it changes."""
        return bool(self.component.functions)

    @property
    def is_due(self) -> bool:
        """Whether there is something to do even if nothing below it changes."""
        return self.component.is_due

    def adopt(self, other: Recursive) -> None:
        """Go by what another one, of the same relations, has learned of costs."""
        self._history = other._history

    def learned(self) -> dict[str, Json]:
        """What it knows of costs, to be written."""
        history = self._history
        return {
            "course": asdict(history.profile),
            "coefficients": [[*kind, value] for kind, value in history.coefficients.items()],
            "largest": [[*kind, rows] for kind, rows in history.largest.items()],
        }

    def learn(self, learned: Mapping[str, Json]) -> None:
        """Know what was learned once."""
        pairs = ({(name, sign): n for name, sign, n in learned[what]} for what in ("coefficients", "largest"))
        self._history = CostHistory(CostProfile(**learned["course"]), *pairs)

    def run(self) -> ComponentReport:
        """Bring the component up to date; the `delta` of its relations says what changed."""
        return self._reported(lambda: (changes := self._changes(), *self._act(changes)))

    def begin(self) -> ComponentReport | None:
        """Compute the component from all that is below it; nothing where there is nothing below, and nothing due."""
        if not self.follows and not self.is_due:
            return None

        def act() -> tuple[Changes, str, str]:
            whole = {(name, 1): len(self.lower[name].contents) for name in sorted(self.follows)}
            return whole, self._bootstrap(), "it is new"

        return self._reported(act)

    def _reported(self, act: Callable[[], tuple[Changes, str, str]]) -> ComponentReport:
        """What was done; `act` gives the changes from which, the action and the reason."""
        visited, started = self._visits.rows, time.perf_counter()
        changes, action, reason = act()
        states = self.component.states.values()
        return ComponentReport(
            self.relations,
            self.component.maintained,
            action,
            reason,
            sum(changes.values()),
            sum(len(state.delta) for state in states if state.delta is not None),
            self._visits.rows - visited,
            time.perf_counter() - started,
            sum(state.nbytes for state in states),
        )

    @property
    def _visits(self) -> Visits:
        return self.component.environment.visits

    def _changes(self) -> dict[Kind, int]:
        """The number of changed rows of each relation below, by sign."""
        changes: dict[Kind, int] = {}
        for name in sorted(self.follows):
            delta = self.lower[name].delta
            if delta is not None:
                removed = int(np.count_nonzero(delta.weights < 0))
                changes |= {(name, sign): n for sign, n in ((1, len(delta) - removed), (-1, removed)) if n}
        return changes

    def _act(self, changes: Changes) -> tuple[str, str]:
        """What is done, and why."""
        if all(not state.contents.runs for state in self.component.states.values()):
            return self._bootstrap(), "it was empty"
        if self.component.strategy is Strategy.FULL:
            return self._bootstrap(), "the strategy keeps no counts"
        if self.refresh.policy is Policy.FULL:
            return self._bootstrap(), "the policy is full"
        if self.refresh.policy is Policy.INCREMENTAL:
            return self._update(changes, lambda now, spent: None), "the policy is incremental"
        return self._attempt(changes)

    def _attempt(self, changes: Changes) -> tuple[str, str]:
        """Update, unless or until that seems to cost more than a bootstrap."""
        profile, visited = self._history.profile, self._visits.rows
        bootstrap = profile.expected(self._size())
        if self._history.is_hopeless(changes, bootstrap):
            self._history.fade(changes)
            last = f"the last one visited {profile.visited:,} rows"
            return self._bootstrap(), f"an update was expected to cost more than a bootstrap; {last}"
        try:
            done = self._update(changes, self._referee(bootstrap))
            return done, f"it visited {self._visits.rows - visited:,} rows, the last bootstrap {profile.visited:,}"
        except _Abandoned as abandoned:
            self._history.abandon(changes, abandoned.work)
        reason = f"an update was abandoned after {self._visits.rows - visited:,} rows visited: what was left of it"
        return (
            self._bootstrap(),
            f"{reason} seemed to cost more than a bootstrap; the last one visited {profile.visited:,}",
        )

    def _referee(self, bootstrap: float) -> Callable[[int, float], None]:
        """What abandons an update, given its iteration and what was spent, where a bootstrap of that cost is better."""
        forecast, switch = CostForecast(self._history.profile), self.refresh.switch
        free = max(_QUICK, switch * bootstrap) if switch else -1.0

        def judge(now: int, spent: float) -> None:
            forecast.reach(now, spent)
            if spent > free and ((left := forecast.left(spent)) > bootstrap or not switch):
                raise _Abandoned(spent + left)

        return judge

    def _update(self, changes: Changes, judge: Callable[[int, float], None]) -> str:
        self.component.build(self.lower)
        started = processor_time()
        snapshot = StoreSnapshot.of(self.component.states.values())
        try:
            update(self.component, self.lower, lambda now: judge(now, processor_time() - started))
        except _Abandoned:
            snapshot.restore()
            for state in self.component.states.values():
                state.delta = None
            raise
        self._history.learn(changes, processor_time() - started)
        return "update"

    def _bootstrap(self) -> str:
        return self._recorded(lambda check: bootstrap(self.component, self.lower, check))

    def _recorded(self, run: Callable[[Check], None]) -> str:
        """Compute the component from nothing, and remember how that went."""
        profile, started, visited = CostProfile(), processor_time(), self._visits.rows
        run(lambda now: profile.reach(now, processor_time() - started))
        profile.finish(processor_time() - started, self._visits.rows - visited, self._size())
        self._history.profile = profile
        return "bootstrap"

    def _size(self) -> int:
        """The rows of what the component is computed from."""
        return sum(len(self.lower[name].contents) for name in self.follows)
