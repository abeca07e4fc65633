"""The plan of a program on shards: where rows are, the steps that a shard takes, and the exchanges between them.

A *placed* relation is a relation with the way its rows are spread over the shards: by the hash of some columns, or a
copy to every shard. One of them, the *home*, has the relation's own name, and is where its change is found; the others
receive that change. Rows that are on their way between two pieces of a delta query are placed, too, and not kept.

An epoch goes through *stages*. In each a shard takes the steps of the stage, in their order, with what was sent to it
in the stages before: nothing that a step reads comes from another shard in the same stage. So one stage of a Spark job,
or one round in a process, is one stage of the plan, and an exchange stands between two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deltic.circuit.provided import called_in
from deltic.engine.recursion.pending import RoundId
from deltic.functions import Function, provide
from deltic.program.program import Program, Relation, Stratum
from deltic.program.queries import Query

# The columns by whose values rows are spread; none of them: all rows on one shard; None: all rows on every shard.
Key = tuple[int, ...] | None
EVERYWHERE: Key = None


@dataclass(frozen=True)
class PlacedRelation:
    """A relation of the plan's program, with its key; `home` is the relation that it belongs to."""

    name: str
    home: str
    key: Key
    kept: bool
    """Whether the shards keep its rows."""


@dataclass(frozen=True)
class Take:
    """What was sent to a placed relation becomes its change, and is added to its rows where it has any."""

    name: str
    stage: int

    def __str__(self) -> str:
        return f"take {self.name}"


@dataclass(frozen=True)
class Define:
    """A relation with a definition of its own is brought up to date with the changes that this one follows."""

    name: str
    stage: int

    def __str__(self) -> str:
        return f"update {self.name}"


@dataclass(frozen=True, eq=False)
class Recur:
    """A recursion is brought up to date, each shard its share; `why` names the share and the reason."""

    stratum: Stratum
    stage: int
    why: str
    is_chosen: bool = False
    """Whether it goes by size that it is not in rounds."""

    def __str__(self) -> str:
        return f"recursion {', '.join(self.stratum.relations)} {self.why}"


