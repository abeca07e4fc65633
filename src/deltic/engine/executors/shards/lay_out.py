"""From a program to its plan on shards: the placements of relations, and the stage of each step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from deltic.engine.executors.shards.copies import small_relations
from deltic.engine.executors.shards.cut import Piece, cut, is_copied
from deltic.engine.executors.shards.needs import needs
from deltic.engine.executors.shards.plan import EVERYWHERE, Key, PlacedRelation, ShardPlan, names_of
from deltic.engine.executors.shards.plan_steps import Define, Derive, Iterate, Recur, Search, Send, Step, Take
from deltic.engine.executors.shards.recursion import MaintenanceChoice, RecursionPlacement, in_rounds, reads_of, way_of
from deltic.engine.executors.shards.shard_keys import Homes, columns_of_key
from deltic.engine.recursion.termination import computing
from deltic.program.definitions import Derived, FixedRows, Table
from deltic.program.frontiers import frontiers
from deltic.program.histories import Examined, delay_of
from deltic.program.operators.custom import Recomputed
from deltic.program.program import Program, Relation, Stratum
from deltic.program.queries import Atom, Body, Query, Rule, Term, When, variables_of
from deltic.values.types import Column, Schema

NOWHERE: Mapping[str, tuple[Key, ...]] = MappingProxyType({})


def lay_out(
    program: Program,
    maintained: MaintenanceChoice = MaintenanceChoice(),  # noqa: B008  immutable
    there: Mapping[str, tuple[Key, ...]] = NOWHERE,
    queries: Callable[[Rule], Iterable[Query]] = Rule.queries,
) -> ShardPlan:
    """Return the plan of a program, with recursions maintained as chosen, and rules evaluated by queries.

    Rows of relations in `there` are spread by these keys already, that of the home first.
    """
    return _LayOut(program, maintained, there, queries).run()


@dataclass
class _Course:
    """The steps of an epoch or round, while they are planned; `known`: the stage of each placed relation's change."""

    steps: list[Step] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)

    def add(self, step: Step) -> None:
        """Append a step."""
        self.steps.append(step)
        if isinstance(step, Take | Define | Derive):
            self.known[step.name] = step.stage


@dataclass
class _Rounds:
    """The rounds of a recursion of these relations, while they are planned; `timed` are all its placed relations."""

    relations: tuple[str, ...]
    course: _Course
    timed: list[str]


