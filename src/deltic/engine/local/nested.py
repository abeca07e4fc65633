"""The strategy `nested` for recursion: counts of derivations at every iteration [DBSP §7.2].

Each row of a recursive relation carries the iteration at which it is first derived, and rules are multilinear
over Z-sets of (row, iteration): a head appears one iteration after the latest row of its body. An epoch
goes through the iterations at which anything changes, least first. When iteration k is reached, all
counts at k and all first iterations before k are final, so each row is asserted or retracted at k once:
it belongs there if its count at k is positive and it is derived at no earlier iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltic.engine.local.evaluate import Evaluation
from deltic.engine.local.kernels.settle import NEVER, settle
from deltic.engine.local.pending import Agenda, Batch
from deltic.engine.local.relation import Snapshot, State
from deltic.engine.local.run import Run, Words, plain
from deltic.engine.local.store import descriptors, time_array
from deltic.errors import UnsupportedError

Values = np.ndarray[Any, np.dtype[Any]]

# Iterations are int32; a recursion that needs more than this many is taken for one without an end.
ITERATION_LIMIT = 1 << 30


@dataclass(frozen=True)
class Component:
    """Mutually recursive relations with the queries for them.

    `outer` follow relations of lower strata, `inner` those of the component; both by the relation followed.
    """

    states: Mapping[str, State]
    outer: Sequence[Evaluation]
    inner: Mapping[str, Sequence[Evaluation]]


def run_component(component: Component, lower: Mapping[str, State]) -> None:
    """Bring the component up to date with the changes of `lower`; sets the `delta` of its relations."""
    epoch = _Epoch(component)
    for evaluation in component.outer:
        delta = lower[evaluation.query.delta.relation].delta
        if delta is not None:
            epoch.derive(evaluation, delta, 0)
    while (now := epoch.first()) is not None:
        if now > ITERATION_LIMIT:
            raise UnsupportedError(f"the recursion through {', '.join(component.states)} does not end")
        epoch.iterate(now)
    epoch.finish()


class _Epoch:
    """One epoch of a component."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.names = frozenset(component.states)
        self.agendas = {name: Agenda() for name in component.states}
        self.changes = {name: Batch() for name in component.states}
        self.started = Snapshot.of(component.states.values()).runs()

    def first(self) -> int | None:
        return min((t for a in self.agendas.values() if (t := a.first()) is not None), default=None)

    def derive(self, evaluation: Evaluation, delta: Run, now: int) -> None:
        """Push a change through one query; its derivations wait for their iterations."""
        agenda = self.agendas[evaluation.query.head]
        for derived in evaluation.run(delta, self.names, now):
            agenda.derive(derived, now + 1)

    def iterate(self, now: int) -> None:
        """Settle the rows of one iteration and push what changed through the rules."""
        deltas = {
            name: d for name, agenda in self.agendas.items() if (d := self._settle(name, agenda, now)) is not None
        }
        for name, delta in deltas.items():
            self.component.states[name].append(delta)
            self.changes[name].add(delta.words, delta.weights)
        for name, delta in deltas.items():
            for evaluation in self.component.inner.get(name, ()):
                self.derive(evaluation, delta, now)
        for name in deltas:
            self.component.states[name].compact()

    def _settle(self, name: str, agenda: Agenda, now: int) -> Run | None:
        """The change of a relation at iteration `now`, None when there is none."""
        candidates = agenda.take(now)
        if candidates is None:
            return None
        state = self.component.states[name]
        assert state.counts is not None
        words, change = candidates
        rows, counts = state.contents.runs, state.counts.runs
        actions, later = settle(words, change, now, descriptors(rows), descriptors(counts))
        counted = _select(words, change, change)
        if len(counted[1]):
            state.count(Run(counted[0], time_array(len(counted[1]), now), plain(counted[1])))
        again, times = _select(words, later, later - NEVER)
        if len(times):
            agenda.reconsider(again, times)
        moved, signs = _select(words, actions, actions)
        return Run(moved, time_array(len(signs), now), plain(signs)) if len(signs) else None

    def finish(self) -> None:
        """The changes of the whole epoch, whatever the iteration; the relations' old versions for later strata.

        Rows that only moved to another iteration are no change: then the old version is the new one.
        """
        for name, state in self.component.states.items():
            total = self.changes[name].total()
            if total is not None and total[0].shape[1]:
                state.delta = Run(total[0], weights=plain(total[1]))
                for arrangement in state.stores.values():
                    arrangement.before = self.started[id(arrangement)]


def _select(words: Words, values: Values, mark: Values) -> tuple[Words, Values]:
    """The rows and values that are marked by something other than zero."""
    chosen = np.flatnonzero(mark)
    if len(chosen) == len(mark):
        return words, values
    return words[:, chosen], values[chosen]
