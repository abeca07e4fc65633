"""The store: everything that an engine stores between epochs, with one owner.

An arrangement has a stable name: the relation, its role for it, and the columns by which it is sorted. Names come from
the program alone, not from the order in which relations were declared.

What holds between epochs:

* Every built arrangement of a relation has the rows of its contents, in its own order. It is built when a query first
  probes it. Counts, totals and values are those that give these rows. Outside an epoch `before` of the rows is
  `runs`: no change is pending, and no `delta` is set.
* Runs never change; an arrangement changes by having other runs. So a snapshot is a tuple of runs, an abandoned epoch
  leaves no trace in them, and a run can be written while epochs go on.
* Domains and the interner only grow, even in an abandoned epoch: a text never changes its id. After `fit` every
  layout has a place for every value of its domains.
* Columns that some query compares share a domain, so that equal values have equal offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from deltic.engine.maintenance import Size
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.columns import Domain, DomainOverflow
from deltic.engine.storage.domains import Domains, assign_domains
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.kinds import RelationKind, kind_of
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import Run
from deltic.engine.storage.spilling import Space
from deltic.engine.storage.state import Name, State

if TYPE_CHECKING:
    from sqlglot import exp

    from deltic.program.program import Program, Relation
    from deltic.program.queries import Rule

NO_RULES: Mapping[str, Iterable[Rule]] = MappingProxyType({})


class Renumbered(Exception):
    """Labels were reassigned since the start of the epoch, which must restart, because packed rows have the old ones.

    The present values stay known.
    """


@dataclass(frozen=True)
class StoreSnapshot:
    """The state of relations at one moment. It shares their runs, so it costs nothing."""

    saved: list[tuple[Arrangement, tuple[Run, ...], tuple[Run, ...], Layout, bool]]

    @classmethod
    def of(cls, states: Iterable[State]) -> StoreSnapshot:
        """Return the snapshot of these relations."""
        return cls([(a, a.runs, a.before, a.layout, a.is_built) for state in states for a in state.arrangements()])

    def restore(self, relations: Iterable[State]) -> bool:
        """Restore relations to the snapshot, without a change. Return whether a layout had changed since."""
        is_packed_anew, wanted = False, set[int]()
        for state in relations:
            state.delta = None
            wanted.update(map(id, state.arrangements()))
        for arrangement, runs, before, layout, is_built in self.saved:
            if id(arrangement) in wanted:
                is_packed_anew = is_packed_anew or arrangement.layout is not layout
                arrangement.runs, arrangement.before = runs, before
                arrangement.layout, arrangement.is_built = layout, is_built
        return is_packed_anew

    def runs(self) -> dict[int, tuple[Run, ...]]:
        """Return the runs of each arrangement in the snapshot, by the arrangement's id()."""
        return {id(arrangement): runs for arrangement, runs, *_ in self.saved}


