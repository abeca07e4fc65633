"""A recursion under its refresh policy: updated, or recomputed if that is expected to cost less [ELA §5.2]."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from deltic.engine.operators.search import Visits
from deltic.engine.parallel import processor_time
from deltic.engine.recursion.component import RecursiveComponent
from deltic.engine.recursion.costs import CostForecast, CostProfile
from deltic.engine.recursion.epoch import bootstrap, update
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import QUICK, AbandonedError, Changes, CostHistory, Policy, Refresh, changes_of
from deltic.engine.result import ComponentReport
from deltic.engine.storage.state import State, StoreSnapshot


class Recursive:
    """A recursive component under its policy; `follows` are the relations below it that it reads."""

    def __init__(
        self, component: RecursiveComponent, lower: Mapping[str, State], refresh: Refresh, history: CostHistory
    ) -> None:
        self.component, self.lower, self.refresh, self.history = component, lower, refresh, history
        self.relations = tuple(component.states)
        self.follows = frozenset(e.query.delta.relation for e in component.outer)

    @property
    def is_timed(self) -> bool:
        """Return whether the component may have work even if nothing below it changes."""
        return bool(self.component.functions)

    @property
    def is_due(self) -> bool:
        """Return whether the component has work even if nothing below it changes."""
        return self.component.is_due

    def run(self) -> ComponentReport:
        """Update the component, and set the `delta` of its relations."""
        changes = changes_of((name, self.lower[name].delta) for name in sorted(self.follows))
        return self._reported(changes, lambda: self._act(changes))

    def begin(self) -> ComponentReport | None:
        """Compute the component from all that is below it. None if nothing is below it and nothing is due."""
        if not self.follows and not self.is_due:
            return None
        whole = {(name, 1): len(self.lower[name].contents) for name in sorted(self.follows)}
        return self._reported(whole, lambda: (self._bootstrap(), "it is new"))

    def _reported(self, changes: Changes, act: Callable[[], tuple[str, str]]) -> ComponentReport:
        """Run `act`, which returns the action and its reason, and report it with the changes below."""
        visited, started = self._visits.rows, time.perf_counter()
        action, reason = act()
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

    def _act(self, changes: Changes) -> tuple[str, str]:
        """Choose and perform an action. Return it and its reason."""
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
        """Update, unless or until that is expected to cost more than a bootstrap."""
        profile, visited = self.history.profile, self._visits.rows
        bootstrap = profile.expected(self._size())
        if self.history.is_hopeless(changes, bootstrap):
            self.history.fade(changes)
            last = f"the last one visited {profile.visited:,} rows"
            return self._bootstrap(), f"an update was expected to cost more than a bootstrap; {last}"
        try:
            done = self._update(changes, self._referee(bootstrap))
            return done, f"it visited {self._visits.rows - visited:,} rows, the last bootstrap {profile.visited:,}"
        except AbandonedError as abandoned:
            self.history.abandon(changes, abandoned.work)
        reason = f"an update was abandoned after {self._visits.rows - visited:,} rows visited: what was left of it"
        return (
            self._bootstrap(),
            f"{reason} seemed to cost more than a bootstrap; the last one visited {profile.visited:,}",
        )

    def _referee(self, bootstrap: float) -> Callable[[int, float], None]:
        """Return the check that abandons an update, by its iteration and cost, if a bootstrap is better."""
        forecast, switch = CostForecast(self.history.profile), self.refresh.switch
        free = max(QUICK, switch * bootstrap) if switch else -1.0

        def judge(now: int, spent: float) -> None:
            forecast.reach(now, spent)
            if spent > free and ((left := forecast.left(spent)) > bootstrap or not switch):
                raise AbandonedError(spent + left)

        return judge

    def _update(self, changes: Changes, judge: Callable[[int, float], None]) -> str:
        self.component.build(self.lower)
        started = processor_time()
        snapshot = StoreSnapshot.of(self.component.states.values())
        try:
            update(self.component, self.lower, lambda now: judge(now, processor_time() - started))
        except AbandonedError:
            snapshot.restore()
            for state in self.component.states.values():
                state.delta = None
            raise
        self.history.learn(changes, processor_time() - started)
        return "update"

    def _bootstrap(self) -> str:
        """Compute the component from nothing, and record the cost profile."""
        profile, started, visited = CostProfile(), processor_time(), self._visits.rows
        bootstrap(self.component, self.lower, lambda now: profile.reach(now, processor_time() - started))
        profile.finish(processor_time() - started, self._visits.rows - visited, self._size())
        self.history.profile = profile
        return "bootstrap"

    def _size(self) -> int:
        """Return the number of input rows of the component."""
        return sum(len(self.lower[name].contents) for name in self.follows)
