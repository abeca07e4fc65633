"""The plan of a program on shards: where rows are, the steps of a shard, and the exchanges between them.

A *placed* relation is a relation with a way in which its rows are spread over the shards: by the hash of some columns,
or with a copy on every shard. One of its placements, the *home*, has the relation's own name, and computes its change.
The others receive that change. Rows in transit between two pieces of a delta query are placed too, but not stored.

An epoch runs in *stages*. In each, a shard takes the steps of the stage in order, with the messages of this and earlier
stages: nothing that a step reads comes from another shard in the same stage. So one stage of a Spark job, or one round
in a process, is one stage of the plan, and there is an exchange between two stages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from deltic.engine.executors.shards.plan_steps import (
    Define,
    Derive,
    ExchangeStep,
    Iterate,
    Present,
    Recur,
    RecursionStep,
    RelationStep,
    Search,
    Send,
    Step,
    Take,
    by_stage,
    searches_of,
)
from deltic.functions import provide
from deltic.functions.function import PREFIX, PROVIDED, Function, is_call
from deltic.program.frontiers import NO_FRONTIERS, Frontiers
from deltic.program.program import Program, Relation

# The columns by whose values rows are spread. (): all rows on one shard. None: all rows on every shard.
Key = tuple[int, ...] | None
EVERYWHERE: Key = None


@dataclass(frozen=True)
class PlacedRelation:
    """A relation of the plan's program, with its key; `home` is the relation that it belongs to."""

    name: str
    home: str
    key: Key
    kept: bool
    """Whether the shards store its rows."""


