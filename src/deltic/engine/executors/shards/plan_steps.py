"""The steps of a plan on shards: what a shard does with the rows of a relation, a recursion or an exchange."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from deltic.engine.recursion.pending import RoundId
from deltic.program.program import Stratum
from deltic.program.queries import Query


@dataclass(frozen=True)
class RelationStep:
    """A step of one placed relation."""

    name: str
    stage: int
    verb: ClassVar[str]

    def __str__(self) -> str:
        return f"{self.verb} {self.name}"


class Take(RelationStep):
    """Turns the messages for a placed relation into its change, and adds it to the stored rows."""

    verb = "take"


class Define(RelationStep):
    """Updates a relation with a definition of its own by the changes of its sources."""

    verb = "update"


class Present(RelationStep):
    """Uses all rows of a placed relation that stays as its change, from which new relations are computed."""

    verb = "present"


@dataclass(frozen=True, eq=False)
class RecursionStep:
    """A step of a recursion; `why` names the part of a shard and the reason."""

    stratum: Stratum
    stage: int
    why: str
    is_chosen: bool
    """Whether the choice for or against rounds depends on its size."""

    def __str__(self) -> str:
        return f"recursion {', '.join(self.stratum.relations)} {self.why}"


class Recur(RecursionStep):
    """Updates a recursion, each shard its own part."""


@dataclass(frozen=True, eq=False)
class Iterate(RecursionStep):
    """Updates a recursion in rounds, least iteration first, after all shards have finished its stage.

    `steps` are those of a round, in stages that count from 0. In the first, each shard settles the changes of its rows
    at the iteration. `levels` are the relations that share a round at each iteration; a level depends on earlier levels
    of the same iteration. `closing` are the relations that are read at the next iteration. `timed` are all placed
    relations whose rows have an iteration: those of the recursion, their other placements, and rows in transit.
    `computing` are the rules that compute new values from recursive rows.
    """

    steps: tuple[Step, ...]
    levels: tuple[tuple[str, ...], ...]
    closing: tuple[str, ...]
    timed: frozenset[str]
    computing: tuple[str, ...]

    @cached_property
    def stages(self) -> tuple[tuple[Step, ...], ...]:
        """The steps of each stage of a round."""
        return by_stage(self.steps)

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The relations of the recursion, and their other placements."""
        return (*self.stratum.relations, *(step.target for step in self.steps if isinstance(step, Send)))

    def settled(self) -> Iterator[str]:
        """Yield the lines about what shards settle at home in a round, for `explain`."""
        for level, names in enumerate(self.levels):
            if len(self.levels) > 1:
                yield f"in part {level + 1} of an iteration settle {', '.join(names)}"
            else:
                yield from (f"settle {name}" for name in names)

    def round_label(self, now: RoundId) -> str:
        """Return the label of a round, for display."""
        part = f", part {now.level + 1} of {len(self.levels)}" if len(self.levels) > 1 else ""
        return f"iteration {now.iteration}{part}"


@dataclass(frozen=True)
class ExchangeStep:
    """A step that sends rows of one placed relation to another."""

    source: str
    target: str
    stage: int


class Send(ExchangeStep):
    """Sends the change of a home to another placement of the relation."""

    def __str__(self) -> str:
        return f"send Δ{self.source} to {self.target}"


class Move(ExchangeStep):
    """Sends all that is stored of a relation under another name, at another home, to its new home."""

    def __str__(self) -> str:
        return f"move {self.source} to {self.target}"


@dataclass(frozen=True, eq=False)
class Search:
    """Runs one piece of a delta query, and sends its results on, or leaves them on the shard if it `stays`.

    `needs` are the relations that the whole query reads as of before the epoch. If one of them was empty everywhere,
    the query has no results.
    """

    query: Query
    stays: bool
    stage: int
    needs: frozenset[str]

    def __str__(self) -> str:
        return f"search {self.query}"


@dataclass(frozen=True)
class Derive(RelationStep):
    """Updates a relation by its rules, or recomputes it: each shard has found all derivations of its own rows.

    `rules` are the searches of each rule.
    """

    verb = "derive"
    rules: tuple[tuple[Search, ...], ...]


def searches_of(steps: Iterable[Step]) -> Iterator[Search]:
    """Yield the searches of steps, including those in the rounds of recursions."""
    for step in steps:
        match step:
            case Search():
                yield step
            case Derive(rules=rules):
                yield from (search for searches in rules for search in searches)
            case Iterate(steps=rounds):
                yield from searches_of(rounds)


Step = Take | Define | Derive | Recur | Iterate | Send | Search | Present | Move


def by_stage(steps: Sequence[Step]) -> tuple[tuple[Step, ...], ...]:
    """Return the steps of each stage."""
    count = max((step.stage + isinstance(step, Iterate) for step in steps), default=0) + 1
    return tuple(tuple(step for step in steps if step.stage == stage) for stage in range(count))
