"""Compaction: a task for each shard merges runs that epochs leave apart, while epochs go on.

Runs of so many rows as are *frozen* are merged by no epoch, so that they are still there when a compaction is done,
however many epochs were committed meanwhile: these have only added runs behind them. So its result goes into the
description of the last epoch by name: in place of the runs that it has merged stand those that it has made, and nothing
else is another one. Where an epoch has repacked an arrangement, or merged it for it had too many runs, what it made
of that arrangement is left out. Files that nobody names in the end are garbage, as those of any other task.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass

from deltic.engine.executors.shards.messages import DRIVER, Message
from deltic.engine.executors.shards.options import Options
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.tasks import Outcome, opened, save
from deltic.engine.files.address import files_at
from deltic.engine.files.contents import contents_of
from deltic.engine.image import Json
from deltic.errors import DelticError

FROZEN = 1 << 16
"""The rows of a run from which on epochs leave it to compactions."""


@dataclass(frozen=True)
class Compaction:
    """The task of one shard, from the state with this description; all runs of each arrangement become one if `whole`.

    Names of files begin with `mark`.
    """

    plan: ShardPlan
    options: Options
    directory: str
    number: int
    state: str
    mark: str
    whole: bool = False

    def __call__(self) -> Iterator[Message]:
        """What came of it: the description of the shard's state as it would be now."""
        outcome = Outcome()
        try:
            files = files_at(self.directory)
            shard = opened(self.number, self.plan, self.options, files, self.state)
            frozen = self.options.frozen
            for arrangement in shard.store.merging():
                if self.whole:
                    arrangement.merge()
                elif frozen is not None:
                    arrangement.tighten(arrangement.apart(frozen))
            outcome.states[self.number] = save(shard, files, self.state, self.mark)
            outcome.read, outcome.written = files.traffic.read, files.traffic.written
        except DelticError as error:
            outcome.errors.append(error)
        yield Message(self.number, DRIVER, "", pickle.dumps(outcome))


_Described = Mapping[str, Json]


def rebased(now: _Described, before: _Described, after: _Described) -> _Described | None:
    """The description `now`, with what a compaction has made of an earlier one: that was `before`, and is `after` it.

    None where nothing of it fits any more.
    """
    made = deepcopy(now)
    old, new = dict(_arrangements(before)), dict(_arrangements(after))
    pieces, taken, is_other = made["contents"]["pieces"], dict[int, int](), False
    for name, arrangement in _arrangements(made):
        if name not in old or name not in new:
            continue
        runs, there, merged = _runs(made, arrangement), _runs(before, old[name]), _runs(after, new[name])
        is_same = arrangement["places"] == old[name]["places"] == new[name]["places"]
        if is_same and merged != there and runs[: len(there)] == there:
            for number, _ in new[name]["runs"]:
                if number not in taken:
                    taken[number] = len(pieces)
                    pieces.append(after["contents"]["pieces"][number])
            stays = arrangement["runs"][len(there) :]
            arrangement["runs"] = [*([taken[number], bare] for number, bare in new[name]["runs"]), *stays]
            is_other = True
    return _without_rest(made, after["contents"]["sizes"]) if is_other else None


def _arrangements(described: _Described) -> Iterator[tuple[tuple[Json, ...], dict[str, Json]]]:
    """The arrangements of a description by their names."""
    for relation, about in described["about"]["relations"].items():
        for arrangement in about["arrangements"]:
            yield (relation, arrangement["role"], *arrangement["order"]), arrangement


def _runs(described: _Described, arrangement: _Described) -> list[tuple[Json, Json]]:
    """Where the runs of an arrangement stand, and whether each is without the weights that are there."""
    pieces = described["contents"]["pieces"]
    return [(pieces[number][0], bare) for number, bare in arrangement["runs"]]


def _without_rest(made: _Described, more: Mapping[str, int]) -> _Described:
    """The description without pieces that no arrangement has; `more` are bytes of files beside those that it says."""
    contents, result = made["contents"], [arrangement for _, arrangement in _arrangements(made)]
    used = sorted({number for arrangement in result for number, _ in arrangement["runs"]})
    numbers = {old: new for new, old in enumerate(used)}
    for arrangement in result:
        arrangement["runs"] = [[numbers[number], bare] for number, bare in arrangement["runs"]]
    contents["pieces"] = [contents["pieces"][number] for number in used]
    sizes = {**more, **contents["sizes"]}
    contents["sizes"] = {name: sizes[name] for name in sorted(contents_of(contents).files)}
    return made