@dataclass(frozen=True)
class ShardPlan:
    """The program of placed relations, and the steps in the order in which a shard takes those of one stage.

    `frontiers` are those of the stored relations.
    """

    program: Program
    placed: Mapping[str, PlacedRelation]
    steps: tuple[Step, ...]
    frontiers: Frontiers = NO_FRONTIERS

    def __reduce__(self) -> Any:
        """Pickle the plan with the Python functions that it calls."""
        return _received, (self.program, self.placed, self.steps, self.frontiers, called_in(self.program))

    @cached_property
    def needs(self) -> frozenset[str]:
        """The relations whose rows before the epoch are needed by searches."""
        return frozenset(name for search in searches_of(self.steps) for name in search.needs)

    @cached_property
    def stages(self) -> tuple[tuple[Step, ...], ...]:
        """The steps of each stage. The changes of rounds are known in the stage after theirs."""
        return by_stage(self.steps)

    @cached_property
    def kept(self) -> frozenset[str]:
        """The placed relations whose rows the shards store."""
        return frozenset(name for name, placed in self.placed.items() if placed.kept)

    @cached_property
    def keys(self) -> Mapping[str, tuple[Key, ...]]:
        """The keys of each relation's placements, that of its home first."""
        homes = {placed.name: placed.key for placed in self.placed.values() if self.is_home(placed.name)}
        others = [p for p in self.placed.values() if p.kept and not self.is_home(p.name)]
        return {name: (key, *(p.key for p in others if p.home == name)) for name, key in homes.items()}

    @cached_property
    def iterated(self) -> tuple[Iterate, ...]:
        """The recursions that run in rounds."""
        return tuple(step for step in self.steps if isinstance(step, Iterate))

    @cached_property
    def works_unasked(self) -> bool:
        """Whether each shard has work that no message brings: rounds, or definitions that follow earlier epochs too."""
        return bool(self.iterated) or self.is_timed

    @cached_property
    def parts(self) -> tuple[frozenset[str], ...]:
        """The relations that the steps of an epoch change, in parts: no step reads or makes changes of two of them.

        Definitions that follow earlier epochs take a step in every epoch, just once, so a plan with one is a single
        part; so is one without steps.
        """
        made = dict.fromkeys(name for step in self.steps for name in self.makes(step))
        if self.is_timed or not made:
            return (frozenset(made),)
        parts = {name: {name} for name in made}
        for step in self.steps:
            joined = set[str]().union(*(parts[n] for n in {*self.makes(step), *self.reads(step)} & made.keys()))
            parts |= dict.fromkeys(joined, joined)
        return tuple(dict.fromkeys(frozenset(parts[name]) for name in made))

    @property
    def length(self) -> tuple[bool, int]:
        """Whether there are rounds, and the number of stages."""
        return bool(self.iterated), len(self.stages)

    @cached_property
    def is_timed(self) -> bool:
        """Whether there are definitions that follow earlier epochs too, as delays do."""
        defined = (self.program.relations[step.name].definition for step in self.steps if isinstance(step, Define))
        return any(definition.is_timed for definition in defined)

    @cached_property
    def timed(self) -> Mapping[str, frozenset[str]]:
        """For each placed relation whose rows have an iteration, all such relations of its recursion."""
        return {name: step.timed for step in self.iterated for name in step.timed}

    def followed(self, step: Iterate) -> list[str]:
        """Return the homes of the relations below that a recursion in rounds reads, in order."""
        queries = [each.query for each in searches_of(self.steps) if each.query.head in step.timed]
        followed = (self.placed[query.delta.relation] for query in queries)
        return list(dict.fromkeys(placed.home for placed in followed if placed.name not in step.timed))

    def has_keys(self, name: str, keys: Mapping[str, tuple[int, ...]]) -> bool:
        """Return whether all rows of a table with the same value of its key in `keys` are on one shard only."""
        placed = self.placed[name].key
        return placed is not None and name in keys and set(placed) <= set(keys[name])

    def is_home(self, name: str) -> bool:
        """Return whether a placed relation is a home."""
        return self.placed[name].home == name

    def needed(self, stage: int, since: int, writes: bool) -> list[Step]:
        """Return the steps of earlier stages that a shard must take before those of `stage` if it took none since
        `since`.

        If the stage writes the state, these are all steps that change stored rows, or whose changes are read later. The
        messages exist already.
        """
        wanted = {name for step in self.stages[stage] for name in self.reads(step)}
        wanted |= self.followed_since(stage + 1) if writes else set()
        changed = {name for name, placed in self.placed.items() if writes and placed.kept}
        result: list[Step] = []
        for step in reversed([step for steps in self.stages[:stage] for step in steps]):
            asked = wanted if isinstance(step, Present) else wanted | changed
            is_due = step.stage >= since or self.is_left(step, since)
            if is_due and not self.sends(step) and not asked.isdisjoint(self.makes(step)):
                result.append(step)
                wanted |= self.reads(step)
        return result[::-1]

    def is_left(self, step: Step, since: int) -> bool:
        """Return whether a step before stage `since` leaves nothing stored: its results are taken later, or act as a
        change.
        """
        is_later = isinstance(step, Search) and self._taken.get(step.query.head, -1) >= since
        return is_later or isinstance(step, Present)

    @cached_property
    def _taken(self) -> Mapping[str, int]:
        """The stage in which each placed relation, or recursion, takes its messages."""
        taken = {step.name: step.stage for step in self.steps if isinstance(step, Take)}
        return taken | {name: step.stage for step in self.iterated for name in step.stratum.relations}

    def followed_since(self, stage: int) -> set[str]:
        """Return the placed relations that steps from a stage on read, and the views, whose changes are reported."""
        due = [s for s in self.steps if s.stage >= stage or (self.is_left(s, stage) and not isinstance(s, Present))]
        return {name for step in due for name in self.reads(step)} | set(self.program.sinks.values())

    def makes(self, step: Step) -> tuple[str, ...]:
        """Return the placed relations that a step changes."""
        match step:
            case RelationStep(name=name):
                return (name,)
            case RecursionStep(stratum=stratum):
                return stratum.relations
            case ExchangeStep(target=target):
                return (target,)
            case Search(query=query):
                return (query.head,)

    def reads(self, step: Step) -> set[str]:
        """Return the placed relations whose rows or change a step reads."""
        match step:
            case Take(name=name) | Present(name=name):
                return {name}
            case Define(name=name):
                return {name, *self.program.relations[name].definition.sources}
            case Derive(name=name):
                return {name, *(read for search in searches_of([step]) for read in search.query.relations)}
            case Recur(stratum=stratum):
                rules = [rule for name in stratum.relations for rule in self.program.rules_of(name)]
                return {*stratum.relations, *(name for rule in rules for name in rule.relations)}
            case Iterate(stratum=stratum, steps=steps):
                return {*stratum.relations, *(name for each in steps for name in self.reads(each))}
            case ExchangeStep(source=source):
                return {source}
            case Search(query=query):
                return set(query.relations)

    def sends(self, step: Step) -> bool:
        """Return whether the results of a step leave the shard."""
        return isinstance(step, ExchangeStep) or (isinstance(step, Search) and not step.stays)

    def follows(self, step: Step) -> set[str]:
        """Return the placed relations whose change starts a step that no message brings."""
        match step:
            case ExchangeStep(source=source):
                return {source}
            case Search() | Derive():
                return {search.query.delta.relation for search in searches_of([step])}
            case Define() | Recur():
                return self.reads(step) - {*self.makes(step)}
        return set()

    def key_text(self, name: str) -> str:
        """Return how the rows of a placed relation are spread, for display."""
        return spread(self.program.relations[name], self.placed[name].key)

    def explain(self, relations: Collection[str], shards: int) -> str:
        """Explain what is stored of some relations, and the steps that maintain them."""
        return "\n".join([f"{shards} shards, {len(self.stages)} stages", *self._lines(relations)])

    def __str__(self) -> str:
        return "\n".join(self._lines({placed.home for placed in self.placed.values()}))

    def _lines(self, relations: Collection[str]) -> Iterator[str]:
        for placed in self.placed.values():
            if placed.kept and placed.home in relations:
                yield f"{placed.name}: {self.key_text(placed.name)}"
        for number, steps in enumerate(self.stages):
            if own := [step for step in steps if self.placed[self.makes(step)[0]].home in relations]:
                yield f"stage {number}:"
                yield from (f"  {line}" for step in own for line in self._step_lines(step))

    def _step_lines(self, step: Step) -> Iterator[str]:
        """Yield the lines of a step, with the stages of its rounds."""
        yield f"{step}{self._exchange(step)}"
        if isinstance(step, Derive):
            yield from (f"  {search}" for search in searches_of([step]))
        if isinstance(step, Iterate):
            for number, steps in enumerate(step.stages):
                yield f"  stage {number} of a round:"
                yield from (f"    {line}" for line in step.settled() if not number)
                yield from (f"    {line}" for each in steps for line in self._step_lines(each))

    def _exchange(self, step: Step) -> str:
        if isinstance(step, Send):
            return f" ⇒ {self.key_text(step.target)}"
        if isinstance(step, Search) and not step.stays:
            return f" ⇒ {self.key_text(step.query.head)}"
        return ""


