"""Compaction: a task for each shard merges the runs that epochs left unmerged, while epochs go on.

No epoch merges runs of at least `frozen` rows. So these runs still exist when a compaction ends, however many epochs
were committed in the meantime: epochs only add runs after them. The result is therefore merged into the description of
the last epoch by name: the new runs replace those that they were merged from, and nothing else changes. If an epoch
has repacked an arrangement, or merged it because it had too many runs, the compacted runs of that arrangement are
dropped. Files without references at the end are garbage, as those of any other task.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass

from deltic.engine.executors.shards.messages import DRIVER, Message
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.tasks import Outcome, opened, save
from deltic.engine.files.address import files_at
from deltic.engine.files.contents import contents_of
from deltic.engine.image import Json
from deltic.engine.options import Options
from deltic.errors import DelticError

FROZEN = 1 << 16
"""Runs of at least this many rows are merged by compactions, not by epochs."""


@dataclass(frozen=True)
class Compaction:
    """The compaction task of one shard, for the state with this description. If `whole`, each arrangement becomes one
    run.

    Names of files start with `mark`.
    """

    plan: ShardPlan
    options: Options
    directory: str
    number: int
    state: str
    mark: str
    whole: bool = False

    def __call__(self) -> Iterator[Message]:
        """Yield the outcome: the description of the shard's state after compaction."""
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
    """Apply a compaction that turned the description `before` into `after` to the present description `now`.

    None if nothing of it applies any more.
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
    """Yield the arrangements of a description, by name."""
    for relation, about in described["about"]["relations"].items():
        for arrangement in about["arrangements"]:
            yield (relation, arrangement["role"], *arrangement["order"]), arrangement


def _runs(described: _Described, arrangement: _Described) -> list[tuple[Json, Json]]:
    """Return the positions of an arrangement's runs in files, and whether each lacks the stored weights."""
    pieces = described["contents"]["pieces"]
    return [(pieces[number][0], bare) for number, bare in arrangement["runs"]]


def _without_rest(made: _Described, more: Mapping[str, int]) -> _Described:
    """Return the description without unused pieces; `more` are sizes of further files."""
    contents, result = made["contents"], [arrangement for _, arrangement in _arrangements(made)]
    used = sorted({number for arrangement in result for number, _ in arrangement["runs"]})
    numbers = {old: new for new, old in enumerate(used)}
    for arrangement in result:
        arrangement["runs"] = [[numbers[number], bare] for number, bare in arrangement["runs"]]
    contents["pieces"] = [contents["pieces"][number] for number in used]
    sizes = {**more, **contents["sizes"]}
    contents["sizes"] = {name: sizes[name] for name in sorted(contents_of(contents).files)}
    return made