@dataclass(frozen=True, eq=False)
class Iterate:
    """A recursion is brought up to date in rounds, least iteration first, when all shards have taken its stage.

    `steps` are those of a round, in stages that count from 0: in the first, each shard settles which of its rows come
    and go at the iteration. `levels` are the relations that have a round together at each iteration, each level after
    those that it follows there; `closing` are the relations that are followed at the next iteration. `timed` are all
    placed relations whose rows carry an iteration: those of the recursion, their other places, and rows on their way.
    `computing` are the rules that make new values from recursive rows.
    """

    stratum: Stratum
    stage: int
    steps: tuple[Step, ...]
    levels: tuple[tuple[str, ...], ...]
    closing: tuple[str, ...]
    timed: frozenset[str]
    computing: tuple[str, ...]
    why: str
    is_chosen: bool = False
    """Whether it goes by size: otherwise it would be in rounds in any case."""

    @cached_property
    def stages(self) -> tuple[tuple[Step, ...], ...]:
        """The steps of each stage of a round."""
        return _by_stage(self.steps)

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The relations of the recursion, and their other places."""
        return (*self.stratum.relations, *(step.target for step in self.steps if isinstance(step, Send)))

    @cached_property
    def level_of(self) -> Mapping[str, int]:
        """The level of each relation of the recursion."""
        return {name: level for level, names in enumerate(self.levels) for name in names}

    def settled(self) -> Iterator[str]:
        """What shards settle at home in a round, for a reader."""
        for level, names in enumerate(self.levels):
            if len(self.levels) > 1:
                yield f"in part {level + 1} of an iteration settle {', '.join(names)}"
            else:
                yield from (f"settle {name}" for name in names)

    def round_label(self, now: RoundId) -> str:
        """A round for a reader."""
        part = f", part {now.level + 1} of {len(self.levels)}" if len(self.levels) > 1 else ""
        return f"iteration {now.iteration}{part}"

    def __str__(self) -> str:
        return f"recursion {', '.join(self.stratum.relations)} {self.why}"


@dataclass(frozen=True)
class Send:
    """The change of a home is sent to another place of the relation."""

    source: str
    target: str
    stage: int

    def __str__(self) -> str:
        return f"send Δ{self.source} to {self.target}"


@dataclass(frozen=True, eq=False)
class Search:
    """One piece of a delta query: what it finds is sent on, or `stays` on the shard.

    `needs` are the relations that the whole query reads as they were before the epoch: where one had no rows anywhere,
    nothing comes of it.
    """

    query: Query
    stays: bool
    stage: int
    needs: frozenset[str]

    def __str__(self) -> str:
        return f"search {self.query}"


@dataclass(frozen=True)
class Present:
    """All rows of a placed relation, which stays as it is, stand for its change: what is new begins with them."""

    name: str
    stage: int

    def __str__(self) -> str:
        return f"present {self.name}"


@dataclass(frozen=True)
class Move:
    """All that is kept of a relation under another name, at another home, is sent to its new home."""

    source: str
    target: str
    stage: int

    def __str__(self) -> str:
        return f"move {self.source} to {self.target}"


Step = Take | Define | Recur | Iterate | Send | Search | Present | Move


def _by_stage(steps: Sequence[Step]) -> tuple[tuple[Step, ...], ...]:
    count = max((step.stage + isinstance(step, Iterate) for step in steps), default=0) + 1
    return tuple(tuple(step for step in steps if step.stage == stage) for stage in range(count))


@dataclass(frozen=True)
class ShardPlan:
    """The program of placed relations, and the steps in the order in which a shard takes those of one stage."""

    program: Program
    placed: Mapping[str, PlacedRelation]
    steps: tuple[Step, ...]

    def __reduce__(self) -> Any:
        """In another process the functions that it calls are there."""
        return _received, (self.program, self.placed, self.steps, called_in(self.program))

    @cached_property
    def needs(self) -> frozenset[str]:
        """The relations of which searches need rows of before the epoch."""
        return frozenset(name for step in self.steps if isinstance(step, Search) for name in step.needs)

    @cached_property
    def stages(self) -> tuple[tuple[Step, ...], ...]:
        """The steps of each stage; what rounds have changed is known in the one behind theirs."""
        return _by_stage(self.steps)

    @cached_property
    def kept(self) -> frozenset[str]:
        """The placed relations whose rows the shards keep."""
        return frozenset(name for name, placed in self.placed.items() if placed.kept)

    @cached_property
    def keys(self) -> Mapping[str, tuple[Key, ...]]:
        """The keys by which the rows of each relation are spread, that of its home first."""
        homes = {placed.name: placed.key for placed in self.placed.values() if self.is_home(placed.name)}
        others = [p for p in self.placed.values() if p.kept and not self.is_home(p.name)]
        return {name: (key, *(p.key for p in others if p.home == name)) for name, key in homes.items()}

    @cached_property
    def iterated(self) -> tuple[Iterate, ...]:
        """The recursions that take rounds."""
        return tuple(step for step in self.steps if isinstance(step, Iterate))

    @cached_property
    def timed(self) -> Mapping[str, frozenset[str]]:
        """For each placed relation whose rows carry an iteration all those of its recursion."""
        return {name: step.timed for step in self.iterated for name in step.timed}

    def followed(self, step: Iterate) -> list[str]:
        """The homes of what a recursion that takes rounds follows below it, in their order."""
        queries = [each.query for each in self.steps if isinstance(each, Search) and each.query.head in step.timed]
        followed = (self.placed[query.delta.relation] for query in queries)
        return list(dict.fromkeys(placed.home for placed in followed if placed.name not in step.timed))

    def has_keys(self, name: str, keys: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether all rows of a table that have one of its `keys` are on one shard, and on no other."""
        placed = self.placed[name].key
        return placed is not None and name in keys and set(placed) <= set(keys[name])

    def is_home(self, name: str) -> bool:
        """Whether a placed relation is a relation's home."""
        return self.placed[name].home == name

    def needed(self, stage: int, since: int, writes: bool) -> list[Step]:
        """The steps of earlier stages that a shard which took none since a stage has to take before those of another.

        Of a stage that writes all that change what is kept, or is followed later. What was sent is there already.
        """
        wanted = {name for step in self.stages[stage] for name in self.reads(step)}
        wanted |= self.followed_since(stage + 1) if writes else set()
        changed = {name for name, placed in self.placed.items() if writes and placed.kept}
        result: list[Step] = []
        for step in reversed([step for steps in self.stages[:stage] for step in steps]):
            sends = isinstance(step, Send | Move) or (isinstance(step, Search) and not step.stays)
            asked = wanted if isinstance(step, Present) else wanted | changed
            is_due = step.stage >= since or self.is_left(step, since)
            if is_due and not sends and not asked.isdisjoint(self.makes(step)):
                result.append(step)
                wanted |= self.reads(step)
        return result[::-1]

    def is_left(self, step: Step, since: int) -> bool:
        """Whether nothing is kept of a step of before a stage: what it finds is taken later, or stands for a change."""
        is_later = isinstance(step, Search) and self._taken.get(step.query.head, -1) >= since
        return is_later or isinstance(step, Present)

    @cached_property
    def _taken(self) -> Mapping[str, int]:
        """The stage in which a placed relation, or a recursion, takes what is there for it."""
        taken = {step.name: step.stage for step in self.steps if isinstance(step, Take)}
        return taken | {name: step.stage for step in self.iterated for name in step.stratum.relations}

    def followed_since(self, stage: int) -> set[str]:
        """The placed relations that steps from a stage on read, and the views, whose changes are reported."""
        due = [s for s in self.steps if s.stage >= stage or (self.is_left(s, stage) and not isinstance(s, Present))]
        return {name for step in due for name in self.reads(step)} | set(self.program.sinks.values())

    def makes(self, step: Step) -> tuple[str, ...]:
        """The placed relations that a step changes."""
        match step:
            case Take(name=name) | Define(name=name) | Present(name=name):
                return (name,)
            case Recur(stratum=stratum) | Iterate(stratum=stratum):
                return stratum.relations
            case Send(target=target) | Move(target=target):
                return (target,)
            case Search(query=query):
                return (query.head,)

    def reads(self, step: Step) -> set[str]:
        """The placed relations that a step reads, the rows or the change."""
        match step:
            case Take(name=name) | Present(name=name):
                return {name}
            case Define(name=name):
                return {name, *self.program.relations[name].definition.sources}
            case Recur(stratum=stratum):
                rules = [rule for name in stratum.relations for rule in self.program.rules_of(name)]
                return {*stratum.relations, *(name for rule in rules for name in rule.relations)}
            case Iterate(stratum=stratum, steps=steps):
                return {*stratum.relations, *(name for each in steps for name in self.reads(each))}
            case Send(source=source) | Move(source=source):
                return {source}
            case Search(query=query):
                return set(query.relations)

    def key_text(self, name: str) -> str:
        """How the rows of a placed relation are spread, for a reader."""
        return spread(self.program.relations[name], self.placed[name].key)

    def explain(self, relations: Collection[str], shards: int) -> str:
        """What is kept of some relations, and the steps that keep them fresh."""
        return "\n".join([f"{shards} shards, {len(self.stages)} stages", *self._lines(relations)])

    def __str__(self) -> str:
        return "\n".join(self._lines({placed.home for placed in self.placed.values()}))

    def _lines(self, relations: Collection[str]) -> Iterator[str]:
        for placed in self.placed.values():
            if placed.kept and placed.home in relations:
                yield f"{placed.name}: {self.key_text(placed.name)}"
        for number, steps in enumerate(self.stages):
            if round_label := [step for step in steps if self._home(step) in relations]:
                yield f"stage {number}:"
                yield from (f"  {line}" for step in round_label for line in self._step_lines(step))

    def _step_lines(self, step: Step) -> Iterator[str]:
        """A step, and the stages of a round."""
        yield f"{step}{self._exchange(step)}"
        if isinstance(step, Iterate):
            for number, steps in enumerate(step.stages):
                yield f"  stage {number} of a round:"
                yield from (f"    {line}" for line in step.settled() if not number)
                yield from (f"    {line}" for each in steps for line in self._step_lines(each))

    def _home(self, step: Step) -> str:
        """The relation that a step works for."""
        return self.placed[self.makes(step)[0]].home

    def _exchange(self, step: Step) -> str:
        if isinstance(step, Send):
            return f" ⇒ {self.key_text(step.target)}"
        if isinstance(step, Search) and not step.stays:
            return f" ⇒ {self.key_text(step.query.head)}"
        return ""


def spread(relation: Relation, key: Key) -> str:
    """A key for a reader."""
    if key is None:
        return "on every shard"
    return f"by {names_of(relation.schema.names, key)}" if key else "on one shard"


def names_of(names: Sequence[str], key: Sequence[int]) -> str:
    """The names of columns, one after the other."""
    return ", ".join(names[column] for column in key)


def _received(
    program: Program, placed: Mapping[str, PlacedRelation], steps: tuple[Step, ...], functions: Mapping[str, Function]
) -> ShardPlan:
    provide(functions)
    return ShardPlan(program, placed, steps)
