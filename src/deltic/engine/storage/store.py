"""The store: everything that an engine keeps between epochs, and the one object that owns it.

An arrangement has a name that lasts: the relation, the role that it plays for it, and the columns by which it is
sorted. Names come from the program alone, not from the order in which relations were declared.

What holds between epochs:

* Every arrangement of a relation has the same rows as its contents, each in its order, once it is built: when a query
  probes it for the first time. Counts, totals and values are those that give these rows. Outside of an epoch `before`
  of the rows is `runs`: no change is pending, and no `delta` is set.
* Runs never change; an arrangement changes by having other runs. So a snapshot is a tuple of runs, an epoch that is
  abandoned leaves nothing in them, and a run can be written while epochs go on.
* Domains and the interner only grow, in an epoch that is abandoned too: a text never changes its id. After `fit` every
  layout has a place for every value of its domains.
* Columns that some query compares share a domain, so that equal values have equal offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from deltic.engine.size import Size
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.domains import Domains, assign_domains
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.kinds import RelationKind, kind_of
from deltic.engine.storage.layout import Domain, DomainOverflow
from deltic.engine.storage.spilling import Space
from deltic.engine.storage.state import Name, State, StoreSnapshot

if TYPE_CHECKING:
    from sqlglot import exp

    from deltic.program.program import Program, Relation


class Store:
    """The relations of an engine by name, with the interner and the domains of their values.

    `space` is where its runs are, and what becomes runs: in memory or in files.
    """

    def __init__(self, space: Space | None = None) -> None:
        self.space = space or Space(None, 0)
        self.interner = Interner()
        self.domains = Domains()
        self.states: dict[str, State] = {}
        self.repacked: dict[str, State] | None = None
        """The relations repacked since this was last emptied, by whoever publishes them; None: any may be."""
        self._changed = True
        self._fitted: dict[Domain, int] = {}
        self._numbered = 0

    # Definitions

    def define(self, program: Program, value_of: Callable[[exp.Expression], int], bags: Collection[str] = ()) -> None:
        """Take in the relations of a program that are not there yet, empty; what is there keeps its rows.

        `bags` are the tables that are bags. Columns that the program compares share a domain from then on;
        `domains.variables` are those of its queries.
        """
        known = {name: state.domains for name, state in self.states.items() if name in program.relations}
        self.domains, joined = assign_domains(program, value_of, known, self.domains.interned)
        for kept, other in joined:
            self.unify(kept, other)
        held = {program.tables[table] for table in bags}
        for name, relation in program.relations.items():
            if name not in self.states:
                is_set = name not in held and relation.definition.is_set
                self.states[name] = State(relation, kind_of(program, name), self.domains.columns[name], is_set)
        self._changed, self.repacked = True, None

    def keep_keys(self, keys: Mapping[str, tuple[int, ...]]) -> None:
        """Keep each of these relations in an order that begins with the columns of its key, to look rows up by it."""
        for name, key in keys.items():
            state = self.states[name]
            if sorted(state.canonical[: len(key)]) != sorted(key):
                state.arrangement((*key, *(column for column in state.canonical if column not in key)))

    def evolved(self, kept: Iterable[tuple[Relation, str]]) -> Store:
        """Another store, apart from this one but for the runs, texts and domains that they share.

        It has the relations that are `kept`, each with its name here. Column orders are taken over when they are asked
        for, until `end_evolution`.
        """
        other = Store(self.space)
        other.interner, other.domains = self.interner, Domains(interned=dict(self.domains.interned))
        other.states = {relation.name: self.states[name].evolved(relation) for relation, name in kept}
        return other

    def end_evolution(self) -> None:
        """Forget the column orders that nobody asked for."""
        for state in self.states.values():
            state.end_evolution()

    def drop(self, relations: Collection[str]) -> None:
        """Forget these relations and all that is kept of them."""
        for name in relations:
            del self.states[name]
            self.domains.columns.pop(name, None)
        self._changed = True

    def unify(self, kept: Domain, other: Domain) -> None:
        """Let what has domain `other` have `kept`, which holds the values of both; repacked by the next `fit`."""
        if other.nullable:
            kept.admit_null()
        if not other.empty:
            kept.include(*other.range())
        for state in self.states.values():
            state.replace_domain(other, kept)
        self._changed = True

    def arrange(self, relation: str, order: tuple[int, ...]) -> Arrangement:
        """The arrangement of a relation by these columns, made of its rows when it is new; not during an epoch."""
        if order not in self.states[relation].by_order:
            self._changed = True
        return self.states[relation].arrangement(order)

    # Layouts

    def fit(self) -> None:
        """Repack what has outgrown its layout."""
        if self.is_fitted():
            return
        growths, numberings = self._growths(), self._numberings()
        try:
            for state in self._outgrown(growths):
                if state.relayout() and self.repacked is not None:
                    self.repacked[state.relation.name] = state
        except DomainOverflow as overflow:
            overflow.domain.extend(overflow.low, overflow.high)
            self.fit()
        else:
            self._changed, self._fitted, self._numbered = False, growths, numberings

    def _outgrown(self, growths: Mapping[Domain, int]) -> list[State]:
        """The relations that something may have outgrown since the last `fit`."""
        if self._changed:
            return list(self.states.values())
        grown = {domain for domain, growth in growths.items() if self._fitted.get(domain) != growth}
        return [state for state in self.states.values() if state.has_any(grown)]

    def is_fitted(self) -> bool:
        """Whether every layout has a place for every value of its domains, all that is interned included."""
        self.domains.include_ids(self.interner)
        return not self._changed and self._growths() == self._fitted

    def is_renumbered(self) -> bool:
        """Whether values were reassigned since the last `fit`, so that what is packed with the old ones has to be."""
        may_be = self._changed or self._numberings() != self._numbered
        return may_be and any(
            place.numbering != arrangement.domains[column].numbering
            for arrangement in self._all()
            for place, column in zip(arrangement.layout.places, arrangement.order, strict=True)
        )

    def _growths(self) -> dict[Domain, int]:
        """How often each domain has grown so far."""
        labels = (d for values in self.interner.values() for d in (values.order.domain, values.order.reversed))
        return {domain: domain.growth for domain in (*self.domains.all, *labels)}

    def _numberings(self) -> int:
        """How often values of any type were relabelled."""
        return sum(values.order.domain.numbering for values in self.interner.values())

    def merging(self) -> Iterator[Arrangement]:
        """The arrangements whose runs may be merged whenever: rows, and derivations of sets, without iterations."""
        for state in self.states.values():
            if state.kind in (RelationKind.TABLE, RelationKind.SET, RelationKind.BAG, RelationKind.AGGREGATE):
                yield from state.built.values()
            if state.kind is RelationKind.SET and state.counts is not None:
                yield state.counts

    # Everything that is kept

    def arrangements(self) -> Mapping[Name, Arrangement]:
        """Every arrangement that is built by its name."""
        return {name: a for state in self.states.values() for name, a in state.named()}

    def _all(self) -> Iterator[Arrangement]:
        """Every arrangement, built or not."""
        return (a for state in self.states.values() for a in state.arrangements())

    def listed(self) -> Iterator[Size]:
        """What each arrangement is, and its memory, for people."""
        for name, arrangement in self.arrangements().items():
            names = self.states[name.relation].relation.schema.names
            columns = tuple(names[c] for c in name.order) if name.role in ("rows", "counts") else ()
            yield Size(name.relation, name.role, columns, len(arrangement), arrangement.nbytes)

    def sizes(self) -> dict[Name, int]:
        """The memory of each arrangement, in bytes."""
        return {name: arrangement.nbytes for name, arrangement in self.arrangements().items()}

    @property
    def nbytes(self) -> int:
        """The memory of all runs, in bytes."""
        return sum(state.nbytes for state in self.states.values())

    # Epochs

    def snapshot(self, relations: Iterable[str] | None = None) -> StoreSnapshot:
        """This moment of some relations or all, to come back to; it costs nothing but the runs that it keeps alive."""
        return StoreSnapshot.of(self.states.values() if relations is None else map(self.states.__getitem__, relations))

    def roll_back(self, snapshot: StoreSnapshot) -> None:
        """Be as at the moment of the snapshot, with no change under way."""
        is_packed_anew = snapshot.restore()
        self.end_epoch()
        self._changed = self._changed or is_packed_anew

    def end_epoch(self) -> None:
        """Forget the changes of the epoch; their runs are in the arrangements."""
        for state in self.changed():
            state.delta = None

    def changed(self) -> Iterator[State]:
        """The relations that the present epoch has changed so far."""
        return (state for state in self.states.values() if state.delta is not None)