@dataclass
class _LayOut:
    """Lays out one plan."""

    program: Program
    maintained: MaintenanceChoice
    there: Mapping[str, tuple[Key, ...]]
    queries: Callable[[Rule], Iterable[Query]]
    chains: dict[Rule, list[tuple[Query, list[Piece]]]] = field(default_factory=dict)
    homes: dict[str, Key] = field(default_factory=dict)
    placed: dict[str, PlacedRelation] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    strata: list[Stratum] = field(default_factory=list)
    probed: set[str] = field(default_factory=set)
    epoch: _Course = field(default_factory=_Course)
    rounds: _Rounds | None = None
    """The rounds of the recursion that is being laid out, if it uses rounds."""

    def run(self) -> ShardPlan:
        program = self.program
        self.small = small_relations(program) | (self.maintained.copied.keys() - program.recursive)
        recursive = [stratum for stratum in program.strata if stratum.recursive]
        self.ways: dict[Stratum, RecursionPlacement] = {s: way_of(program, s, self.maintained) for s in recursive}
        self.iterated = {name: s.relations for s in recursive if self.ways[s].in_rounds for name in s.relations}
        simple = [r for r in program.rules if r.head not in program.recursive or r.head in self.iterated]
        self.chains = {rule: [(query, cut(query, self.small)) for query in self._queries(rule)] for rule in simple}
        keys = self.maintained.options.keys
        self.homes = Homes(program, self.chains, self.ways, self.small, keys, self.there).chosen()
        for stratum in program.strata:
            if stratum.recursive and self.ways[stratum].in_rounds:
                self._iterate(stratum)
            elif stratum.recursive:
                self._recursion(stratum)
            else:
                self._relation(stratum.relations[0])
        made = Program(self.relations, tuple(self.strata), tuple(self.rules), program.sinks, program.tables)
        placed = {name: self._needed(p) for name, p in self.placed.items()}
        known = frontiers(program).of_placements({name: p.home for name, p in placed.items() if p.kept})
        return ShardPlan(made, placed, tuple(self.epoch.steps), known)

    def _queries(self, rule: Rule) -> Iterator[Query]:
        """Yield the delta queries of a rule, adapted to the placement of its recursion."""
        relations = self.iterated.get(rule.head, ())
        return (in_rounds(query, relations) if relations else query for query in self.queries(rule))

    def _needed(self, placed: PlacedRelation) -> PlacedRelation:
        """Return the placed relation. It is not stored if it is a sum of which only the changes are read."""
        name = placed.name
        is_sum = self.relations[name].definition == Derived(distinct=False) and name not in self.program.recursive
        return replace(placed, kept=not is_sum or name in self.probed or name in self.program.sinks.values())

    def _relation(self, name: str) -> None:
        """Lay out a relation that is not recursive: the pieces of its queries, then its change."""
        relation = self.program.relations[name]
        definition = relation.definition
        if isinstance(definition, Derived):
            self._derived(relation)
        elif isinstance(definition, Table | FixedRows):
            self._place(relation, name, self.homes[name])
            self.epoch.add(Take(name, 0))
        else:
            if isinstance(definition, Recomputed):
                relation = self._beside(relation, definition)
                definition = relation.definition
            self._place(relation, name, self.homes[name])
            self.epoch.add(Define(name, max(self.epoch.known[source] for source in definition.sources)))
        self.strata.append(Stratum((name,), recursive=False))

    def _derived(self, relation: Relation) -> None:
        """Lay out a relation with rules: searches whose derivations it takes, or one step if all of them stay."""
        name, rules = relation.name, list[tuple[Search, ...]]()
        self._place(relation, name, self.homes[name])
        for rule in self.program.rules_of(name):
            before = len(self.epoch.steps)
            for query, pieces in self.chains[rule]:
                self._chain(query, pieces, self.epoch)
            rules.append(tuple(step for step in self.epoch.steps[before:] if isinstance(step, Search)))
        searches = [search for each in rules for search in each]
        if searches and all(search.stays and search.query.head == name for search in searches):
            read = {each for search in searches for each in search.query.relations}
            self.epoch.steps = [step for step in self.epoch.steps if step not in searches]
            self.epoch.add(Derive(name, max(self.epoch.known[each] for each in read), tuple(filter(None, rules))))
        else:
            self.epoch.add(Take(name, self.epoch.known.get(name, 0)))

    def _beside(self, relation: Relation, definition: Recomputed) -> Relation:
        """Place the inputs of an operator that reads all their rows, with the keys that it needs."""
        _, keys = needs(relation)
        read = {name: self._at(name, key) for name, key in zip(definition.sources, keys, strict=True)}
        self.probed.update(read.values())
        return replace(relation, definition=definition.renamed(read))

    def _recursion(self, stratum: Stratum) -> None:
        """Lay out a recursion that each shard computes by itself."""
        atoms: dict[tuple[Rule, Atom], str] = {}
        for rule, atom, key in reads_of(self.program, stratum, self.ways[stratum]):
            atoms[rule, atom] = self._probe(atom, key)
        for name in stratum.relations:
            self._place(self.program.relations[name], name, self.homes[name])
            for rule in self.program.rules_of(name):
                self.rules.append(_renamed(rule, {a: n for (r, a), n in atoms.items() if r is rule}))
        stage = max((self.epoch.known[name] for name in atoms.values()), default=0)
        self.epoch.add(Recur(stratum, stage, self.ways[stratum].why, self.ways[stratum].is_chosen))
        self.epoch.known |= dict.fromkeys(stratum.relations, stage)
        self.strata.append(stratum)

    def _iterate(self, stratum: Stratum) -> None:
        """Lay out a recursion in rounds: changes of relations below start them; changes of its own are read in each."""
        for name in stratum.relations:
            self._place(self.program.relations[name], name, self.homes[name])
        chains = [
            result for name in stratum.relations for rule in self.program.rules_of(name) for result in self.chains[rule]
        ]
        inner = [(query, pieces) for query, pieces in chains if query.delta.relation in stratum.relations]
        below = list(self._probe_below(stratum, inner))
        self.rounds = _Rounds(stratum.relations, _Course(known=defaultdict(int)), list(stratum.relations))
        for query, pieces in chains:
            if query.delta.relation not in stratum.relations:
                self._chain(query, pieces, self.epoch)
        for query, pieces in inner:
            self._chain(query, pieces, self.rounds.course)
        stage = max((self.epoch.known.get(name, 0) for name in (*stratum.relations, *below)), default=0)
        steps, timed = tuple(self.rounds.course.steps), self.rounds.timed
        definitions = (self.program.relations[name].definition for name in stratum.relations)
        made, way = computing((query for query, _ in inner), definitions), self.ways[stratum]
        levels, closing = self._levels(stratum)
        iterate = Iterate(stratum, stage, way.why, way.is_chosen, steps, levels, closing, frozenset(timed), made)
        self.epoch.add(iterate)
        self.epoch.known |= dict.fromkeys(timed, stage + 1)
        self.strata.append(replace(stratum, relations=tuple(timed)))
        self.rounds = None

    def _levels(self, stratum: Stratum) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
        """Return the levels of a recursion's relations, which depend on earlier levels only, and the closing relations.

        The results of groups are placed with their groups, and settled with them.
        """
        level: dict[str, int] = {}
        for name in stratum.relations:
            definition = self.program.relations[name].definition
            if isinstance(definition, Examined) and not definition.delay:
                level[name] = level[definition.source]
            elif delay_of(definition):
                level[name] = 0
            else:
                read = [n for rule in self.program.rules_of(name) for n in rule.relations if n in stratum.relations]
                level[name] = max((level[n] + 1 for n in read), default=0)
        of_each = tuple(tuple(n for n in level if level[n] == i) for i in range(max(level.values()) + 1))
        return of_each, tuple(n for n in level if delay_of(self.program.relations[n].definition))

    def _probe_below(self, stratum: Stratum, inner: Iterable[tuple[Query, list[Piece]]]) -> Iterator[str]:
        """Yield the placed relations from below that rounds probe. They are sent to these placements before."""
        for _, pieces in inner:
            for piece in pieces:
                for atoms, is_absent in ((piece.atoms, False), (piece.absent, True)):
                    lower = [atom for atom in atoms if atom.relation not in stratum.relations]
                    yield from (self._probed(atom, piece, is_absent=is_absent).relation for atom in lower)

    def _place(self, relation: Relation, home: str, key: Key) -> None:
        changed = replace(relation, fingerprint=f"{relation.fingerprint} {key}")
        self.relations[relation.name] = changed
        self.placed[relation.name] = PlacedRelation(relation.name, home, key, kept=True)

    def _at(self, name: str, key: Key) -> str:
        """Return the placed relation with this key, to which the home's changes are sent. Creates it if necessary."""
        if key == self.homes[name]:
            return name
        home = self.program.relations[name]
        message = f"{name} {_key_text(home, key)}"
        if message not in self.placed:
            self._place(replace(home, name=message, definition=Derived(distinct=False)), name, key)
            rounds = self.rounds if self.rounds is not None and name in self.rounds.relations else None
            course = rounds.course if rounds is not None else self.epoch
            course.add(Send(name, message, course.known[name]))
            course.add(Take(message, course.known[name] + 1))
            self._stand(message, rounds)
        return message

    def _stand(self, name: str, rounds: _Rounds | None) -> None:
        """Add a placed relation to a stratum: its own, or the recursion whose rounds it belongs to."""
        if rounds is not None:
            rounds.timed.append(name)
        else:
            self.strata.append(Stratum((name,), recursive=False))

    def _probe(self, atom: Atom, key: Key) -> str:
        """Return the placed relation with this key, which an atom reads and whose rows are stored for that."""
        name = self._at(atom.relation, key)
        self.probed.add(name)
        return name

    def _chain(self, query: Query, pieces: list[Piece], course: _Course) -> None:
        """Lay out the pieces of a query: each reads the rows that the previous one sent."""
        known, is_round = course.known, course is not self.epoch
        first = pieces[0]
        key = self.homes[query.delta.relation] if first.in_place else columns_of_key(query.delta, first.key)
        source = replace(query.delta, relation=self._at(query.delta.relation, key))
        all_probed = [[self._probed(atom, piece, is_absent=False) for atom in piece.atoms] for piece in pieces]
        old = frozenset(a.relation for probed in all_probed for a in probed if a.when is When.OLD)
        needs = frozenset[str]() if is_round else old
        for number, (piece, probed) in enumerate(zip(pieces, all_probed, strict=True)):
            sign = query.body.sign if number == 0 else 1
            is_last = number + 1 == len(pieces)
            absent = [self._probed(atom, piece, is_absent=True) for atom in piece.absent]
            body = replace(
                query.body,
                sign=sign,
                atoms=(source, *probed),
                absent=tuple(absent),
                conditions=tuple(piece.conditions),
                equations=tuple(piece.equations),
                out={},
            )
            read = [a.relation for a in (*probed, *absent) if a.when is When.NEW]
            stage = max(known[name] for name in (source.relation, *read))
            if is_last:
                head, terms = query.head, query.terms
            else:
                head, terms = self._on_the_way(query, source, probed, pieces[number:])
            stays = self._stays((source, *probed), terms, head)
            rule = Rule(head, terms, replace(body, atoms=(replace(source, when=When.OLD), *probed)))
            self.rules.append(rule)
            course.add(Search(Query(head, terms, body, rule), stays, stage, needs))
            arrives = stage if stays else stage + 1
            if not is_last:
                course.add(Take(head, arrives))
                self._stand(head, self.rounds)
            elif not is_round:
                known[head] = max(known.get(head, 0), arrives)
            if not is_last:
                source = Atom(head, When.DELTA, terms)

    def _probed(self, atom: Atom, piece: Piece, *, is_absent: bool) -> Atom:
        """Return the atom of the placed relation that a piece probes."""
        if is_copied(atom, self.small, is_absent):
            key = EVERYWHERE
        elif piece.key is None:
            key = self.homes[atom.relation]
        else:
            key = columns_of_key(atom, piece.key)
        return replace(atom, relation=self._probe(atom, key))

    def _on_the_way(
        self, query: Query, source: Atom, probed: Iterable[Atom], pieces: list[Piece]
    ) -> tuple[str, tuple[Term, ...]]:
        """Return the relation of the rows that the first piece sends to the next: known variables that are still
        needed.
        """
        piece, *later = pieces
        bound = {v for atom in (source, *probed) for v in atom.variables()} | {v for v, _ in piece.equations}
        needed = {v for piece in later for v in piece.reads()} | {v for t in query.terms for v in variables_of(t)}
        terms = tuple(sorted(bound & needed))
        names = _distinct_names(query.body.names.get(v, f"_{v}") for v in terms)
        types = query.body.types
        schema = Schema(tuple(Column(n, types[v].type, types[v].nullable) for n, v in zip(names, terms, strict=True)))
        name = f"{query.head}#{len(self.relations)}"
        key = None if later[0].key is None else tuple(terms.index(v) for v in later[0].key)
        self._place(Relation(name, schema, Derived(distinct=False), f"{name}{schema}"), query.head, key)
        return name, terms

    def _stays(self, read: Iterable[Atom], terms: tuple[Term, ...], target: str) -> bool:
        """Return whether rows are already where they should be sent: they are spread by the same variables.

        Compares the target's key with that of the first atom that is not a copy.
        """
        result = next((atom for atom in read if self.placed[atom.relation].key is not None), None)
        key, wanted = None if result is None else self.placed[result.relation].key, self.placed[target].key
        if result is None or key is None or wanted is None:
            return False
        return [result.terms[c] for c in key] == [terms[c] for c in wanted] and all(
            isinstance(terms[c], int) for c in wanted
        )


def _key_text(relation: Relation, key: Key) -> str:
    if key is None:
        return "everywhere"
    return f"by {names_of(relation.schema.names, key)}" if key else "together"


def _renamed(rule: Rule, names: Mapping[Atom, str]) -> Rule:
    """Return the rule with its atoms read from other relations."""

    def placed(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(replace(a, relation=names.get(a, a.relation)) for a in atoms)

    body: Body = replace(rule.body, atoms=placed(rule.body.atoms), absent=placed(rule.body.absent))
    return Rule(rule.head, rule.terms, body)


def _distinct_names(names: Iterable[str]) -> list[str]:
    """Return distinct names: a name that occurs again gets an apostrophe."""
    result: list[str] = []
    for name in names:
        while name in result:
            name += "'"
        result.append(name)
    return result
