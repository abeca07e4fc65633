"""Lost rows: a row whose first count falls to zero. Strategy `elastic` searches for its later derivations [ELA §3].

The rules' bodies are searched for the row as they were before the epoch. The changes of the epoch reach the row anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from deltic.engine.kernels.settle import NEVER, upcoming
from deltic.engine.operators.query import Evaluation, Version
from deltic.engine.recursion.pending import PendingRows
from deltic.engine.storage.arrangement import descriptors, time_array
from deltic.engine.storage.run import Run, Times, Words, add_runs

# Called regularly with the present iteration, 0 while the changes below are pushed. It may raise to end the epoch.
Check = Callable[[int], None]


class LostRows:
    """The derivations at later iterations that rows lost in an epoch had before it, in `found` by relation.

    `before` is the version of arrangements before the epoch.
    """

    def __init__(
        self,
        names: Sequence[str],
        searches: Mapping[str, Sequence[Evaluation]],
        before: Version,
        large: int,
        check: Check,
    ) -> None:
        self._names, self._searches, self.before = frozenset(names), searches, before
        self._large, self._check = large, check
        self.found: dict[str, tuple[Run, ...]] = dict.fromkeys(names, ())

    def search(self, name: str, words: Words, now: int) -> Iterator[tuple[str, Words, Times]]:
        """Find the derivations of lost rows after `now`. Yield rows with the next iteration to look at them."""
        for time, (rows, weights) in self._derived(name, words, now).after(now):
            if len(weights):
                run = Run(rows, time_array(len(weights), time), weights)
                self.found[name] = add_runs(self.found[name], run)
        times = upcoming(words, descriptors(self.found[name]), now)
        following = np.flatnonzero(times != NEVER)
        if len(following):
            yield name, words[:, following], times[following]

    def _derived(self, name: str, words: Words, now: int) -> PendingRows:
        """Return all derivations of a relation's rows before the epoch, by iteration."""
        gathered = PendingRows(self._large)
        for evaluation in self._searches[name]:
            for derived in evaluation.run(Run(words), self._names, 0, self.before):
                self._check(now)
                gathered.derive(derived, 1)
        return gathered
