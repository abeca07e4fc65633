"""The refresh policy: for each recursive component and epoch, whether to update or to begin anew [ELA §3, §5.2]."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from deltic.engine.local.recursion.fixpoint import Component, bootstrap, update
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.storage.state import Snapshot, State
from deltic.engine.protocol import ComponentReport

# How much of an old estimate is left after a new observation, and after an epoch that could not make one; how the cost
# of an update grows with its rows; and by how much a change may be larger than all before and still be judged by them.
_MEMORY = 0.5
_FADING = 0.8
_GROWTH = 0.75
_FAR = 4
# Seconds below which it does not matter what is done.
_QUICK = 0.1

# A followed relation and the sign of its changes; the number of changed rows of each such kind.
Kind = tuple[str, int]
Changes = Mapping[Kind, int]


class Policy(enum.Enum):
    """When a component is computed anew instead of updated."""

    AUTO = "auto"
    """When an update costs more than a fraction of the last bootstrap, or surely will."""
    INCREMENTAL = "incremental"
    """Never."""
    FULL = "full"
    """In every epoch that concerns it."""


@dataclass(frozen=True)
class Refresh:
    """A policy with its switching parameter, the fraction of the last bootstrap's time that an update may take.

    `strict` refuses circuits with an operator that is not incremental.
    """

    policy: Policy = Policy.AUTO
    switch: float = 0.2
    strict: bool = False


AUTO = Refresh()


class _Abandoned(Exception):
    """The update has cost more than it may."""


@dataclass
class _History:
    """What the component's own past says of costs, in seconds: of a bootstrap, and of updates.

    Changes are told apart by relation and sign: deletions may cost much more than insertions. An update by n rows of a
    kind is expected to take its coefficient times n to the power `_GROWTH`, for larger changes have more in common.
    `largest` is the largest change of each kind that was tried.
    """

    switch: float
    bootstrap: float = 0.0
    coefficients: dict[Kind, float] = field(default_factory=dict)
    largest: dict[Kind, int] = field(default_factory=dict)

    def predict(self, changes: Changes) -> float | None:
        """The expected time of an update; None when nothing like it was tried."""
        known = {kind: rows for kind, rows in changes.items() if kind in self.coefficients}
        return sum(self.coefficients[kind] * rows**_GROWTH for kind, rows in known.items()) if known else None

    def is_hopeless(self, changes: Changes) -> bool:
        """Whether an update will surely take longer than a bootstrap, by experience with changes of such sizes."""
        predicted = self.predict(changes)
        seen = all(rows <= _FAR * self.largest.get(kind, 0) for kind, rows in changes.items())
        return predicted is not None and predicted > self.bootstrap and seen

    def limit(self, changes: Changes) -> float:
        """The time after which an update is abandoned; what is quick in any case is left alone.

        That of a bootstrap when the update is expected to take less; else the switching parameter's part of it.
        """
        if self.switch == 0:
            return 0.0
        predicted = self.predict(changes)
        promising = predicted is not None and predicted < self.bootstrap
        return max(_QUICK, self.bootstrap * max(self.switch, promising))

    def learn(self, changes: Changes, seconds: float) -> None:
        """Remember what an update of these changes cost."""
        total = sum(changes.values())
        for kind, rows in changes.items():
            found = seconds * rows / total / rows**_GROWTH
            self.coefficients[kind] = _MEMORY * self.coefficients.get(kind, found) + (1 - _MEMORY) * found
            self.largest[kind] = max(rows, self.largest.get(kind, 0))

    def abandon(self, changes: Changes) -> None:
        """Remember that an update took longer than its limit: twice as long is what is believed then."""
        believed = 2 * self.limit(changes)
        for kind in changes:
            self.coefficients.pop(kind, None)
        self.learn(changes, believed)

    def fade(self, changes: Changes) -> None:
        """Trust an estimate less each time that it was believed unseen, so that an update is tried again."""
        for kind in changes:
            self.coefficients[kind] = _FADING * self.coefficients.get(kind, 0.0)


class Recursive:
    """A recursive component under its policy; `follows` are the relations below it whose changes concern it."""

    def __init__(self, component: Component, lower: Mapping[str, State], refresh: Refresh) -> None:
        self.component, self.lower, self.refresh = component, lower, refresh
        self.relations = tuple(component.states)
        self.follows = frozenset(e.query.delta.relation for e in component.outer)
        self._history = _History(refresh.switch)

    def adopt(self, other: Recursive) -> None:
        """Go by what another one, of the same relations, has learned of costs."""
        self._history = other._history

    def run(self) -> ComponentReport:
        """Bring the component up to date; the `delta` of its relations says what changed."""
        return self._reported(lambda: (changes := self._changes(), *self._act(changes)))

    def begin(self) -> ComponentReport | None:
        """Compute the component from all that is below it; nothing where there is nothing below."""
        if not self.follows:
            return None

        def act() -> tuple[Changes, str, str]:
            whole = {(name, 1): len(self.lower[name].contents) for name in sorted(self.follows)}
            return whole, self._bootstrap(), "it is new"

        return self._reported(act)

    def _reported(self, act: Callable[[], tuple[Changes, str, str]]) -> ComponentReport:
        """What was done; `act` gives the changes from which, the action and the reason."""
        visits = next(iter(self.component.outer)).environment.visits
        visited, started = visits.rows, time.perf_counter()
        changes, action, reason = act()
        states = self.component.states.values()
        return ComponentReport(
            self.relations,
            self.component.strategy.value,
            action,
            reason,
            sum(changes.values()),
            sum(len(state.delta) for state in states if state.delta is not None),
            visits.rows - visited,
            time.perf_counter() - started,
            sum(state.nbytes for state in states),
        )

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
            return self._update(changes, first=True), "it was empty"
        if self.component.strategy is Strategy.FULL:
            return self._bootstrap(), "the strategy keeps no counts"
        if self.refresh.policy is Policy.FULL:
            return self._bootstrap(), "the policy is full"
        if self.refresh.policy is Policy.INCREMENTAL:
            return self._update(changes), "the policy is incremental"
        limit = self._history.limit(changes)
        if self._history.is_hopeless(changes):
            expected = self._history.predict(changes)
            self._history.fade(changes)
            return self._bootstrap(), f"an update was expected to take {expected:.3g} s, longer than a bootstrap"
        try:
            return self._update(changes, limit=limit), f"it took less than {limit:.3g} s"
        except _Abandoned:
            self._history.abandon(changes)
            return self._bootstrap(), f"an update was abandoned after {limit:.3g} s"

    def _update(self, changes: Changes, first: bool = False, limit: float = float("inf")) -> str:
        started = time.perf_counter()
        snapshot = Snapshot.of(self.component.states.values())

        def check() -> None:
            if time.perf_counter() - started > limit:
                raise _Abandoned

        try:
            update(self.component, self.lower, check)
        except _Abandoned:
            snapshot.restore()
            for state in self.component.states.values():
                state.delta = None
            raise
        seconds = time.perf_counter() - started
        if first:
            self._history.bootstrap = seconds
            return "bootstrap"
        self._history.learn(changes, seconds)
        return "update"

    def _bootstrap(self) -> str:
        started = time.perf_counter()
        bootstrap(self.component, self.lower)
        self._history.bootstrap = time.perf_counter() - started
        return "bootstrap"
