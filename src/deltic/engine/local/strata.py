"""The order of an epoch: strata one after the other, each only if something that it reads has changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from deltic.engine.local.codec import Interner, encode
from deltic.engine.local.evaluate import DomainOverflow, Evaluation
from deltic.engine.local.nested import Component, run_component
from deltic.engine.local.pending import Batch
from deltic.engine.local.relation import State
from deltic.engine.local.rules import Kind, Stratum
from deltic.engine.local.run import Run, plain


class Strata:
    """Brings all derived relations up to date with the `delta` of tables and constants."""

    def __init__(
        self, strata: Sequence[Stratum], states: Mapping[str, State], evaluations: Sequence[Evaluation]
    ) -> None:
        by_head: dict[str, list[Evaluation]] = defaultdict(list)
        for evaluation in evaluations:
            by_head[evaluation.query.head].append(evaluation)
        derived = [s for s in strata if states[s.relations[0]].relation.kind not in (Kind.TABLE, Kind.CONSTANT)]
        self._steps = [_Step(stratum, states, by_head) for stratum in derived]
        self._states = states

    def run(self) -> None:
        """One epoch; the deltas of derived relations say what changed. Ends with all changes merged."""
        changed = {name for name, state in self._states.items() if state.delta is not None}
        for step in self._steps:
            if not step.follows.isdisjoint(changed):
                changed |= step.run()
        for name in changed:
            self._states[name].compact()


class _Step:
    """One stratum of derived relations; `follows` are those below it whose changes concern it."""

    def __init__(
        self, stratum: Stratum, states: Mapping[str, State], by_head: Mapping[str, Sequence[Evaluation]]
    ) -> None:
        self.states = states
        self.relations = stratum.relations
        self.recursive = stratum.recursive
        inner: dict[str, list[Evaluation]] = defaultdict(list)
        self.outer: list[Evaluation] = []
        for evaluation in (e for name in stratum.relations for e in by_head.get(name, ())):
            followed = evaluation.query.delta.relation
            (inner[followed] if followed in stratum.relations else self.outer).append(evaluation)
        self.follows = frozenset(e.query.delta.relation for e in self.outer)
        self.component = Component({name: states[name] for name in stratum.relations}, self.outer, inner)

    def run(self) -> set[str]:
        """Bring the stratum up to date; the names of its relations that changed."""
        if self.recursive:
            run_component(self.component, self.states)
        else:
            self._derive(self.states[self.relations[0]])
        return {name for name in self.relations if self.states[name].delta is not None}

    def _derive(self, state: State) -> None:
        """The change of a set or bag from the changes below it."""
        batch = Batch()
        for evaluation in self.outer:
            delta = self.states[evaluation.query.delta.relation].delta
            if delta is not None:
                for derived in evaluation.run(delta):
                    batch.add(derived.words, derived.weights)
        total = batch.total()
        if total is None:
            return
        change = Run(total[0], weights=plain(total[1])) if state.relation.kind is Kind.BAG else state.change_set(*total)
        if len(change):
            state.delta = change
            state.append(change)


def constant_change(state: State, interner: Interner) -> Run | None:
    """The rows of a constant as its change; DomainOverflow where a value has no place yet."""
    rows, schema = state.relation.rows, state.relation.schema
    columns = [
        encode(pa.array([row[i] for row in rows], column.type.arrow), column.type, interner)
        for i, column in enumerate(schema)
    ]
    for domain, values in zip(state.domains, columns, strict=True):
        if values.size and not domain.fits(int(values.min()), int(values.max())):
            raise DomainOverflow(domain, int(values.min()), int(values.max()))
    batch = Batch()
    raw = [d.encode(v) for d, v in zip(state.domains, columns, strict=True)]
    batch.add(state.layout.pack(raw, len(rows)), np.empty(0, np.int64))
    total = batch.total()
    return Run(total[0], weights=plain(total[1])) if total is not None and total[0].shape[1] else None
