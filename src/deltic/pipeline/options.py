"""The options of a pipeline, grouped by subject; each group has the defaults of `Pipeline`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec, get_args

from deltic.calculus.planning import Rewrites
from deltic.catalog import Catalog
from deltic.circuit.iterations import ITERATION_LIMIT, RECURSION_TIMEOUT
from deltic.engine.conflicts import Conflicts
from deltic.engine.lateness import LatePolicy
from deltic.engine.resources import ResourceLimits, bytes_of
from deltic.errors import DelticError
from deltic.pipeline.names import check_choice, check_least, find
from deltic.pipeline.shards import Shards

StrategyName = Literal["nested", "elastic", "full"]
RefreshName = Literal["auto", "incremental", "incremental strict", "full"]
Time = datetime | str
"""A time of day and date, or its text in ISO 8601."""

P = ParamSpec("P")


@dataclass(frozen=True)
class Transactions:
    """How transactions check changes, wait for each other, and read the time.

    `conflicts` is about the insertion of a present row or the deletion of an absent one: "error" rejects the
    transaction, "normalize" ignores the change, "trust" checks nothing. `late` is about rows beyond their table's
    lateness: "drop" ignores and counts them, "error" rejects the transaction. A transaction waits up to `timeout`
    seconds for others; None: without limit. `at` reads the last `retain` epochs. `now` is the time that views read,
    until `advance` moves it; None: the machine's time.
    """

    conflicts: Conflicts = "error"
    late: LatePolicy = "drop"
    timeout: float | None = None
    retain: int = 1
    now: Time | None = None

    def __post_init__(self) -> None:
        check_choice(self.conflicts, "policy for conflicts", get_args(Conflicts))
        check_choice(self.late, "policy for late rows", get_args(LatePolicy))


@dataclass(frozen=True)
class Maintenance:
    """How views are updated or recomputed, and which hidden relations are kept.

    `refresh` and `switch` choose between updating and recomputing, as docs/running.md describes. Hidden relations are
    kept where they save work: with `eliminate` projections and conditions, with `share` parts that several views
    compute. With `demand` recursions derive only demanded rows.
    """

    refresh: RefreshName = "auto"
    switch: float = 0.2
    eliminate: bool = True
    share: bool = True
    demand: bool = True

    def __post_init__(self) -> None:
        check_choice(self.refresh, "refresh policy", get_args(RefreshName))
        check_least(self.switch, "switch", 0, "a part of a bootstrap's work", whole=False)

    @property
    def rewrites(self) -> Rewrites:
        """The rewrites that a plan may use."""
        return Rewrites(self.eliminate, self.share, self.demand)


@dataclass(frozen=True)
class Recursion:
    """What recursive views keep besides their rows, and how long a recursion may take.

    `strategy` is "nested", "elastic" or "full", as docs/running.md describes; {"VIEW": "elastic"} chooses for a view
    and those that are mutually recursive with it. A recursion that computes values is rejected with an
    IterationLimitError after `iteration_limit` iterations, or after `recursion_timeout` seconds once it has had 100;
    None is no limit.
    """

    strategy: StrategyName | Mapping[str, StrategyName] = "nested"
    iteration_limit: int = ITERATION_LIMIT
    recursion_timeout: float | None = RECURSION_TIMEOUT

    def __post_init__(self) -> None:
        for strategy in (self.default, *self.chosen.values()):
            check_choice(strategy, "strategy", get_args(StrategyName))
        check_least(self.iteration_limit, "iteration_limit", 1, "a number of iterations")
        if self.recursion_timeout is not None:
            check_least(self.recursion_timeout, "recursion_timeout", 0, "a number of seconds", whole=False)

    @property
    def default(self) -> StrategyName:
        """The strategy of recursive views without a choice of their own."""
        return "nested" if isinstance(self.strategy, Mapping) else self.strategy

    @property
    def chosen(self) -> Mapping[str, StrategyName]:
        """The strategies of single views."""
        return self.strategy if isinstance(self.strategy, Mapping) else {}

    def check(self, catalog: Catalog) -> None:
        """Raise DelticError for a choice for a view without recursion, or different choices within one recursion."""
        recursive = {name: recursion for recursion in catalog.recursions for name in recursion}
        others = dict.fromkeys(
            catalog.relations, "it does not depend on itself, so that there is no choice of strategy"
        )
        for name, strategy in self.chosen.items():
            for other in find(name, "recursive view", recursive, others):
                if self.chosen.get(other, strategy) != strategy:
                    raise DelticError(
                        f"{name} is to have the strategy {strategy!r} and {other} {self.chosen[other]!r}, "
                        "but each depends on the other: choose one strategy for both"
                    )


@dataclass(frozen=True)
class Durability:
    """How a `state` is kept: when checkpoints are written, how many are kept, and whether this process writes.

    A checkpoint starts after `epochs` epochs or `log` bytes of log since the last one, which bounds what a restart
    reads. `keep` checkpoints are kept. One process at a time writes to a state; a `readonly` pipeline reads it, and
    `follow` reads what was added since.
    """

    epochs: int = 1000
    log: int | str = "64 MiB"
    keep: int = 2
    readonly: bool = False

    def __post_init__(self) -> None:
        check_least(self.epochs, "epochs", 1, "a number of epochs between checkpoints")
        check_least(self.keep, "keep", 1, "a number of checkpoints")
        bytes_of(self.log, "log")

    def are_due(self, epochs: int, log: int) -> bool:
        """Return whether the next checkpoint is due after this many epochs and bytes of log."""
        return epochs >= self.epochs or log >= bytes_of(self.log)


@dataclass(frozen=True)
class Resources:
    """What a pipeline may use of the machine.

    `threads` compute large changes; None: one per processor. With a directory `spill`, or a `state` on the local disk,
    large arrays beyond `memory` ("2 GiB", or bytes; None: half of the free memory) are files there. With engine="auto"
    and a Spark session, a state beyond `memory` moves to shards.
    """

    threads: int | None = None
    spill: str | Path | None = None
    memory: int | str | None = None

    def limits(self, state: str | Path | None, moves: bool) -> ResourceLimits:
        """Return the limits on this machine; raises DelticError for impossible ones."""
        return ResourceLimits.of(self.threads, self.spill, self.memory, state, moves)


GROUPS: Mapping[str, type] = {
    "transactions": Transactions,
    "maintenance": Maintenance,
    "recursion": Recursion,
    "durability": Durability,
    "resources": Resources,
    "shards": Shards,
}
"""The parameters of `Pipeline` that are groups of options."""

_GROUP_OF = {field.name: group for group, made in GROUPS.items() for field in fields(made)}
"""The group of each option; no two groups have an option of one name."""


_OTHER_FORMS = {"durability": Durability | None, "shards": Shards | int | None}
"""The groups that may be given as something else."""


def grouped(options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `Pipeline` from options by name, as a command line or a file lists them; `shards` is a number."""
    options = {"count" if name == "shards" else name: value for name, value in options.items()}
    result: dict[str, Any] = {name: value for name, value in options.items() if name not in _GROUP_OF}
    for group, made in GROUPS.items():
        if given := {name: value for name, value in options.items() if _GROUP_OF.get(name) == group}:
            result[group] = made(**given)
    return result


def explains_groups(init: Callable[P, None]) -> Callable[P, None]:
    """Raise DelticError for an option that is not in its group, and for a group of another class."""

    @wraps(init)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        for name, value in kwargs.items():
            if name in GROUPS and not isinstance(value, _OTHER_FORMS.get(name, GROUPS[name])):
                raise DelticError(f"{name} is {value!r}; it is a group of options: {name}={GROUPS[name].__name__}(…)")
            if (group := _GROUP_OF.get(name)) is not None:
                raise DelticError(
                    f"{name} is an option of {group}: pass {group}={GROUPS[group].__name__}({name}=…) to Pipeline"
                )
        init(*args, **kwargs)

    return checked
