"""Continuing with another program: which rows stay where they are, and the plan of an epoch that computes the rest.

A relation stays if it has the same fingerprint in both programs, at each placement with the same key. The epoch works
like a first load: the rows that stay act as their own change to new relations, in place. Relations that stay ignore
this change, because they were computed from these rows. So each new rule is evaluated once, from one of its atoms. A
view that replaces another one of the same name changes by the difference, which is a sum of two more rules; the old
view is available as what was *before*. A relation whose home gets another key moves: its rows are sent there, with
their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from deltic.engine.batches import Changed
from deltic.engine.executors.evolution import extension, kept_relations
from deltic.engine.executors.forgetting import ForgottenRows
from deltic.engine.executors.shards.lay_out import lay_out
from deltic.engine.executors.shards.plan import Key, ShardPlan
from deltic.engine.executors.shards.plan_steps import Derive, Move, Present, Send, Step, Take
from deltic.engine.executors.shards.recursion import ShardDefinition
from deltic.engine.executors.shards.restrict import restrict
from deltic.engine.options import Options
from deltic.engine.result import Extension
from deltic.engine.storage.kinds import RelationKind, kind_of
from deltic.program.definitions import Derived, FixedRows, Table
from deltic.program.program import Program, Relation, Stratum
from deltic.program.queries import Atom, Body, Query, Rule, When

# A rule starts with its smallest atom only if the last one has more than this many times its rows: saves orders.
_FAR_LESS = 4
# Returns the number of rows of an old relation.
Rows = Callable[[str], int]


@dataclass(frozen=True)
class ShardEvolution:
    """How shards continue with another program."""

    plan: ShardPlan
    """The plan of later epochs."""
    program: Program
    """The program to compute: the new one, whose sinks are the changes of its views from the old ones."""
    building: ShardPlan
    """The plan of the epoch that computes it."""
    taken: Mapping[str, str]
    """The placed relations that exist already, with their names in the old plan."""
    constants: tuple[str, ...]
    """The constants whose rows are added in that epoch."""
    begun: Mapping[str, Changed]
    """The tables that start with rows in it, and these rows."""
    extension: Extension

    @property
    def computes(self) -> bool:
        """Return whether the epoch computes anything; otherwise it only moves existing rows."""
        return any(not isinstance(step, Present | Send | Move | Take) for step in self.building.steps)


@dataclass(frozen=True)
class Former:
    """The old program, its plan and options, with its `rows`.

    Tables that are `begun` start with other rows in the new program.
    """

    program: Program
    plan: ShardPlan
    options: Options
    rows: Rows
    begun: Mapping[str, Changed] = field(default_factory=dict)
    forgotten: ForgottenRows | None = None


def evolution(former: Former, new: ShardDefinition) -> ShardEvolution:
    """Return how to continue with another definition or placement."""
    kept = kept_relations(former.program, new.program, former.options, new.options, former.begun)
    there = {name: former.plan.keys[was] for name, was in kept.items()}
    return _Evolving(former, new, kept, lay_out(new.program, new, there)).run(there)


def completion(definition: ShardDefinition, plan: ShardPlan, there: Collection[str], rows: Rows) -> ShardEvolution:
    """Return how to complete a plan: some of its placed relations are `there`, and the others are computed."""
    program, placed = definition.program, {name: each for name, each in plan.placed.items() if name in there}
    kept = {name: name for name in program.relations if name in there}
    former = Former(program, replace(plan, placed=placed), definition.options, rows)
    return _Evolving(former, definition, kept, plan).run(plan.keys)


class _Evolving:
    """Computes one evolution; `moved` are the relations whose home has another key than before."""

    def __init__(self, former: Former, new: ShardDefinition, kept: Mapping[str, str], plan: ShardPlan) -> None:
        self.former, self.new, self.program, self.kept, self.plan = former, new, new.program, kept, plan
        self.moved = {name: was for name, was in kept.items() if self._moves(name, was)}

    def _moves(self, name: str, was: str) -> bool:
        """Return whether an existing relation, a sum of its messages, has a home with another key."""
        is_sum = isinstance(self.program.relations[name].definition, Table | Derived)
        before, now = self.former.plan.placed[was], self.plan.placed[name]
        return is_sum and name not in self.program.recursive and before.kept and before.key != now.key

    def run(self, there: Mapping[str, tuple[Key, ...]]) -> ShardEvolution:
        differing, sinks = self._views()
        before = [self.former.program.sinks[view] for view in differing]
        aliases = {was: f"{was} before" for was in (*before, *self.moved.values())}
        extended = self._extended(differing, aliases)
        also = {alias: self.former.plan.keys[was][:1] for was, alias in aliases.items()}
        sizes = _sizes(extended, {**{name: was for was, name in aliases.items()}, **self.kept}, self.former.rows)
        raw = lay_out(extended, self.new, {**there, **also}, partial(_queries, extended, sizes))
        taken = {**self._taken(raw), **{alias: was for was, alias in aliases.items()}}
        program = replace(extended, sinks=sinks)
        changed = replace(raw, program=replace(raw.program, sinks=sinks))
        constants = tuple(n for n, r in program.relations.items() if isinstance(r.definition, FixedRows))
        new = tuple(name for name in constants if name not in taken)
        begun = self.former.begun
        arriving = (*new, *(program.tables[table] for table in begun))
        building = restrict(replace(changed, steps=tuple(self._steps(changed, taken, aliases))), arriving, raw.placed)
        forgotten = self.former.forgotten
        lost = {} if forgotten is None else forgotten.partial(self.program, self.kept)
        result = extension(self.former.program, self.program, self.kept, self.moved, lost)
        return ShardEvolution(self.plan, program, building, taken, new, begun, result)

    # Programs

    def _views(self) -> tuple[list[str], dict[str, str]]:
        """Return the views that change by the difference, and the relation with the change of each view that may
        change.
        """
        old, differing, sinks = self.former, list[str](), dict[str, str]()
        for view, name in self.program.sinks.items():
            was, schema = old.program.sinks.get(view, ""), self.program.relations[name].schema
            if was not in old.plan.placed or old.program.relations[was].schema != schema:
                sinks[view] = name
            elif self.kept.get(name) != was:
                differing.append(view)
                sinks[view] = _difference(view)
        return differing, sinks

    def _extended(self, differing: Iterable[str], aliases: Mapping[str, str]) -> Program:
        """Return the program with the old relations and the differences of views."""
        old, program = self.former.program, self.program
        relations, strata, rules = dict(program.relations), list(program.strata), list(program.rules)
        for was, alias in aliases.items():
            relation = old.relations[was]
            relations[alias] = Relation(alias, relation.schema, Derived(distinct=False), relation.fingerprint)
            strata.insert(0, Stratum((alias,), recursive=False))
        for view in differing:
            name, alias = program.sinks[view], aliases[old.sinks[view]]
            schema = program.relations[name].schema
            difference = _difference(view)
            relations[difference] = Relation(difference, schema, Derived(distinct=False), difference)
            strata.append(Stratum((difference,), recursive=False))
            rules += [_copy(difference, relations[name], 1), _copy(difference, relations[alias], -1)]
        return Program(relations, tuple(strata), tuple(rules), program.sinks, program.tables)

    # What stays

    def _taken(self, plan: ShardPlan) -> dict[str, str]:
        """Return the placed relations that exist already, by name, with their old names."""
        old = self.former.plan
        by_place = {(p.home, p.key, old.is_home(p.name)): p for p in old.placed.values() if self._has_rows(old, p.name)}
        taken: dict[str, str] = {}
        for placed in plan.placed.values():
            was = by_place.get((self.kept.get(placed.home, ""), placed.key, plan.is_home(placed.name)))
            if was is not None and self._has_rows(plan, placed.name):
                kinds = kind_of(plan.program, placed.name), kind_of(old.program, was.name)
                if kinds[0] is kinds[1]:
                    taken[placed.name] = was.name
        others = {name for step in plan.iterated for name in step.places if self._has_rows(plan, name)}
        for stratum in self.program.strata:
            together = {*stratum.relations, *(n for n in others if plan.placed[n].home in stratum.relations)}
            if stratum.recursive and not taken.keys() >= together:
                gone = [name for name in taken if plan.placed[name].home in stratum.relations]
                taken = {name: was for name, was in taken.items() if name not in gone}
        return taken

    def _has_rows(self, plan: ShardPlan, name: str) -> bool:
        return plan.placed[name].kept and kind_of(plan.program, name) is not RelationKind.TRANSIENT

    def _steps(self, plan: ShardPlan, taken: Mapping[str, str], aliases: Mapping[str, str]) -> Iterator[Step]:
        """Yield the steps of the epoch: rows that stay or move, and the derivation of new or reported relations."""
        wanted = {name for name, placed in plan.placed.items() if placed.kept and name not in taken}
        wanted |= set(plan.program.sinks.values())
        moving = {name: aliases[was] for name, was in self.moved.items() if name not in taken}
        result: list[Step] = []
        for step in reversed(plan.steps):
            if isinstance(step, Derive) and step.name in moving:
                step = Take(step.name, step.stage)
            made = {*plan.makes(step)} - taken.keys()
            if made & wanted and (isinstance(step, Take) or made.isdisjoint(moving)):
                result.append(step)
                wanted |= plan.reads(step)
        followed = {name for step in result for name in plan.follows(step)} | set(plan.program.sinks.values())
        yield from (Present(name, 0) for name in plan.placed if name in followed and name in taken)
        taking = {step.name for step in result if isinstance(step, Take)}
        yield from (Move(alias, name, 0) for name, alias in moving.items() if name in taking)
        yield from reversed(result)


def _queries(program: Program, sizes: Mapping[str, int], rule: Rule) -> Iterable[Query]:
    """Return the queries that find all derivations of a rule; rules in the rounds of a recursion keep theirs."""
    together = next(stratum.relations for stratum in program.strata if rule.head in stratum.relations)
    is_inner = rule.head in program.recursive and not set(rule.relations).isdisjoint(together)
    return rule.queries() if is_inner else beginning(rule, sizes)


def beginning(rule: Rule, sizes: Mapping[str, int]) -> Iterator[Query]:
    """Yield the delta queries of a rule with a new head: one of them finds all derivations, the others find nothing.

    The one that finds all starts from the last atom, or from the smallest if that is much smaller, and reads the
    present rows of the others. The other queries read the rows before the epoch, which are empty.
    """
    queries = list(rule.queries())
    start = _start(rule, queries, sizes)
    for number, query in enumerate(queries):
        when = When.NEW if number == start else When.OLD
        atoms = tuple(a if a.when is When.DELTA else replace(a, when=when) for a in query.body.atoms)
        absent = tuple(replace(a, when=when) for a in query.body.absent)
        yield replace(query, body=replace(query.body, atoms=atoms, absent=absent))


def _start(rule: Rule, queries: list[Query], sizes: Mapping[str, int]) -> int:
    """Return the index of the query that finds all derivations."""
    counts = [sizes[q.delta.relation] for q in queries if len(q.body.absent) == len(rule.body.absent)]
    least = min(counts)
    return counts.index(least) if _FAR_LESS * least < counts[-1] else len(counts) - 1


def _sizes(program: Program, there: Mapping[str, str], rows: Rows) -> dict[str, int]:
    """Return the numbers of rows of relations: exact for existing ones, estimated for the others."""
    sizes: dict[str, int] = {}
    for stratum in program.strata:
        for name in stratum.relations:
            sizes[name] = rows(there[name]) if name in there else _about(program, name, sizes)
    return sizes


def _about(program: Program, name: str, sizes: Mapping[str, int]) -> int:
    """Estimate the rows of a new relation: the sum over its rules of the smallest atom, or the rows of its sources."""
    if isinstance(definition := program.relations[name].definition, FixedRows):
        return len(definition.rows)
    least = [min(sizes.get(a.relation, 0) for a in r.body.atoms) for r in program.rules_of(name) if r.body.atoms]
    return sum(least) + max((sizes.get(s, 0) for s in definition.sources), default=0)


def _difference(view: str) -> str:
    return f"{view} difference"


def _copy(head: str, source: Relation, sign: int) -> Rule:
    """Return the rule that copies all rows of a relation to another one."""
    terms = tuple(range(len(source.schema)))
    types = dict(enumerate(column.value_type for column in source.schema))
    return Rule(head, terms, Body(sign, (Atom(source.name, When.OLD, terms),), types=types))
