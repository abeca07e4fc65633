"""A recursion as a step of an epoch: updated, or recomputed where its strategy, its policy or their costs say so."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from deltic.engine.recursion.component import RecursiveComponent
from deltic.engine.recursion.epoch import bootstrap, update
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import AbandonedError, Changes, CostHistory, Policy, Refresh
from deltic.engine.refreshed_step import Reach, RefreshedStep
from deltic.engine.result import ComponentReport
from deltic.engine.storage.state import State
from deltic.engine.storage.store import StoreSnapshot


class Recursive(RefreshedStep):
    """A recursive component under its policy."""

    def __init__(
        self, component: RecursiveComponent, lower: Mapping[str, State], refresh: Refresh, history: CostHistory
    ) -> None:
        follows = frozenset(e.query.delta.relation for e in component.outer)
        super().__init__(tuple(component.states), lower, follows, component.environment.visits, refresh, history)
        self.component = component

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
        return self._reported(self.changes(), self.act)

    def begin(self) -> ComponentReport | None:
        """Compute the component from all that is below it. None if nothing is below it and nothing is due."""
        if not self.follows and not self.is_due:
            return None
        whole = {(name, 1): len(self.lower[name].contents) for name in sorted(self.follows)}
        return self._reported(whole, lambda: self.recompute("it is new"))

    def update(self, reach: Reach) -> None:
        """Update the component by the changes below. If `reach` raises AbandonedError, nothing of it remains."""
        self.component.build(self.lower)
        reach(0)
        snapshot = StoreSnapshot.of(self.component.states.values())
        try:
            update(self.component, self.lower, reach)
        except AbandonedError:
            snapshot.restore(self.component.states.values())
            raise

    def compute(self, reach: Reach) -> None:
        """Compute the component from nothing."""
        bootstrap(self.component, self.lower, reach)

    def act(self) -> str | None:
        """Update the component, or recompute it and return the reason."""
        if all(not state.contents.runs for state in self.component.states.values()):
            return self.recompute("it was empty")
        if self.component.strategy is Strategy.FULL:
            return self.recompute("the strategy keeps no counts")
        return self.refreshed()

    def _reported(self, changes: Changes, act: Callable[[], str | None]) -> ComponentReport:
        """Run `act`, which may recompute and return the reason, and report it with the changes below."""
        visited, started, last = self.visits.rows, time.perf_counter(), self.history.profile.visited
        recomputed = act()
        states, rows = self.component.states.values(), self.visits.rows - visited
        return ComponentReport(
            self.relations,
            self.component.maintained,
            "bootstrap" if recomputed else "update",
            recomputed or self._updated(rows, last),
            sum(changes.values()),
            sum(len(state.delta) for state in states if state.delta is not None),
            rows,
            time.perf_counter() - started,
            sum(state.nbytes for state in states),
        )

    def _updated(self, rows: int, last: int) -> str:
        """Return why the component was updated."""
        if self.refresh.policy is Policy.INCREMENTAL:
            return "the policy is incremental"
        return f"it visited {rows:,} rows, the last recomputation {last:,}"