class Store:
    """The relations of an engine by name, with the interner and the domains of their values.

    `space` allocates its runs and the arrays that become runs: in memory or in files.
    """

    def __init__(self, space: Space | None = None) -> None:
        self.space = space or Space(None, 0)
        self.interner = Interner()
        self.domains = Domains()
        self.states: dict[str, State] = {}
        self.rewritten: dict[str, State] | None = None
        """The relations that were repacked, or lost rows without a change, since this was last emptied, for versions;
        None: any may be.
        """
        self._changed = True
        self._reach: Collection[str] | None = None
        self._fitted = 0
        self._numbered = 0

    # Definitions

    def define(self, program: Program, value_of: Callable[[exp.Expression], int], bags: Collection[str] = ()) -> None:
        """Add the program's new relations, which are empty. Existing ones keep their rows.

        `bags` are the tables that are bags. Columns that the program compares share a domain from then on;
        `domains.variables` are those of its queries.
        """
        known = {name: state.domains for name, state in self.states.items() if name in program.relations}
        self.domains, joined = assign_domains(program, value_of, known, self.domains)
        for kept, other in joined:
            self.unify(kept, other)
        held = {program.tables[table] for table in bags}
        for name, relation in program.relations.items():
            if name not in self.states:
                is_set = name not in held and relation.definition.is_set
                self.states[name] = State(relation, kind_of(program, name), self.domains.columns[name], is_set)
        self.rewritten = None

    def keep_keys(self, keys: Mapping[str, tuple[int, ...]]) -> None:
        """Store each of these relations in an order that begins with its key, for look-ups."""
        for name, key in keys.items():
            state = self.states[name]
            if sorted(state.canonical[: len(key)]) != sorted(key):
                state.arrangement((*key, *(column for column in state.canonical if column not in key)))

    def evolved(self, kept: Iterable[tuple[Relation, str]], rules: Mapping[str, Iterable[Rule]] = NO_RULES) -> Store:
        """Return another store with the `kept` relations, each given with its name here. It shares runs, texts and
        domains.

        For the relations of `rules`, the other program has the same definitions, rules and inputs.
        It uses column orders when a query asks for them, until `end_evolution`.
        """
        other = Store(self.space)
        variables = {rule: self.domains.variables[rule] for own in rules.values() for rule in own}
        columns = {name: self.states[name].domains for name in rules}
        other.interner, other.domains = self.interner, Domains(columns, variables, dict(self.domains.interned))
        other.states = {relation.name: self.states[name].evolved(relation) for relation, name in kept}
        other._changed, other._fitted, other._numbered = self._changed, self._fitted, self._numbered
        return other

    def end_evolution(self) -> None:
        """Forget the restored column orders that no query needs."""
        for state in self.states.values():
            state.end_evolution()

    def drop(self, relations: Collection[str]) -> None:
        """Forget these relations and all that is stored for them."""
        for name in relations:
            del self.states[name]
            self.domains.columns.pop(name, None)
        self._changed = True

    def unify(self, kept: Domain, other: Domain) -> None:
        """Replace domain `other` by `kept`, extended to the values of both. The next `fit` repacks."""
        if other.nullable:
            kept.admit_null()
        if not other.empty:
            kept.include(*other.range())
        for state in self.states.values():
            state.replace_domain(other, kept)
        self._changed = True

    # Layouts

    def fit(self) -> None:
        """Repack the arrangements that have outgrown their layouts."""
        if self.is_fitted():
            return
        latest, numberings = Domain.latest, self._numberings()
        try:
            for state in self._outgrown():
                if state.relayout():
                    self.has_rewritten(state)
        except DomainOverflow as overflow:
            overflow.domain.extend(overflow.low, overflow.high)
            self.fit()
        else:
            self._changed, self._fitted, self._numbered = False, latest, numberings

    def has_rewritten(self, state: State) -> None:
        """Record that the rows of a relation are others, without a change."""
        if self.rewritten is not None:
            self.rewritten[state.relation.name] = state

    def _outgrown(self) -> list[State]:
        """Return the relations that may have outgrown their layouts since the last `fit`."""
        if self._changed:
            return list(self.states.values())
        grown = self._grown()
        return [state for state in self.states.values() if state.has_any(grown)]

    def is_fitted(self) -> bool:
        """Return whether every layout has a place for every value of its domains, including all interned values."""
        self.domains.include_ids(self.interner)
        latest = Domain.latest
        if not self._changed and self._fitted != latest and not self._grown():
            self._fitted = latest  # domains of other stores have grown
        return not self._changed and self._fitted == latest

    def is_renumbered(self) -> bool:
        """Return whether labels were reassigned since the last `fit`, so that rows packed with old ones must be
        repacked.
        """
        may_be = self._changed or self._numberings() != self._numbered
        return may_be and any(
            place.numbering != arrangement.domains[column].numbering
            for arrangement in self._all()
            for place, column in zip(arrangement.layout.places, arrangement.order, strict=True)
        )

    def fit_within_epoch(self) -> None:
        """Repack the arrangements that have outgrown their layouts. Raises Renumbered."""
        if self.is_renumbered():
            raise Renumbered
        self.fit()

    def _grown(self) -> set[Domain]:
        """Return the domains that have grown since the last `fit`."""
        labels = (d for values in self.interner.values() for d in (values.order.domain, values.order.reversed))
        return {domain for domain in (*self.domains.all, *labels) if domain.growth > self._fitted}

    def _numberings(self) -> int:
        """Return how often values of any type were relabelled."""
        return sum(values.order.domain.numbering for values in self.interner.values())

    def merging(self) -> Iterator[Arrangement]:
        """Yield the arrangements whose runs may be merged at any time: rows and counts without iterations."""
        for state in self.states.values():
            if state.kind in (RelationKind.TABLE, RelationKind.SET, RelationKind.BAG, RelationKind.AGGREGATE):
                yield from state.built.values()
            if state.kind is RelationKind.SET and state.counts is not None:
                yield state.counts

    # Everything that is kept

    def arrangements(self) -> Mapping[Name, Arrangement]:
        """Return all built arrangements by name."""
        return {name: a for state in self.states.values() for name, a in state.named()}

    def _all(self) -> Iterator[Arrangement]:
        """Yield all arrangements, built or not."""
        return (a for state in self.states.values() for a in state.arrangements())

    def listed(self) -> Iterator[Size]:
        """Yield a description of each arrangement with its memory, for display."""
        for name, arrangement in self.arrangements().items():
            names = self.states[name.relation].relation.schema.names
            columns = tuple(names[c] for c in name.order) if name.role in ("rows", "counts") else ()
            yield Size(name.relation, name.role, columns, len(arrangement), arrangement.nbytes)

    @property
    def nbytes(self) -> int:
        """Return the memory of all runs, in bytes."""
        return sum(state.nbytes for state in self.states.values())

    # Epochs

    def snapshot(self, relations: Collection[str] | None = None) -> StoreSnapshot:
        """Return a snapshot of the relations that the present epoch may change: these, or all.

        It only costs the memory of the runs that it keeps alive.
        """
        self._reach = relations
        return StoreSnapshot.of(self.reached())

    def reached(self) -> Iterable[State]:
        """Return the relations that the present epoch may change."""
        return self.states.values() if self._reach is None else map(self.states.__getitem__, self._reach)

    def roll_back(self, snapshot: StoreSnapshot) -> None:
        """Return to the snapshot, without a pending change."""
        self.restore(snapshot, self.reached())
        self._reach = None

    def restore(self, snapshot: StoreSnapshot, relations: Iterable[State]) -> None:
        """Return some relations to the snapshot, without a change."""
        is_packed_anew = snapshot.restore(relations)
        self._changed = self._changed or is_packed_anew

    def end_epoch(self) -> None:
        """Forget the changes of the epoch. Their runs are in the arrangements."""
        for state in self.changed():
            state.delta = None
        self._reach = None

    def changed(self) -> list[State]:
        """Return the relations that the present epoch has changed so far."""
        return [state for state in self.reached() if state.delta is not None]
