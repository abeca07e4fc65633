"""What waits for its iteration, between the agendas of relations and the one heap of compiled code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.engine.local.kernels.heap import RELATION_BITS, Heap
from deltic.engine.local.operators.search import Derived
from deltic.engine.local.recursion.pending import Agenda
from deltic.engine.local.storage.run import Times


class WorkList:
    """A heap, see `kernels.heap`, for rows of at most `width` words."""

    def __init__(self, width: int) -> None:
        self._nothing = np.empty(0, np.int64), np.empty((0, width), np.uint64), np.empty(0, np.int64)
        self.heap = Heap(*self._nothing, np.zeros(1, np.int64))

    def fill(self, agendas: Sequence[Agenda]) -> None:
        """Move all entries of the agendas into the heap, which must be empty; changes that cancelled leave none."""
        entries = [self._nothing]
        for number, agenda in enumerate(agendas):
            for time, words, change in agenda.drain():
                padded = np.zeros((len(change), self.heap.rows.shape[1]), np.uint64)
                padded[:, : len(words)] = words.T
                entries.append((np.full(len(change), (time << RELATION_BITS) + number, np.int64), padded, change))
        keys, rows, weights = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
        order = np.argsort(keys)  # an ordered array is a heap
        self.heap = Heap(keys[order], rows[order], weights[order], np.array([len(order)]))

    def hand_back(self, agendas: Sequence[Agenda], widths: Sequence[int]) -> None:
        """Move all entries back; rows of relation i have `widths[i]` words."""
        if not self.heap.size[0]:
            return
        size = self.heap.size[0]
        keys, rows, weights = self.heap.keys[:size], self.heap.rows[:size], self.heap.weights[:size]
        for number, (agenda, width) in enumerate(zip(agendas, widths, strict=True)):
            mine = keys & ((1 << RELATION_BITS) - 1) == number
            times: Times = (keys[mine] >> RELATION_BITS).astype(np.int32)
            words, change = np.ascontiguousarray(rows[mine, :width].T), weights[mine]
            counted = change != 0
            if counted.any():
                agenda.derive(Derived(words[:, counted], times[counted], change[counted]), 0)
            if not counted.all():
                agenda.reconsider(words[:, ~counted], times[~counted])
        self.heap.size[0] = 0
