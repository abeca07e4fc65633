"""The state of one relation: its contents, its derivation counts, and the orders in which queries probe it.

What must hold:

* Every order that is built has the contents' rows of positive weight; in a set each weighs one.
* A row of a set is present where its count is positive. Recursive sets count by iteration: `elastic` the first one
  alone, `full` none.
* `delta` is the change of the present epoch, canonical, and None between epochs. It `is_appended` while it is the last
  run of every order that is built.
* The rows and the surplus of a trusted table add up to the weights of all its changes.
* Only orders of rows have a version before the change. A count beyond 64 bits is an error before anything changes.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from deltic.engine.kernels.settle import crossings
from deltic.engine.parallel import run_all
from deltic.engine.storage.arrangement import Arrangement, present, replica
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.columns import Domain
from deltic.engine.storage.frozen import Frozen
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import Run, Weights, Words, merge_runs
from deltic.errors import CountOverflowError
from deltic.program.program import Relation

# Several threads sort a change of at least this many rows in its orders.
_MANY = 1 << 16

# The role of an arrangement: rows; derivation counts; surplus of the trusted changes of a set over its rows; totals and
# values of groups; the change that is due in the next epoch; the time of a window; rows of partitions in order; rows of
# groups by iteration; sizes of partitions; the rows at which a top-k starts and ends; and the mark of what a user's
# state has read. Between the rounds of a recursion: pending derivations, rows to look at again, the epoch's changes.
Role = Literal[
    "rows",
    "counts",
    "surplus",
    "totals",
    "values",
    "delay",
    "clock",
    "ordered",
    "iterations",
    "sizes",
    "start",
    "end",
    "mark",
    "waiting",
    "again",
    "changed",
]


class Name(NamedTuple):
    """The name of an arrangement: its relation, its role, and the columns by which it is sorted."""

    relation: str
    role: Role
    order: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.relation} {self.role} [{','.join(map(str, self.order))}]"


@dataclass
class State:
    """The stored state of a relation: a set, whose rows are there once, or a bag, whose rows have weights.

    `counts`, in canonical order, has the derivations of each row of a set; in a recursive set, those of each iteration.
    `by_order` has the arrangements that queries probe. In a recursive set they hold (row, first iteration), in a
    recursive bag (row, iteration) with its weight. `delta` is the canonical change of the present epoch; of rows to be
    grouped, nothing else is stored. `auxiliary` is what operators store beside the rows, by role and order.
    """

    relation: Relation
    kind: RelationKind
    domains: tuple[Domain, ...]
    is_set: bool = True
    counts: Arrangement | None = None
    by_order: dict[tuple[int, ...], Arrangement] = field(default_factory=dict)
    delta: Run | None = None
    auxiliary: dict[tuple[Role, tuple[int, ...]], Arrangement] = field(default_factory=dict)
    _appended: Run | None = None
    _spare: dict[tuple[int, ...], Arrangement] = field(default_factory=dict)
    canonical: tuple[int, ...] = field(init=False)
    """The order of the columns as declared."""

    def __post_init__(self) -> None:
        self.canonical = tuple(range(len(self.domains)))
        if self.kind in (RelationKind.SET, RelationKind.RECURSIVE):
            self.counts = Arrangement(self.canonical, self.domains)
        if self.kind is not RelationKind.SET:
            self.arrangement(self.canonical)
        if self.kind is RelationKind.TABLE and self.is_set:
            self.keep("surplus", self.canonical, self.domains)

    @property
    def layout(self) -> Layout:
        """Return the canonical layout: that of deltas, counts and derived heads."""
        return self.contents.layout

    @property
    def contents(self) -> Arrangement:
        """Return the canonical arrangement whose rows of positive weight are the relation's rows."""
        if self.kind is RelationKind.SET:
            assert self.counts is not None
            return self.counts
        return self.by_order[self.canonical]

    def declare(self, order: tuple[int, ...]) -> Arrangement:
        """Return the arrangement in this order. A new one is not built until `arrangement` asks for it."""
        if order not in self.by_order:
            is_built = order == self.canonical and self.kind is not RelationKind.SET
            new = (
                self._spare.pop(order) if order in self._spare else Arrangement(order, self.domains, is_built=is_built)
            )
            if order == self.canonical and not is_built:
                new.layout = self.layout  # changes are appended as they are
            self.by_order[order] = new
        return self.by_order[order]

    def arrangement(self, order: tuple[int, ...]) -> Arrangement:
        """Return the arrangement in this order, with the version before the present change. Builds it if necessary."""
        result = self.declare(order)
        if not result.is_built:
            self.build(result)
        return result

    def evolved(self, relation: Relation) -> State:
        """Return the same state for a relation of another program. It is separate, but shares the runs.

        The other state uses column orders when `declare` asks for them, until `end_evolution`.
        """
        other = replica(self)
        other.relation, other.delta, other._appended = relation, None, None
        other.counts = copy(self.counts)
        other.auxiliary = {key: copy(arrangement) for key, arrangement in self.auxiliary.items()}
        orders = {**self._spare, **self.by_order}
        other._spare = {order: copy(arrangement) for order, arrangement in orders.items()}
        other.by_order = {}
        if self.kind is not RelationKind.SET:
            other.arrangement(self.canonical)
        return other

    def restore(self, role: Role, order: tuple[int, ...], domains: tuple[Domain, ...]) -> Arrangement:
        """Return the arrangement in this role, to be filled from a checkpoint.

        Column orders are used when `declare` asks for them, until `end_evolution`.
        """
        if role == "counts":
            assert self.counts is not None
            return self.counts
        if role != "rows":
            return self.keep(role, order, domains)
        if order in self.by_order:
            return self.by_order[order]
        return self._spare.setdefault(order, Arrangement(order, self.domains))

    def restore_change(self, delta: Run, is_appended: bool) -> None:
        """Restore the change of an epoch in progress; `is_appended` says whether it is the last run of the rows."""
        self.delta, self._appended = delta, delta if is_appended else None

    @property
    def is_appended(self) -> bool:
        """Return whether the present change is the last run of the rows, in every order that is built."""
        return self.delta is not None and self._appended is self.delta

    def keep_orders(self) -> None:
        """Keep all column orders that were restored, also those that no query needs."""
        for order in list(self._spare):
            self.declare(order)

    def end_evolution(self) -> None:
        """Forget the restored column orders that no query needs."""
        self._spare = {}

    def build(self, arrangement: Arrangement) -> None:
        self.relayout()
        before, now = self._versions()
        same = arrangement.order == self.canonical
        made = {run: run if same else arrangement.arrange(self.layout, run) for run in {*before, *now}}
        arrangement.before, arrangement.runs = tuple(made[run] for run in before), tuple(made[run] for run in now)
        arrangement.is_built = True

    def _versions(self) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
        """Return the rows before the present change, and the present rows, as runs with the change last."""
        if self.kind is not RelationKind.SET:
            return self.contents.before, self.contents.runs
        now = self.whole()
        if self.delta is None:
            return ((now,), (now,)) if len(now) else ((), ())
        before = merge_runs(now, self.delta.negated())
        return ((before,), (before, self.delta)) if len(before) else ((), (self.delta,))

    @property
    def built(self) -> dict[tuple[int, ...], Arrangement]:
        """Return the built arrangements of the rows, by column order."""
        return {order: arrangement for order, arrangement in self.by_order.items() if arrangement.is_built}

    def was_empty(self) -> bool:
        """Return whether the relation is known to have been empty before the present change."""
        if self.kind is not RelationKind.SET:
            return not self.contents.before
        if self.delta is None:
            return not self.contents.runs
        return not self.delta.weights.size and len(self.delta) == len(self.contents)

    def keep(self, role: Role, order: tuple[int, ...], domains: tuple[Domain, ...]) -> Arrangement:
        """Return the arrangement in this role, of rows of these domains. Creates it if necessary."""
        if (role, order) not in self.auxiliary:
            self.auxiliary[role, order] = Arrangement(tuple(range(len(domains))), domains)
        return self.auxiliary[role, order]

    def named(self) -> Iterator[tuple[Name, Arrangement]]:
        """Yield all built arrangements of the relation with their names."""
        name = self.relation.name
        yield from ((Name(name, "rows", order), a) for order, a in self.built.items())
        yield from ((Name(name, *key), a) for key, a in self.auxiliary.items())
        if self.counts is not None:
            yield Name(name, "counts", self.canonical), self.counts

    def arrangements(self) -> list[Arrangement]:
        """Return all arrangements of the relation."""
        counts = [] if self.counts is None else [self.counts]
        return [*self.by_order.values(), *self.auxiliary.values(), *counts]

    @property
    def nbytes(self) -> int:
        """Return the memory of all arrangements of the relation, in bytes. Shared arrays count once."""
        size = sum(arrangement.nbytes for arrangement in self.arrangements())
        if self.counts is None or self.counts is self.contents:
            return size
        counted = {id(run.words) for run in self.counts.runs}
        return size - sum(run.words.nbytes + run.times.nbytes for run in self.contents.runs if id(run.words) in counted)

    def replace_domain(self, old: Domain, new: Domain) -> None:
        """Replace domain `old` by `new`, which includes it. Packed rows are stale until `relayout`."""

        def replaced(domains: tuple[Domain, ...]) -> tuple[Domain, ...]:
            return tuple(new if domain is old else domain for domain in domains)

        self.domains = replaced(self.domains)
        for arrangement in (*self.arrangements(), *self._spare.values()):
            arrangement.domains = replaced(arrangement.domains)

    def has_any(self, domains: Container[Domain]) -> bool:
        """Return whether any of its arrangements has a column of one of these domains."""
        columns = (self.domains, *(arrangement.domains for arrangement in self.auxiliary.values()))
        return any(domain in domains for column in columns for domain in column)

    def relayout(self) -> bool:
        """Repack arrangements that have outgrown their layout, and the present change. Return whether there were any.

        Only rows have a version before the change.
        """
        stale = [arrangement for arrangement in self.arrangements() if arrangement.is_stale()]
        contents = self.contents
        for arrangement in (*self.auxiliary.values(), *([] if self.counts is None else [self.counts])):
            arrangement.before = arrangement.runs
        if contents.is_stale():
            is_appended = self._appended is self.delta
            self.delta = contents.relayout(self.delta)
            self._appended = self.delta if is_appended else None
        for arrangement in self.arrangements():
            if arrangement.is_stale():
                arrangement.relayout()
        return bool(stale)

    def append(self, run: Run) -> None:
        """Add a change of the contents to every built order; `compact` ends it. Raises CountOverflowError."""
        self._check_counts(self.contents, run)
        self._appended = run
        built = [store for store in self.by_order.values() if store.is_built]

        def place(store: Arrangement) -> Run:
            return run if store.order == self.canonical else store.arrange(self.layout, run)

        arranged = run_all([partial(place, s) for s in built]) if len(run) >= _MANY else list(map(place, built))
        for store, change in zip(built, arranged, strict=True):
            store.append(change)

    def arranged(self, run: Run, order: tuple[int, ...]) -> Run:
        """Return a canonical run in another order, which must be declared."""
        if order == self.canonical:
            return run
        store = self.by_order[order]
        is_there = store.is_built and run is self._appended and len(run)
        return store.runs[-1] if is_there else store.arrange(self.layout, run)

    def compact(self) -> None:
        """End the change, and drop the state before it."""
        self._appended = None
        for store in self.by_order.values():
            store.compact()

    def share_counted(self) -> None:
        """Make the contents share the rows of the counts, which must be equal, so that they are stored once."""
        assert self.counts is not None
        self.counts.compact()
        there = {id(run.words): run for run in self.contents.runs}
        self.contents.runs = tuple(
            there[id(run.words)] if id(run.words) in there else Run(run.words, run.times) for run in self.counts.runs
        )

    def count(self, run: Run) -> None:
        """Add a change of the derivation counts. Raises CountOverflowError."""
        assert self.counts is not None
        self._check_counts(self.counts, run)
        self.counts.add(run)

    def _check_counts(self, arrangement: Arrangement, change: Run) -> None:
        """Raise CountOverflowError if a change makes the count of a row exceed 64 bits."""
        if not (change.is_heavy or any(run.is_heavy for run in arrangement.runs)) or not len(change):
            return
        words, weights = present([change])
        before, added = arrangement.weights_of(words), weights.astype(np.int64)
        after = before + added
        if (((before ^ after) & (added ^ after)) < 0).any():
            raise CountOverflowError(relations=(self.relation.name,))

    @property
    def surplus(self) -> Arrangement:
        """Return the surplus of the trusted changes of a table that is a set."""
        return self.auxiliary["surplus", self.canonical]

    def forget(self, run: Run) -> None:
        """Remove rows without a change; `run` is their negation. Call it only between changes."""
        if self.kind is RelationKind.SET:
            assert self.counts is not None
            self.count(Run(run.words, weights=-self.counts.weights_of(run.words)))
        self.append(run)
        self.compact()

    def rows(self) -> tuple[Words, Weights]:
        """Return the rows with a weight, in canonical layout, and their weights, which are one in a set."""
        return self.frozen().rows()

    def frozen(self) -> Frozen:
        """Return the present rows, for later reading."""
        contents, orders = self.contents, self.by_order.values()
        others = tuple(a.sorted() for a in orders if a.is_built and a is not contents)
        is_counted = self.kind is RelationKind.SET
        return Frozen(self.relation.schema, self.is_set, is_counted, (contents.sorted(), *others))

    def whole(self) -> Run:
        """Return the present rows with their weights, as a change from the empty relation."""
        words, weights = self.rows()
        return Run(words, weights=weights)

    def set_change(self, change: Run | None, is_stored: bool = True) -> None:
        """Set the change, and add it to the rows if these are stored. An empty change is none."""
        if change is not None and len(change):
            self.delta = change
            if is_stored and self.kind is not RelationKind.TRANSIENT:
                self.append(change)

    def add_derivations(self, derivations: CountChanges, is_stored: bool) -> None:
        """Set the change by derivations, which are added to the counts of a set."""
        if self.kind is not RelationKind.SET:
            self.set_change(derivations.run(), is_stored)
        elif (total := derivations.total()) is not None:
            self.set_change(self.change_set(*total), is_stored)

    def change_set(self, words: Words, change: Weights) -> Run:
        """Add `change` to the counts of a set's rows. Return the change of the set, H of [DBSP Prop. 6.12]."""
        assert self.counts is not None
        actions = crossings(self.counts.weights_of(words), change)
        self.count(Run(words, weights=change))
        moved = actions != 0
        return Run(words[:, moved], weights=actions[moved])
