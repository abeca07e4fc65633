"""What a version stores of a recursive relation: entries, each the change of a row's weight at an iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltic.engine.storage.run import Times, Weights, Words

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Entries:
    """Entries in several parts, decoded when they are read. Those of a row are adjacent, in order of iteration."""

    parts: Sequence[tuple[Callable[[Words], Sequence[Row]], Words, Times, Weights]]
    """The function that decodes rows, the packed rows, and for each its iteration and the change of its weight."""

    def __len__(self) -> int:
        return sum(len(times) for _, _, times, _ in self.parts)

    def __iter__(self) -> Iterator[tuple[Row, int, int]]:
        """Yield rows, iterations and changes."""
        for decode, words, times, weights in self.parts:
            yield from zip(decode(words), times.tolist(), weights.tolist(), strict=True)

    def until(self, at: int | None) -> Entries:
        """Return the entries up to an iteration; None for all."""
        if at is None:
            return self
        there = [times <= at for _, _, times, _ in self.parts]
        parts = zip(self.parts, there, strict=True)
        return Entries([(each[0], each[1][:, kept], each[2][kept], each[3][kept]) for each, kept in parts])
