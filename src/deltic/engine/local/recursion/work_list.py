"""What waits for its iteration, between the agendas of relations and the one heap of compiled code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.engine.local.kernels.heap import RELATION_BITS
from deltic.engine.local.operators.search import Derived
from deltic.engine.local.recursion.pending import Agenda
from deltic.engine.local.storage.run import Times

_FIRST_CAPACITY = 1 << 12


class WorkList:
    """The arrays of a heap, see `kernels.heap`, for rows of at most `width` words; `size` entries count."""

    def __init__(self, width: int) -> None:
        self.keys = np.empty(_FIRST_CAPACITY, np.int64)
        self.rows = np.empty((_FIRST_CAPACITY, width), np.uint64)
        self.weights = np.empty(_FIRST_CAPACITY, np.int64)
        self.size = 0

    def fill(self, agendas: Sequence[Agenda]) -> None:
        """Move all entries of the agendas into the heap, which must be empty."""
        keys, rows, weights = [], [], []
        for number, agenda in enumerate(agendas):
            for time, words, change in agenda.drain():
                keys.append(np.full(len(change), (time << RELATION_BITS) + number, np.int64))
                padded = np.zeros((len(change), self.rows.shape[1]), np.uint64)
                padded[:, : len(words)] = words.T
                rows.append(padded)
                weights.append(change)
        all_keys = np.concatenate(keys)
        order = np.argsort(all_keys)  # an ordered array is a heap
        self.size = len(order)
        self.keys, self.rows, self.weights = (
            all_keys[order],
            np.concatenate(rows)[order],
            np.concatenate(weights)[order],
        )

    def hand_back(self, agendas: Sequence[Agenda], widths: Sequence[int]) -> None:
        """Move all entries back; rows of relation i have `widths[i]` words."""
        keys, rows, weights = self.keys[: self.size], self.rows[: self.size], self.weights[: self.size]
        for number, (agenda, width) in enumerate(zip(agendas, widths, strict=True)):
            mine = keys & ((1 << RELATION_BITS) - 1) == number
            times: Times = (keys[mine] >> RELATION_BITS).astype(np.int32)
            words, change = np.ascontiguousarray(rows[mine, :width].T), weights[mine]
            counted = change != 0
            if counted.any():
                agenda.derive(Derived(words[:, counted], times[counted], change[counted]), 0)
            if not counted.all():
                agenda.reconsider(words[:, ~counted], times[~counted])
        self.size = 0