def spread(relation: Relation, key: Key) -> str:
    """Return a key as text."""
    if key is None:
        return "on every shard"
    return f"by {names_of(relation.schema.names, key)}" if key else "on one shard"


def names_of(names: Sequence[str], key: Sequence[int]) -> str:
    """Return the names of columns as a list in text."""
    return ", ".join(names[column] for column in key)


def _received(
    program: Program,
    placed: Mapping[str, PlacedRelation],
    steps: tuple[Step, ...],
    frontiers: Frontiers,
    functions: Mapping[str, Function],
) -> ShardPlan:
    provide(functions)
    return ShardPlan(program, placed, steps, frontiers)


def called_in(value: Any) -> dict[str, Function]:
    """Return the provided functions that are called in expressions anywhere in a program or circuit, by name."""
    result: dict[str, Function] = {}
    pending = [value] if PROVIDED else []
    while pending:
        part = pending.pop()
        if isinstance(part, exp.Expression):
            names = (node.name.removeprefix(PREFIX).lower() for node in part.find_all(exp.Anonymous) if is_call(node))
            result |= {name: PROVIDED[name] for name in names if name in PROVIDED}
        elif isinstance(part, Mapping):
            pending += part.values()
        elif isinstance(part, tuple | list | frozenset):
            pending += part
        elif is_dataclass(part):
            pending += (getattr(part, each.name) for each in fields(part))
    return result
